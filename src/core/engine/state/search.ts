import { isObject, jsonOnce } from "../../base/values.ts";
import type { StateEntry } from "../event/record.ts";
import { byLastSeen } from "./entries.ts";

/** Search in a state, by key and then by words. It uses no embeddings, so the same query has the same result. */

export const DEFAULT_FOUND = 10;

/**
 * Ranks entries: exact key or `data.fingerprint` first, then prefixes, then word matches. Rare words count more, and
 * words in the key count most. Without a text, returns the most recently seen entries.
 */
export function searchEntries(
  entries: readonly StateEntry[],
  { text = "", limit = DEFAULT_FOUND }: { readonly text?: string | undefined; readonly limit?: number | undefined },
): { readonly found: readonly StateEntry[]; readonly total: number } {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return { found: [...entries].sort(byLastSeen).slice(0, limit), total: entries.length };
  const weigh = weigher(entries, wordsOf(wanted));
  const ranked = entries
    .map((entry) => ({ entry, rank: rankOf(entry, wanted), weight: weigh(entry) }))
    .filter(({ rank, weight }) => rank > 0 || weight > 0)
    .sort((a, b) => b.rank - a.rank || b.weight - a.weight || byLastSeen(a.entry, b.entry));
  return { found: ranked.slice(0, limit).map(({ entry }) => entry), total: ranked.length };
}

function rankOf({ key, data }: StateEntry, wanted: string): number {
  const name = key.toLowerCase();
  const fingerprint = isObject(data) && typeof data.fingerprint === "string" ? data.fingerprint.toLowerCase() : "";
  if (name === wanted || fingerprint === wanted) return 2;
  return name.startsWith(wanted) || fingerprint.startsWith(wanted) ? 1 : 0;
}

const MOST_WORDS = 32;

function wordsOf(text: string): string[] {
  const words = text.match(/[\p{L}\p{N}]+/gu) ?? [];
  return [...new Set(words.filter((word) => word.length > 1))].slice(0, MOST_WORDS);
}

const KEY_WEIGHT = 3;

function weigher(entries: readonly StateEntry[], words: readonly string[]): (entry: StateEntry) => number {
  /** Weights of the words that each entry contains. Entries without any are left out. */
  const held = new Map<StateEntry, readonly number[]>();
  const holders = words.map(() => 0);
  for (const entry of words.length === 0 ? [] : entries) {
    const [key, data] = [entry.key.toLowerCase(), dataText(entry)];
    const weights = words.map((word) => (key.includes(word) ? KEY_WEIGHT : data.includes(word) ? 1 : 0));
    if (weights.some((weight) => weight > 0)) held.set(entry, weights);
    for (const [index, weight] of weights.entries()) if (weight > 0) holders[index] = (holders[index] ?? 0) + 1;
  }
  const rarity = holders.map((count) => Math.log(1 + entries.length / (count + 1)));
  return (entry) => (held.get(entry) ?? []).reduce((sum, weight, index) => sum + weight * (rarity[index] ?? 0), 0);
}

function dataText({ data }: StateEntry): string {
  return (typeof data === "object" && data !== null ? jsonOnce(data) : String(data)).toLowerCase();
}
