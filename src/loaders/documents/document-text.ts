import { readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Diagnostic, DiagnosticCode, Finding } from "../../core/base/diagnostic.ts";
import { attempt, hasCode, messageOf } from "../../core/base/errors.ts";
import { defined, nearest } from "../../core/base/values.ts";
import { readRegular } from "../../files/files.ts";
import { parseYaml, type YamlProblem } from "../text/yaml-text.ts";

/** Parses a document in YAML or JSON. If there are `faults`, there is no value. */
export function parseDocument(text: string, file: string | undefined) {
  const { value, problems, position } = parseYaml(text);
  const named = file ? { file } : {};
  const faults = problems.map((problem): Diagnostic => ({ ...problemOf("PARSE", [], problem), ...named }));
  /** Adds the file and the places in it to findings. */
  const place = <Found extends Finding>(findings: readonly Found[]): Found[] =>
    findings.map((found) => ({ ...named, ...found, line: 1, column: 1, ...position(found.path) }));
  return { value, faults, position, place };
}

export function problemOf(code: DiagnosticCode, path: Diagnostic["path"], problem: YamlProblem): Diagnostic {
  return { severity: "error", code, path, ...problem };
}

const MOST_MEGABYTES = 5;

/** Reads the text of a document, or reports why it cannot be one. `what` is what it should be, such as a workflow. */
export function readDocument(path: string, file: string, what: string): string | Diagnostic {
  const refuse = (message: string, hint?: string): Diagnostic => {
    return { severity: "error", code: "IO", path: [], message, ...defined("hint", hint), file };
  };
  try {
    const stat = statSync(path);
    if (stat.isDirectory()) return refuse(`${file} is a directory, not a ${what}`, `name a ${what}'s file in it`);
    const megabytes = stat.size / 1024 / 1024;
    if (megabytes > MOST_MEGABYTES) {
      return refuse(`${file} has ${megabytes.toFixed(1)} MB; a ${what} may have ${MOST_MEGABYTES} MB at most`);
    }
    const text = new TextDecoder("utf-8", { fatal: true }).decode(readRegular(path));
    return text.includes("\0") ? refuse(`${file} is a binary file, not a ${what}`) : text;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return refuse(`there is no file ${file}`, nearFile(path, file));
    if (hasCode(error, "ERR_ENCODING_INVALID_ENCODED_DATA"))
      return refuse(`${file} is not UTF-8 text, so not a ${what}`);
    return refuse(`${file} cannot be read: ${messageOf(error)}`);
  }
}

/** Suggests an existing file for a missing `path`, as a hint. `given` is the path as the user wrote it. */
export function nearFile(path: string, given: string): string | undefined {
  for (const folder of [".", "workflows"]) {
    const entries = attempt(() => readdirSync(join(dirname(path), folder), { withFileTypes: true })) ?? [];
    const files = entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
    const near = nearest(basename(path), files);
    if (near !== undefined) return `did you mean ${join(dirname(given), folder, near)}?`;
  }
  return undefined;
}
