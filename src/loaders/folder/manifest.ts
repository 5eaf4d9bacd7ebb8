import { join } from "node:path";
import type { Diagnostic } from "../../core/base/diagnostic.ts";
import { messageOf } from "../../core/base/errors.ts";
import { isObject } from "../../core/base/values.ts";
import { parseYaml } from "../text/yaml-text.ts";
import { type SkillFolder, skipped } from "./skill-folder.ts";

/** Parsed YAML or JSON manifest of a skill's folder. */
export interface Manifest {
  /** Absolute path. */
  readonly file: string;
  readonly value: { readonly [key: string]: unknown };
  /** Reports a problem at a path. The message is a clause whose subject is the manifest. */
  finding(path: Diagnostic["path"], message: string, hint?: string): Diagnostic;
}

/** Reads the first file that exists. Returns undefined if there is none, and a diagnostic if it is unreadable. */
export function readManifest(folder: SkillFolder, names: readonly string[]): Manifest | Diagnostic | undefined {
  const name = names.find((candidate) => folder.names.has(candidate));
  if (name === undefined) return undefined;
  const file = join(folder.directory, name);
  try {
    const text = folder.read(name);
    if (text === undefined) return skipped(file, "it is no file");
    const { value, problems, position } = parseYaml(text);
    const [first] = problems;
    if (first) return { ...skipped(file, first.message), line: first.line, column: first.column };
    if (!isObject(value)) return { ...skipped(file, "it is no map of fields"), line: 1, column: 1 };
    const finding: Manifest["finding"] = (path, message, hint) => ({
      severity: "error",
      code: "SKILL_MANIFEST",
      path,
      message: `${name} ${message}`,
      ...(hint ? { hint } : {}),
      file,
      ...position(path),
    });
    return { file, value, finding };
  } catch (error) {
    return skipped(file, messageOf(error));
  }
}
