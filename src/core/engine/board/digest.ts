import { isAddress, linklessLine, plainLine } from "../../base/inert.ts";
import { shortText } from "../../base/preview.ts";
import { groupBy, type Json, type JsonObject, memberAt, textAt } from "../../base/values.ts";

/** Summarizes what a run over a board judged. It reads the judged items only; the others are counted. */

export interface DigestInput {
  readonly items: readonly Json[];
  /** Number of items that the map left for the next run. */
  readonly left?: number;
  /** The board, for links, and for what was not listed. */
  readonly board?: JsonObject;
}

const MOST_LINES = 10;
const MOST_LINE = 300;
/** Fits a message of Slack. */
const MOST_TEXT = 3000;

/** Returns verdict, headline, lines (most urgent first, noise only counted), the first step and a message of these. */
export function digestBoard({ items, left = 0, board = {} }: DigestInput) {
  const judged = items
    .filter((item) => textAt(item, "status") === "success")
    .map((item) => ({ item, class: classOf(memberAt(item, "data")) }))
    .sort((a, b) => rankOf(a.class) - rankOf(b.class));
  const failed = items.filter((item) => ["failed", "stopped"].includes(textAt(item, "status") ?? "")).length;
  const gaps = listAt(board, "gaps");
  const links = new Map(listAt(board, "issues").map((row) => [textAt(row, "fingerprint"), textAt(row, "link")]));
  const told = judged.filter((one) => one.class !== "noise");
  const waiting = left + Number(memberAt(board, "left") ?? 0);
  const headline = headlineOf(countClasses(judged.map((one) => one.class)), failed);
  const lines = [
    ...told.slice(0, MOST_LINES).map(({ item, class: name }) => lineOf(item, name, links)),
    ...(told.length > MOST_LINES ? [`and ${told.length - MOST_LINES} more`] : []),
    ...(waiting > 0 ? [`${waiting} left for the next run`] : []),
    ...gaps.map((gap) => shortText(plainLine(String(gap)), MOST_LINE)),
  ];
  const [step] = told.flatMap(({ item }) => textAt(item, "data", "results", "investigate", "next_step") ?? []);
  const verdict = judged.length > 0 ? "changed" : failed + gaps.length > 0 ? "inconclusive" : "nothing_new";
  const text = shortText([headline, ...lines].join("\n"), MOST_TEXT);
  return { verdict, headline, lines, first_step: step ? plainLine(step) : null, text };
}

function listAt(value: JsonObject, key: string): readonly Json[] {
  const found = memberAt(value, key);
  return Array.isArray(found) ? (found as Json[]) : [];
}

export function classOf(data: unknown): string {
  return shortText(textAt(data, "verdict") ?? "judged", 60);
}

function lineOf(item: Json, name: string, links: ReadonlyMap<string | undefined, string | undefined>): string {
  const key = textAt(item, "key") ?? "";
  const results = memberAt(item, "data", "results");
  const sorted = textAt(results, "sort", "harm") ?? textAt(results, "sort", "why");
  const claims = memberAt(results, "investigate", "claims");
  const isShown = Array.isArray(claims) && claims.some((claim) => memberAt(claim, "supported") !== false);
  const cause = isShown ? textAt(results, "investigate", "cause") : undefined;
  const duplicate = textAt(results, "duplicates", "duplicate");
  const filed = memberAt(results, "file", "issue") !== undefined ? "an issue is filed or planned" : undefined;
  const known = isAddress(duplicate) ? `known as ${duplicate}` : undefined;
  const link = links.get(key);
  const told = [sorted, cause, known ?? filed].flatMap((part) => (part === undefined ? [] : [linklessLine(part)]));
  const line = `${plainLine(key)}, ${name.replaceAll("_", " ")}: ${told.join("; ")}`;
  return isAddress(link) ? `${shortText(line, MOST_LINE - link.length - 1)} ${link}` : shortText(line, MOST_LINE);
}

/** Formats the counts: `3 actionable, 2 noise`. */
export function headlineOf(counts: Readonly<Record<string, number>>, failed: number): string {
  const told = Object.entries(counts).map(([name, count]) => `${count} ${name.replaceAll("_", " ")}`);
  const all = [...told, ...(failed === 0 ? [] : [`${failed} failed`])];
  return all.length === 0 ? "Nothing new" : all.join(", ");
}

/** Common classes, most urgent first. */
const ORDER = ["needs_person", "actionable", "incident", "watch", "known", "noise"];

/** Returns the place of a class in the order of urgency. Unknown ones come after incidents. */
export function rankOf(name: string): number {
  return ORDER.includes(name) ? ORDER.indexOf(name) : 2.5;
}

export function countClasses(classes: readonly string[]): Record<string, number> {
  const counts = [...groupBy(classes, (name) => name)].map(([name, same]) => [name, same.length] as const);
  return Object.fromEntries(counts.sort(([a], [b]) => rankOf(a) - rankOf(b) || a.localeCompare(b)));
}
