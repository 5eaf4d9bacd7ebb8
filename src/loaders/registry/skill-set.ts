import type { Diagnostic } from "../../core/base/diagnostic.ts";
import type { Environment, ResolvedField } from "../../core/document/config.ts";
import type { InlineSkill, Workflow } from "../../core/document/workflow/workflow.ts";
import type { Unavailable } from "../../core/skill/availability/unavailable.ts";
import type { Effect, Format, McpServerConfig, Skill, SkillKind, Tool, ToolReach } from "../../core/skill/skill.ts";
import type { RunnablePackage, SkillPackage } from "../folder/format.ts";
import type { LoaderHost } from "../folder/host.ts";
import type { SkillLevel } from "../folder/level.ts";
import type { Contents } from "../folder/skill-contents.ts";
import type { SkillScripts } from "../programs/skill-script.ts";
import type { Trust } from "../trust/trust-memory.ts";
import type { LintedSkill } from "./lint.ts";
import type { Withheld } from "./withheld.ts";

export interface SkillSetOptions {
  /** The folder of the built-in skills. */
  readonly builtin: string;
  /** Built-in skills whose tools the program itself carries out. */
  readonly own: readonly OwnSkill[];
  /** Skills of the program that uses us: each stands alone under its id, whatever is found there. */
  readonly given?: readonly Skill[];
  /** Where skills are looked for, highest first. */
  readonly levels: readonly SkillLevel[];
  /** MCP servers by skill id: in place of a skill's own, or a skill by themselves. */
  readonly servers: ReadonlyMap<string, ServerChoice>;
  readonly disabled: readonly string[];
  /** Skills whose code the operator lets run. */
  readonly trust: Trust;
  /** Variables handed to a skill beside those that it declares. */
  readonly variables: ReadonlyMap<string, readonly string[]>;
  /** `ID.tool` -> what the operator says of that tool of the skill's server. */
  readonly effects?: ReadonlyMap<string, Effect>;
  readonly overrides: ReadonlyMap<string, string>;
  readonly env: Environment;
  readonly host: Omit<LoaderHost, "env" | "invoke">;
}

/** Every skill there is, found once and read when asked for. */
export interface SkillSet {
  /** Checks skills by the strict rules of their formats: those at the paths, without any all that are not built in. */
  lint(paths?: readonly string[]): Promise<readonly LintedSkill[]>;
  readonly ids: ReadonlySet<string>;
  /** Where the skills of all levels were found, links followed. */
  readonly folders: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
  /** Reports whether a trusted skill declares the variable with `secret: false`, or as a secret. */
  declares(variable: string): "readable" | "secret" | undefined;
  /** What the tools of foreign skills are carried out with. */
  readonly host: LoaderHost;
  /** What is held back of the skill and why (trust 6), told without running any; undefined where nothing is. */
  withheld(reference: string, inline?: InlineSkills): Withheld | undefined;
  /**
   * By id, or by `id@range` for one of its versions; undefined for what nobody declares. `inline` are the skills of one
   * workflow, the highest layer.
   */
  find(reference: string, inline?: InlineSkills): Promise<SkillEntry | undefined>;
  /** The versions of an id at all levels, newest first. */
  versions(id: string): readonly string[];
  /** What was found where the skill is looked for: whom it shadows, and folders of its name that were skipped. */
  about(reference: string, inline?: InlineSkills): readonly Diagnostic[];
  /** The same skills where no server is connected and no agent asked (fine-print T45). */
  unconnected(): SkillSet;
}

export interface OwnSkill {
  readonly skill: Skill;
  /** Why the operator's choices keep it away. */
  readonly unavailable: Unavailable | undefined;
}

export interface ServerChoice {
  readonly config: McpServerConfig;
  /** The file that says so. */
  readonly path: string;
  readonly kind: "project" | "user";
  /** Whether that file is the operator's own. */
  readonly trusted: boolean;
}

/** One skill of the set, all its layers joined (D32), and whether it can be used. */
export interface SkillEntry {
  readonly skill: Skill;
  readonly format: Format;
  readonly kind: SkillKind;
  readonly source: SkillSource;
  /** A built-in skill has this id, and keeps its tools. */
  readonly isBuiltin: boolean;
  /** Where lower layers of the same id are. */
  readonly shadows: readonly string[];
  readonly fields: readonly ResolvedField[];
  /** Undefined if the skill can be used. */
  readonly unavailable: Unavailable | undefined;
  /** The skill itself reported that, and is asked again once more is known of a run. */
  readonly isLacking: boolean;
  /** Why only its planned writes can be used. */
  readonly plannable?: Unavailable;
  /** Why its code does not run, or its server is not connected, although the rest is there; undefined where nothing is held back. */
  readonly withheld: string | undefined;
  /** What would happen if it were not held back, in words: `runs tool page`, `asks https://…`. */
  readonly heldBack: readonly string[];
  /** Its tools as its files declare them, where they are held back. */
  readonly heldTools: readonly Tool[];
  /** It may have tools of which nothing is known yet: of a server, or of code that waits or could not be loaded. */
  readonly isUnopened: boolean;
  /** What its SKILL.md says of tools by their names, those of its server too, as far as somebody vouches for it. */
  readonly said: ReadonlyMap<string, ToolReach>;
  readonly frontmatter: { readonly [key: string]: unknown } | undefined;
  /** The folder whose files belong to its instruction; undefined where there are none. */
  readonly bundle: Bundle | undefined;
  /** Its scripts, where it has some that no manifest makes handlers of, and they are trusted. */
  readonly scripts: SkillScripts | undefined;
  /** It has such scripts, and they wait for trust; nothing else of it does because of them. */
  readonly holdsScripts: boolean;
  /** It has an MCP server, and that waits for trust. */
  readonly holdsServer: boolean;
  /** References of other skills that its tools call. */
  readonly calls: readonly string[];
  /** What can be run and mounted by itself, where it is trusted. */
  readonly package: SkillPackage | undefined;
  /** Its Python, to be imported by code that was written for one run. */
  readonly mounts: readonly RunnablePackage[];
  /** What its own server is, for as long as it may be started. */
  readonly contents: Contents | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

/** The skills that a workflow brings along. */
export interface InlineSkills {
  readonly skills: Workflow["skills"];
  /** Whether the document is the operator's own (workflow-format D64). */
  readonly trusted: boolean;
  /** True if they come with a record: a bare skill id does not trust them. */
  readonly recorded?: boolean;
}

export interface OwnedInline extends InlineSkill {
  readonly trusted: boolean;
  readonly recorded: boolean;
}

export interface SkillSource {
  readonly kind: "inline" | SkillLevel["kind"];
  readonly path: string | null;
  /** Of two skills of one id the higher one wins. */
  readonly priority: number;
  /** Whether code of it may run. */
  readonly trusted: boolean;
}

export interface Bundle {
  readonly directory: string;
  /** Names of the files that a model may read. */
  readonly files: readonly string[];
}
