import type { DiagnosticCode } from "../diagnostic.ts";
import { type ErrorCode, exitCodeOf } from "../errors.ts";
import diagnostics from "./diagnostics.json" with { type: "json" };
import errors from "./errors.json" with { type: "json" };

/** What a code means, for a reader who met it. Code in the text is in Markdown's backticks. */
interface Explanation {
  /** What happened; its first sentence is complete on its own, because lists show no more. */
  readonly what: string;
  /** The usual cause, if it is not obvious. */
  readonly why?: string;
  /** What to do. */
  readonly mend: string;
  /** Part of a workflow, a SKILL.md or a tools.json. */
  readonly example?: { readonly wrong: string; readonly right: string };
}

/** A code with what it means: a finding about what an author wrote, or the reason why the program could not go on. */
export type Explained = { readonly code: string } & (
  | { readonly kind: "finding" }
  | { readonly kind: "error"; readonly exitCode: number }
) &
  Explanation;

/** The codes of findings by their subject. */
export const DIAGNOSTIC_THEMES: Readonly<Record<string, Partial<Record<DiagnosticCode, Explanation>>>> = diagnostics;

/** An error code without an explanation does not compile. Some are the codes of a single tool call. */
const ERRORS: Readonly<Record<ErrorCode, Explanation>> = errors;

/** Every code that a diagnostic or an error can have. */
export function explainedCodes(): readonly Explained[] {
  const findings = Object.values(DIAGNOSTIC_THEMES).flatMap((codes) => {
    return Object.entries(codes).map(([code, said]): Explained => ({ code, kind: "finding", ...said }));
  });
  const failures = Object.entries(ERRORS).map(([code, said]): Explained => {
    return { code, kind: "error", exitCode: exitCodeOf(code), ...said };
  });
  return [...findings, ...failures];
}

/** By its code, in whatever case. */
export function explainCode(given: string): Explained | undefined {
  return explainedCodes().find(({ code }) => code.toLowerCase() === given.trim().toLowerCase());
}

/** What stands for it in a list. */
export function gistOf({ what }: Explanation): string {
  return /^.*?[.:](?=\s|$)/.exec(what)?.[0].replace(/:$/, ".") ?? what;
}
