import type { Diagnostic } from "../../core/base/diagnostic.ts";
import type { JsonSchema } from "../../core/base/values.ts";
import type { Unavailable } from "../../core/skill/availability/unavailable.ts";
import type { Effect, Format, McpServerConfig, Skill, SkillKind } from "../../core/skill/skill.ts";
import type { Invocation, LoaderHost } from "./host.ts";
import type { Contents } from "./skill-contents.ts";
import type { SkillFolder } from "./skill-folder.ts";

/** Part of a package that is needed to run it. */
export interface RunnablePackage {
  readonly name: string;
  /** Absolute real path. */
  readonly directory: string;
  readonly contents: Pick<Contents, "check" | "sourceOf">;
  /** Undefined for an instruction. */
  readonly runtime: PackageRuntime | undefined;
  /** Environment variables that the code may read. */
  readonly secrets: readonly string[];
  readonly network: false | readonly string[];
}

export interface PackageRuntime {
  readonly language: "python" | "javascript";
  /** Path relative to the package's folder. */
  readonly entrypoint: string;
  readonly export: string;
}

/** Package with what describes it to other programs. */
export interface SkillPackage extends RunnablePackage {
  readonly namespace: string;
  readonly input: JsonSchema;
  readonly manifest: { readonly [key: string]: unknown };
}

export interface FolderFormat {
  /** Checks a folder by its file names, and by the outer shape of a file where names are ambiguous. */
  recognises(folder: SkillFolder): boolean;
  /** Reads the folder without importing or running code. */
  read(folder: SkillFolder, host: LoaderHost): Reading;
}

/** Result of reading a folder once: the skill, and what the rules of its format report. */
export interface Reading {
  /** A diagnostic if the whole skill is skipped. */
  readonly loaded: LoadedSkill | Diagnostic;
  /** Format whose rules `lint` applies. */
  readonly format: Format;
  /**
   * Returns every violation of the format's rules. A run does not need most of them, so they are found on demand.
   * `known` are the ids of the skills that the files may refer to.
   */
  lint(known: ReadonlySet<string>): readonly Diagnostic[];
}

export interface LoadedSkill {
  /** Handlers start programs only when they are called. */
  readonly skill: Skill;
  readonly format: Format;
  readonly kind: SkillKind;
  /** Frontmatter as written, including unknown keys. Empty if there is none. */
  readonly frontmatter: { readonly [key: string]: unknown };
  /** True if its tools run code in the folder, or programs that the folder names. Such a skill needs trust. */
  readonly runsCode: boolean;
  /** Effects that its files declare for its tools, by name. They count only if the skill is trusted. */
  readonly effects?: ReadonlyMap<string, Effect>;
  readonly calls?: readonly string[];
  /** Tool of another skill that handles all calls of its own tool. */
  readonly boundTo?: BoundTo;
  /** Package that can be run directly. Set for Skills Protocol packages only. */
  readonly package?: SkillPackage;
  /** Python functions that code written for one run can import. */
  readonly mounts?: readonly RunnablePackage[];
  /** Reason why the skill cannot be used, whatever its config. */
  readonly unavailable?: Unavailable;
  /** Code that trust allows in addition to the tools, for the prompt that asks the user. */
  readonly code?: readonly string[];
  /** Server that its own tool connects to, and the folder where a command starts. */
  readonly server?: { readonly config: McpServerConfig; readonly cwd: string };
  /** Imports the skill that the folder's module defines, once. Called only if the skill is trusted. */
  readonly importCode?: () => Promise<Skill>;
  readonly diagnostics: readonly Diagnostic[];
}

export interface BoundTo extends Pick<Invocation, "skill" | "tool"> {
  /** Reports at the tool's name that it cannot be called. */
  readonly refuse: (reason: string) => Diagnostic;
}

export interface SkillLevel {
  readonly kind: "extra" | "module" | "project" | "user" | "builtin";
  /** Absolute path of a skill folder or its parent directory. For a module, also a file or a package name. */
  readonly path: string;
  /** True if skills in this place are the operator's own. */
  readonly trusted: boolean;
  /** Skill folders may not link to a place outside this path. If undefined, they may. */
  readonly root?: string;
  /** For a module: folder that its package is installed for. */
  readonly from?: string;
  /** For a module: config file that names it, and its index in the list. */
  readonly named?: { readonly file: string; readonly index: number };
}

export interface FoundSkill {
  readonly path: string;
  readonly loaded: LoadedSkill;
  readonly contents: Contents;
}

export interface Discovery {
  readonly found: readonly FoundSkill[];
  readonly diagnostics: readonly Diagnostic[];
}

/** Turns a run's findings into those of the lint: what makes a skill or tool unusable is an error. */
export function strictly(found: readonly Diagnostic[]): Diagnostic[] {
  const aboutSkill = found.filter(({ code }) => code !== "DESCRIPTOR_SCRIPTS"); // The operator decides about scripts.
  return aboutSkill.map((each) => (ADVICE.has(each.code) ? each : { ...each, severity: "error" }));
}

/** Findings that stay warnings in the lint. */
const ADVICE: ReadonlySet<string> = new Set([
  "SKILL_FOLDER_NAME",
  "DESCRIPTOR_LAUNCHER",
  "MANIFEST_KEY_UNKNOWN",
  "TOOL_DOUBTFUL",
  "SKILL_NOT_IMPORTABLE",
]);
