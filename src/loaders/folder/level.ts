import type { Diagnostic } from "../../core/base/diagnostic.ts";
import type { LoadedSkill } from "./format.ts";
import type { Contents } from "./skill-contents.ts";

/** A place where skills are looked for. */
export interface SkillLevel {
  readonly kind: "extra" | "module" | "project" | "user" | "builtin";
  /** Absolute: a directory of skill folders, or a skill folder itself. Of a module also its file, or a package's name. */
  readonly path: string;
  /** Whether skills found here are the operator's own (trust 6). */
  readonly trusted: boolean;
  /** Folders of this level may not be links that lead out of here; undefined where they may. */
  readonly root?: string;
  /** Of a module: the folder that its package is installed for. */
  readonly from?: string;
  /** Of a module: the config file that names it, and as which of its modules. */
  readonly named?: { readonly file: string; readonly index: number };
}

export interface FoundSkill {
  readonly path: string;
  readonly loaded: LoadedSkill;
  /** All that its code is. */
  readonly contents: Contents;
}

export interface Discovery {
  readonly found: readonly FoundSkill[];
  readonly diagnostics: readonly Diagnostic[];
}
