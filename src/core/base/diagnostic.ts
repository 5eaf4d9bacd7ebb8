import type diagnostics from "./codes/diagnostics.json";

type Themes = typeof diagnostics;

/** Every code that a finding about what an author wrote can have: the codes that diagnostics.json explains. */
export type DiagnosticCode = { [Theme in keyof Themes]: keyof Themes[Theme] }[keyof Themes];

/** A finding about what an author wrote: returned, all of them together, never thrown one by one. */
export interface Diagnostic {
  readonly severity: "error" | "warning";
  readonly code: DiagnosticCode;
  readonly message: string;
  /** Keys and indexes from the document's root. */
  readonly path: readonly (string | number)[];
  /** The same as people write it: `nodes.collect.context[1]`; empty for the document itself. */
  readonly field?: string;
  readonly hint?: string;
  readonly file?: string;
  /** 1-based. */
  readonly line?: number;
  readonly column?: number;
}

/** A diagnostic, or a note: that is told and raises nothing, and no `--strict` makes more of it. */
export interface Finding extends Omit<Diagnostic, "severity"> {
  readonly severity: Diagnostic["severity"] | "note";
}

export function isDiagnostic(finding: Finding): finding is Diagnostic {
  return finding.severity !== "note";
}

/** With the field's path as people write it, beside its keys. */
export function withField<Found extends Finding>(found: Found): Found & { readonly field: string } {
  return { ...found, field: fieldPath(found.path) };
}

/** As a reader of the file meets them. */
export function byPlace(a: Finding, b: Finding): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

export function hasErrors(diagnostics: readonly Finding[]): boolean {
  return diagnostics.some((diagnostic) => diagnostic.severity === "error");
}

/** `nodes.collect.context[1]`: how a field path is written for people and in the trace (workflow-format D20). */
export function fieldPath(path: readonly (string | number)[]): string {
  return path.map((key, i) => (typeof key === "number" ? `[${key}]` : i === 0 ? key : `.${key}`)).join("");
}
