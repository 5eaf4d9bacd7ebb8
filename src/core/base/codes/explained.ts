import type { DiagnosticCode } from "../diagnostic.ts";
import { type ErrorCode, exitCodeOf } from "../errors.ts";
import diagnostics from "./diagnostics.json" with { type: "json" };
import errors from "./errors.json" with { type: "json" };

/** Explanation of a code for the user who sees it. Code in the text is in Markdown backticks. */
interface Explanation {
  /** Description of the problem. The first sentence must be complete, because lists show only that. */
  readonly what: string;
  /** Usual cause, if it is not obvious. */
  readonly why?: string;
  /** Instructions to fix it. */
  readonly mend: string;
  /** Part of a workflow, a SKILL.md or a tools.json. */
  readonly example?: { readonly wrong: string; readonly right: string };
}

/** A code with its explanation: a finding in an author's file, or an error that stopped the program. */
export type Explained = { readonly code: string } & (
  | { readonly kind: "finding" }
  | { readonly kind: "error"; readonly exitCode: number }
) &
  Explanation;

export const DIAGNOSTIC_THEMES: Readonly<Record<string, Partial<Record<DiagnosticCode, Explanation>>>> = diagnostics;

/** Explanations of error codes. The type requires one for every code, including those of tool calls. */
const ERRORS: Readonly<Record<ErrorCode, Explanation>> = errors;

export function explainedCodes(): readonly Explained[] {
  const findings = Object.values(DIAGNOSTIC_THEMES).flatMap((codes) => {
    return Object.entries(codes).map(([code, said]): Explained => ({ code, kind: "finding", ...said }));
  });
  const failures = Object.entries(ERRORS).map(([code, said]): Explained => {
    return { code, kind: "error", exitCode: exitCodeOf(code), ...said };
  });
  return [...findings, ...failures];
}

/** Finds the explanation of a code. Ignores case. */
export function explainCode(given: string): Explained | undefined {
  return explainedCodes().find(({ code }) => code.toLowerCase() === given.trim().toLowerCase());
}

/** Returns the first sentence, for lists. */
export function gistOf({ what }: Explanation): string {
  return /^.*?[.:](?=\s|$)/.exec(what)?.[0].replace(/:$/, ".") ?? what;
}
