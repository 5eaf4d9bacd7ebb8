import { clip } from "../core/base/preview.ts";
import { isObject, parseJson } from "../core/base/values.ts";

/** Reasons that services and connections give for a failed request. */

/** Returns the system's code of a failed connection, such as ` (ECONNREFUSED)`, or "". */
export function causeCode(error: unknown): string {
  const { cause } = error instanceof Error ? error : {};
  return typeof cause === "object" && cause !== null && "code" in cause ? ` (${String(cause.code)})` : "";
}

/** Extracts the service's reason from common fields of the answer, or from its text. */
export function reasonOf(text: string): string {
  // A page, such as a proxy's, gives no reason.
  const answer = parseJson(text) ?? (/^\s*[<{[]/.test(text) ? "" : text);
  const words = wordsOf(answer).replace(/\s+/g, " ").trim();
  return words === "" ? "no reason was given." : `${clip(words, 500).replace(/\.$/, "")}.`;
}

const REASONS = [
  ...["reason", "message", "title", "detail", "source", "pointer", "error", "error_description", "errors"],
  ...["errorMessages", "invalid_attributes"],
];

function wordsOf(value: unknown, depth = 0): string {
  if (typeof value === "string") return value;
  if (depth > 3) return "";
  if (Array.isArray(value)) return textsOf(value.slice(0, 5), depth);
  if (!isObject(value)) return "";
  const given = REASONS.filter((key) => Object.hasOwn(value, key));
  const reasons = textsOf(
    given.map((key) => value[key]),
    depth,
  );
  if (reasons !== "") return reasons;
  // Errors by field.
  const faults = Object.entries(value).map(([field, fault]) => [field, wordsOf(fault, depth + 1)] as const);
  const said = faults.filter(([, words]) => words !== "").slice(0, 10);
  return said.map(([field, words]) => `${field}: ${words}`).join("; ");
}

function textsOf(members: readonly unknown[], depth: number): string {
  const texts = members.map((member) => wordsOf(member, depth + 1)).filter((member) => member !== "");
  return [...new Set(texts)].join(": ");
}
