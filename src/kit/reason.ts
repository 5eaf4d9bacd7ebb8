import { clip } from "../core/base/preview.ts";
import { parseJson } from "../core/base/values.ts";

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
  if (typeof value !== "object" || value === null || depth > 3) return "";
  const members = Array.isArray(value)
    ? value.slice(0, 5)
    : REASONS.map((key) => (Object.hasOwn(value, key) ? value[key as never] : undefined));
  const texts = members.map((member) => wordsOf(member, depth + 1)).filter((member) => member !== "");
  if (texts.length > 0 || Array.isArray(value)) return [...new Set(texts)].join(": ");
  // Errors by field.
  const faults = Object.entries(value).map(([field, fault]) => [field, wordsOf(fault, depth + 1)] as const);
  const said = faults.filter(([, words]) => words !== "").slice(0, 10);
  return said.map(([field, words]) => `${field}: ${words}`).join("; ");
}
