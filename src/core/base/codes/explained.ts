import { exitCodeOf } from "../errors.ts";
import { DIAGNOSTICS } from "./diagnostics.ts";
import { ERRORS } from "./errors.ts";
import type { Explanation } from "./explanation.ts";

/** A code with what it means: a finding about what an author wrote, or the reason why the program could not go on. */
export type Explained = { readonly code: string } & (
  | { readonly kind: "finding" }
  | { readonly kind: "error"; readonly exitCode: number }
) &
  Explanation;

/** Every code that a diagnostic or an error can have. */
export function explainedCodes(): readonly Explained[] {
  const findings = Object.entries(DIAGNOSTICS).map(([code, said]): Explained => ({ code, kind: "finding", ...said }));
  const errors = Object.entries(ERRORS).map(([code, said]): Explained => {
    return { code, kind: "error", exitCode: exitCodeOf(code), ...said };
  });
  return [...findings, ...errors];
}

/** By its code, in whatever case. */
export function explainCode(given: string): Explained | undefined {
  return explainedCodes().find(({ code }) => code.toLowerCase() === given.trim().toLowerCase());
}

/** What stands for it in a list. */
export function gistOf({ what }: Explanation): string {
  return /^.*?[.:](?=\s|$)/.exec(what)?.[0].replace(/:$/, ".") ?? what;
}
