import { followPath, valueAtPath } from "../../base/path.ts";
import type { Json, JsonObject } from "../../base/values.ts";
import type { MapSettings } from "../workflow/node.ts";
import { encodeKey } from "./place.ts";

/** Item of a list that a map runs or skips. */

export interface Chosen {
  readonly key: string;
  readonly index: number;
  readonly skipped_reason?: string;
  readonly error?: string;
  /** True if an earlier run has judged the item. */
  readonly seen?: true;
}

export interface Choice {
  readonly items: Chosen[];
  /** Number of items beyond `max_items`, which have no entry. */
  readonly left: number;
}

/** Returns reasons to skip items that were judged before, by key. */
export type Seen = (items: readonly { readonly key: string; readonly item: Json }[]) => ReadonlyMap<string, string>;

const USUAL_ITEMS = 100;
const LONGEST_KEY = 200;

export function mostItems({ max_items = USUAL_ITEMS }: Pick<MapSettings, "max_items">): number {
  return max_items;
}

export function chooseItems(map: MapSettings, list: readonly Json[], seen: Seen): Choice {
  const keyed = list.map((item, index) => ({ index, item, ...keyOf(map, item, index) }));
  const known = seen(keyed.flatMap(({ key, item, error }) => (error === undefined ? [{ key, item }] : [])));
  const taken = new Set<string>();
  const most = mostItems(map);
  let running = 0;
  const items = keyed.flatMap(({ key, index, error }): Chosen[] => {
    if (error !== undefined)
      return [{ key, index, ...(map.on_error === "skip" ? { skipped_reason: error } : { error }) }];
    const place = encodeKey(key);
    if (taken.has(place)) return [{ key, index, skipped_reason: `an earlier item has the key ${key}` }];
    taken.add(place);
    const reason = known.get(key);
    if (reason !== undefined) return [{ key, index, skipped_reason: reason, seen: true }];
    if (running >= most) return [];
    running += 1;
    return [{ key, index }];
  });
  return { items, left: list.length - items.length };
}

function keyOf({ key, as }: MapSettings, item: Json, index: number): { key: string; error?: string } {
  if (key === undefined) return { key: String(index) };
  const found = followPath(key, { [as]: item });
  const [value] = "missing" in found ? [] : found;
  if (value === undefined || value === null || value === "") {
    return { key: String(index), error: `it has no key: ${"missing" in found ? found.missing : key}` };
  }
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (text.length <= LONGEST_KEY) return { key: text };
  return { key: String(index), error: `its key is longer than ${LONGEST_KEY} characters` };
}

/** Returns the values that decide whether an item has changed, by path. */
export function valuesOf({ as, unseen }: MapSettings, item: Json): JsonObject {
  const paths = unseen?.unless_changed ?? [];
  return Object.fromEntries(paths.map((path) => [path, valueAtPath(path, { [as]: item }) ?? null]));
}

export function listAt(path: string, root: JsonObject): readonly Json[] | undefined {
  const found = followPath(path, root);
  if ("missing" in found) return undefined;
  if (path.includes("[*]")) return [...found];
  const [value] = found;
  return Array.isArray(value) ? value : undefined;
}
