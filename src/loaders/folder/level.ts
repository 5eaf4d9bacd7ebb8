import type { Diagnostic } from "../../core/base/diagnostic.ts";
import type { LoadedSkill } from "./format.ts";
import type { Contents } from "./skill-contents.ts";

/** Place to search for skills. */
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
  /** All files of the skill's code. */
  readonly contents: Contents;
}

export interface Discovery {
  readonly found: readonly FoundSkill[];
  readonly diagnostics: readonly Diagnostic[];
}
