import type { Diagnostic } from "../../core/base/diagnostic.ts";
import type { OptionWriter } from "../../core/base/options.ts";
import type { Environment, InstanceConfig, ResolvedField } from "../../core/document/config.ts";
import type { LoadedPolicy } from "../../core/document/policy.ts";
import type { InlineSkill, Workflow } from "../../core/document/workflow/workflow.ts";
import type { Unavailable } from "../../core/skill/availability/unavailable.ts";
import type {
  Effect,
  Format,
  McpServerConfig,
  Skill,
  SkillKind,
  Tool,
  ToolContext,
  ToolReach,
} from "../../core/skill/skill.ts";
import type { RunnablePackage, SkillLevel, SkillPackage } from "../folder/format.ts";
import type { LoaderHost } from "../folder/host.ts";
import type { Contents } from "../folder/skill-contents.ts";
import type { SkillScripts } from "../programs/skill-script.ts";
import type { Trust } from "../trust/trust-memory.ts";
import type { LintedSkill } from "./lint.ts";
import type { Withheld } from "./withheld.ts";

export interface SkillSetOptions {
  readonly builtin: string;
  /** Built-in skills whose tools the program itself implements. */
  readonly own: readonly OwnSkill[];
  /** Skills of the embedding program. Each replaces all other skills with its id. */
  readonly given?: readonly Skill[];
  /** Places to search for skills, highest first. */
  readonly levels: readonly SkillLevel[];
  /** MCP servers by skill id. Each replaces the skill's own server, or is a skill itself. */
  readonly servers: ReadonlyMap<string, ServerChoice>;
  /** Further backends of skills, by the ids of their instances. */
  readonly instances?: ReadonlyMap<string, InstanceChoice>;
  readonly policies?: readonly LoadedPolicy[];
  readonly disabled: readonly string[];
  readonly trust: Trust;
  /** Variables that a skill gets in addition to those that it declares. */
  readonly variables: ReadonlyMap<string, readonly string[]>;
  /** Effects that the operator sets for `ID.tool`. */
  readonly effects?: ReadonlyMap<string, Effect>;
  readonly overrides: ReadonlyMap<string, string>;
  readonly env: Environment;
  /** Writes option names for the user. Default: flags. */
  readonly write?: OptionWriter | undefined;
  readonly host: Omit<LoaderHost, "env" | "invoke">;
}

/** All available skills. They are found once and loaded on demand. */
export interface SkillSet {
  /** Checks skills by the strict rules of their formats. Without paths, checks all that are not built in. */
  lint(paths?: readonly string[]): Promise<readonly LintedSkill[]>;
  readonly ids: ReadonlySet<string>;
  /** Real paths of the skill folders of all levels. */
  readonly folders: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
  /** Reports whether a trusted skill declares the variable with `secret: false`, or as a secret. */
  declares(variable: string): "readable" | "secret" | undefined;
  /** Config keys of the skills that are not built in. */
  keys(): Iterable<string>;
  readonly host: LoaderHost;
  /** Describes what is held back until the skill is trusted. Undefined if nothing is. Runs no code. */
  withheld(reference: string, inline?: InlineSkills): Withheld | undefined;
  /**
   * Finds a skill by id, or by `id@range` for one of its versions. `inline` are the skills of one workflow, the highest
   * layer.
   */
  find(reference: string, inline?: InlineSkills): Promise<SkillEntry | undefined>;
  /** Returns the id of the server for a remote skill, and any other reference as it is. */
  owner(reference: string): string;
  /** Returns true if a skill of this id has an MCP server, which may offer further skills. */
  serves(id: string): boolean;
  /** Returns the versions of an id at all levels, newest first. */
  versions(id: string): readonly string[];
  /** Returns findings about a skill: what it shadows, and skipped folders with its name. */
  about(reference: string, inline?: InlineSkills): readonly Diagnostic[];
  /** Returns the same skills without connections to servers and agents. */
  unconnected(): SkillSet;
}

export interface OwnSkill {
  readonly skill: Skill;
  /** Reason why the operator's choices disable the skill. */
  readonly unavailable: Unavailable | undefined;
}

export interface ServerChoice {
  readonly config: McpServerConfig;
  readonly path: string;
  readonly kind: "project" | "user";
  /** True if the file is the operator's own. */
  readonly trusted: boolean;
}

export interface InstanceChoice {
  readonly skill: string;
  readonly name: string;
  readonly config: InstanceConfig;
  readonly path: string;
  /** True if the file is the operator's own. */
  readonly trusted: boolean;
}

/** Skill with all its layers joined, and whether it can be used. */
export interface SkillEntry {
  readonly skill: Skill;
  readonly format: Format;
  readonly kind: SkillKind;
  readonly source: SkillSource;
  /** True if a built-in skill has this id and keeps its tools. */
  readonly isBuiltin: boolean;
  readonly shadows: readonly string[];
  readonly fields: readonly ResolvedField[];
  /** Undefined if the skill can be used. */
  readonly unavailable: Unavailable | undefined;
  /** True if the skill itself reported that. It is asked again when more is known about the run. */
  readonly isLacking: boolean;
  /** Reason why the skill's writes can only be planned. */
  readonly plannable?: Unavailable;
  /** Reason why the code or the server is held back although the rest can be used. Undefined if nothing is. */
  readonly withheld: string | undefined;
  /** Actions that trust would allow: `runs tool page`, `asks https://…`. */
  readonly heldBack: readonly string[];
  /** Tools that are held back, as the skill's files declare them. */
  readonly heldTools: readonly Tool[];
  /** True if the skill may have unknown tools: of a server, or of code that is held back or failed to load. */
  readonly isUnopened: boolean;
  /** Reach of tools by name, from a trusted skill's SKILL.md. Includes the tools of its server. */
  readonly said: ReadonlyMap<string, ToolReach>;
  readonly frontmatter: { readonly [key: string]: unknown } | undefined;
  /** Folder with files that belong to the instructions, if there are any. */
  readonly bundle: Bundle | undefined;
  /** Trusted scripts that no manifest declares as handlers. */
  readonly scripts: SkillScripts | undefined;
  /** True if such scripts are held back. This holds back nothing else. */
  readonly holdsScripts: boolean;
  /** True if the skill's MCP server is held back. */
  readonly holdsServer: boolean;
  readonly calls: readonly string[];
  /** Package that can be run and mounted directly if it is trusted. */
  readonly package: SkillPackage | undefined;
  /** Python functions that code written for one run can import. */
  readonly mounts: readonly RunnablePackage[];
  /** Files of the skill's own server, to check before it is started. */
  readonly contents: Contents | undefined;
  /** Present for a skill that an MCP server offers. */
  readonly remote?: RemoteSkill;
  readonly diagnostics: readonly Diagnostic[];
}

interface RemoteSkill {
  readonly server: SkillEntry;
  readonly name: string;
  /** Paths of the files that the model may read. Empty until the server is connected. */
  readonly files: readonly string[];
  /** Reads a file and checks its digest. */
  readonly read?: (path: string, context: Pick<ToolContext, "signal">) => Promise<string>;
}

export interface InlineSkills {
  readonly skills: Workflow["skills"];
  /** True if the document is the operator's own. */
  readonly trusted: boolean;
  /** True if they come with a record: a bare skill id does not trust them. */
  readonly recorded?: boolean;
}

export interface OwnedInline extends InlineSkill {
  readonly trusted: boolean;
  readonly recorded: boolean;
}

export interface SkillSource {
  readonly kind: "inline" | "mcp" | SkillLevel["kind"];
  readonly path: string | null;
  /** Rank among skills with the same id. The highest wins. */
  readonly priority: number;
  /** True if the skill's code may run. */
  readonly trusted: boolean;
}

export interface Bundle {
  readonly directory: string;
  readonly files: readonly string[];
}
