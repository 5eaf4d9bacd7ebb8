import type { Diagnostic, DiagnosticCode, Finding } from "../../core/base/diagnostic.ts";
import { type Place, parseYaml, type YamlProblem } from "../text/yaml-text.ts";

/** Parsed text of a document in YAML or JSON. */
export interface DocumentText {
  readonly value: unknown;
  /** YAML errors as findings. If there are any, there is no value. */
  readonly faults: readonly Diagnostic[];
  position(path: Diagnostic["path"]): Place;
  /** Adds the file and the places in it to findings. */
  place<Found extends Finding>(findings: readonly Found[]): Found[];
}

export function parseDocument(text: string, file: string | undefined): DocumentText {
  const { value, problems, position } = parseYaml(text);
  const named = file ? { file } : {};
  const faults = problems.map((problem): Diagnostic => ({ ...problemOf("PARSE", [], problem), ...named }));
  return {
    value,
    faults,
    position,
    place: (findings) => findings.map((found) => ({ ...named, ...found, line: 1, column: 1, ...position(found.path) })),
  };
}

export function problemOf(code: DiagnosticCode, path: Diagnostic["path"], problem: YamlProblem): Diagnostic {
  return { severity: "error", code, path, ...problem };
}
