import type { Json } from "./values.ts";

/** Shortens a long text and appends how much is missing. Never splits a character. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  const kept = startOf(text, most);
  return `${kept}… (${formatCount(text.length - kept.length)} more characters)`;
}

/** Keeps the start and the end of long text. Redact before: half a secret is not recognized. */
export function cutMiddle(text: string, most: number): string {
  if (text.length <= most) return text;
  const head = Math.floor(most * 0.75);
  const tail = most - head - 100;
  return `${text.slice(0, head)}\n[… ${text.length - head - tail} characters left out …]\n${text.slice(-tail)}`;
}

export function shortText(text: string, most: number): string {
  return text.length > most ? `${startOf(text, most - 1)}…` : text;
}

/** Formats a value as indented JSON of limited length and depth. */
export function previewJson(value: Json, most: number): string {
  const kept: string[] = [];
  let left = most;
  for (const piece of jsonPieces(value, most, 0)) {
    if (piece.length > left) return `${kept.join("")}${cutText(piece, left)}`;
    left -= piece.length;
    kept.push(piece);
  }
  return kept.join("");
}

/** Formats `1234567` as `1,234,567`. The first use of a locale takes long. */
export function formatCount(count: number): string {
  if (!Number.isSafeInteger(count) || count < 0) return count.toLocaleString("en-US");
  if (count < 1000) return String(count);
  return `${formatCount(Math.floor(count / 1000))},${String(count % 1000).padStart(3, "0")}`;
}

export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

export function formatCost(usd: number | null): string {
  if (usd === null) return "unknown";
  if (usd === 0) return "$0";
  return usd < 0.01 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`;
}

/** Adds costs. Returns null if one of them is unknown. */
export function sumCosts(costs: readonly (number | null)[]): number | null {
  return costs.reduce((sum, cost) => (sum === null || cost === null ? null : sum + cost), 0);
}

/** Formats `2026-11-20T14:35:01.706Z` as `2026-11-20 14:35:01 UTC`. */
export function formatTime(at: string): string {
  return at.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$/, "$1 $2 UTC");
}

export function plural(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** Keeps the first items, and describes how many others there are. */
export function firstOf<Item>(items: readonly Item[], most: number, describe: (left: number) => Item): Item[] {
  const left = items.length - most;
  return left > 0 ? [...items.slice(0, most), describe(left)] : [...items];
}

function startOf(text: string, most: number): string {
  return /[\ud800-\udbff]/.test(text.charAt(most - 1)) ? text.slice(0, most - 1) : text.slice(0, most);
}

const DEEPEST = 24;

function* jsonPieces(value: Json, most: number, depth: number): Generator<string> {
  if (typeof value === "string") return yield JSON.stringify(value.slice(0, most + 1));
  if (value === null || typeof value !== "object") return yield String(value);
  const list = Array.isArray(value);
  const members = Object.entries(value);
  const [open, close] = list ? ["[", "]"] : ["{", "}"];
  if (members.length === 0) return yield open + close;
  if (depth >= DEEPEST) return yield `${open}…${close}`;
  const margin = `\n${"  ".repeat(depth + 1)}`;
  for (const [index, [key, member]] of members.entries()) {
    yield (index === 0 ? open : ",") + margin + (list ? "" : `${JSON.stringify(key)}: `);
    yield* jsonPieces(member, most, depth + 1);
  }
  yield `\n${"  ".repeat(depth)}${close}`;
}

/** Removes these characters from the end of a text. */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/** Cuts text to a number of characters, and appends how many are missing. */
export function clip(text: string, cap: number): string {
  if (text.length <= cap) return text;
  const kept = startOf(text, cap);
  return `${kept}… [${text.length - kept.length} more characters]`;
}
