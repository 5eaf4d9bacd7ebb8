import type { Diagnostic } from "../../core/base/diagnostic.ts";
import type { JsonSchema } from "../../core/base/values.ts";
import type { Unavailable } from "../../core/skill/availability/unavailable.ts";
import type { Effect, Format, McpServerConfig, Skill, SkillKind } from "../../core/skill/skill.ts";
import type { Invocation, LoaderHost } from "./host.ts";
import type { Contents } from "./skill-contents.ts";
import type { SkillFolder } from "./skill-folder.ts";

/** A package as far as running goes. */
export interface RunnablePackage {
  /** Dotted. */
  readonly name: string;
  /** Absolute and real. */
  readonly directory: string;
  readonly contents: Pick<Contents, "check" | "sourceOf">;
  /** Undefined for an instruction. */
  readonly runtime: PackageRuntime | undefined;
  /** The variables that it may see. */
  readonly secrets: readonly string[];
  /** The hosts that it may reach. */
  readonly network: false | readonly string[];
}

export interface PackageRuntime {
  readonly language: "python" | "javascript";
  /** From the package's folder. */
  readonly entrypoint: string;
  readonly export: string;
}

/** A package, read: all that there is to list, describe and run. */
export interface SkillPackage extends RunnablePackage {
  readonly version: string;
  readonly description: string;
  readonly kind: "action" | "instruction";
  readonly namespace: string;
  readonly input: JsonSchema;
  /** As written. */
  readonly manifest: { readonly [key: string]: unknown };
  readonly document: PackageDocument;
  /** What is wrong with it; with an error among them it cannot be run. */
  readonly diagnostics: readonly Diagnostic[];
}

/** SKILL.md, whose frontmatter is not that of Agent Skills: its name is for people. */
export interface PackageDocument {
  readonly title: string | undefined;
  readonly shortDescription: string | undefined;
  readonly tags: readonly string[];
  readonly frontmatter: { readonly [key: string]: unknown };
  readonly body: string;
}

/** One way to write a skill as a folder. */
export interface FolderFormat {
  readonly format: Format;
  /** Decides by the folder's file names, and by a file's outer shape where names are not enough (skill-formats 6.1). */
  recognises(folder: SkillFolder): boolean;
  /** Reads the folder; nothing of it is imported or run. The diagnostic says why the whole skill is skipped. */
  load(folder: SkillFolder, host: LoaderHost): LoadedSkill | Diagnostic;
}

/** A skill as its folder has it. */
export interface LoadedSkill {
  /** Handlers start what they need when they are called, and not before. */
  readonly skill: Skill;
  readonly format: Format;
  readonly kind: SkillKind;
  /** As written, unknown keys kept; empty where there is none. */
  readonly frontmatter: { readonly [key: string]: unknown };
  /** Its tools run code of the folder, or programs that the folder names: needs trust (trust 6). */
  readonly runsCode: boolean;
  /** What its files say of the effects of its tools, by name. It counts only if the skill is trusted. */
  readonly effects?: ReadonlyMap<string, Effect>;
  /** Other skills that its tools call. */
  readonly calls?: readonly string[];
  /** The tool of another skill that its own tool passes every call on to. */
  readonly boundTo?: Pick<Invocation, "skill" | "tool">;
  /** What can be run by itself; Skills Protocol packages alone. */
  readonly package?: SkillPackage;
  /** Its Python, as code that was written for one run imports it. */
  readonly mounts?: readonly RunnablePackage[];
  /** Why it cannot be used, whatever its config is. */
  readonly unavailable?: Unavailable;
  /** What trust lets run beside the tools, as people are told before they give it. */
  readonly code?: readonly string[];
  /** A server that its own tool starts or asks, and the folder where a command starts. */
  readonly server?: { readonly config: McpServerConfig; readonly cwd: string };
  /** The skill that the folder's module defines: imported on the first call, which only trust allows. */
  readonly importCode?: () => Promise<Skill>;
  readonly diagnostics: readonly Diagnostic[];
}
