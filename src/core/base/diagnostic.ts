import type diagnostics from "./codes/diagnostics.json";
import { asFlag, type Hint, type OptionWriter, renderHint } from "./options.ts";

type Themes = typeof diagnostics;

/** Every code that a finding about what an author wrote can have: the codes that diagnostics.json explains. */
export type DiagnosticCode = { [Theme in keyof Themes]: keyof Themes[Theme] }[keyof Themes];

/** A finding in a file that an author wrote. Findings are returned together, never thrown one at a time. */
export interface Diagnostic {
  readonly severity: "error" | "warning";
  readonly code: DiagnosticCode;
  readonly message: string;
  /** Keys and indexes from the document's root. */
  readonly path: readonly (string | number)[];
  /** Path as text: `nodes.collect.context[1]`. Empty for the document itself. */
  readonly field?: string;
  readonly hint?: Hint | undefined;
  readonly file?: string;
  /** Starts at 1. */
  readonly line?: number;
  readonly column?: number;
}

export function errorAt(
  code: DiagnosticCode,
  path: Diagnostic["path"],
  message: string,
  hint?: Hint | undefined,
): Diagnostic {
  return { severity: "error", code, path, message, ...(hint === undefined ? {} : { hint }) };
}

export function warningAt(...about: Parameters<typeof errorAt>): Diagnostic {
  return { ...errorAt(...about), severity: "warning" };
}

/** A diagnostic or a note. Notes are only displayed: they never fail a command, not even with `--strict`. */
export interface Finding extends Omit<Diagnostic, "severity"> {
  readonly severity: Diagnostic["severity"] | "note";
}

export function isDiagnostic(finding: Finding): finding is Diagnostic {
  return finding.severity !== "note";
}

export type Shown<Found extends Finding> = Omit<Found, "hint"> & { readonly hint?: string };
export type ShownDiagnostic = Shown<Diagnostic>;

/** Adds the path as text, next to the path as keys, and writes the options of the hint. */
export function shownFinding<Found extends Finding>(found: Found, write: OptionWriter = asFlag) {
  const { hint, ...rest } = found;
  return { ...rest, ...(hint === undefined ? {} : { hint: renderHint(hint, write) }), field: fieldPath(found.path) };
}

export function byPlace(a: Finding, b: Finding): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

export function hasErrors(diagnostics: readonly Finding[]): boolean {
  return diagnostics.some((diagnostic) => diagnostic.severity === "error");
}

/** Formats a field path for messages and the trace, such as `nodes.collect.context[1]`. */
export function fieldPath(path: readonly (string | number)[]): string {
  return path.map((key, i) => (typeof key === "number" ? `[${key}]` : i === 0 ? key : `.${key}`)).join("");
}
