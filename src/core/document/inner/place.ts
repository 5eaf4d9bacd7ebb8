import type { Workflow } from "../workflow/workflow.ts";

/** Location of an inner run: the nodes that lead to it, outermost first, with item keys. */

/** Inner workflows, by the path of their node: `each`, `top/each`. Inline workflows may be missing. */
export type InnerWorkflows = ReadonlyMap<string, { readonly workflow: Workflow }>;

/** Returns the location of a map's item (`each[fp-81]`) or a call (`ask`), prefixed by the outer location. */
export function placeOf(outer: string | undefined, node: string, key: string | undefined): string {
  const own = key === undefined ? node : `${node}[${encodeKey(key)}]`;
  return outer === undefined ? own : `${outer}/${own}`;
}

/** Percent-encodes the characters of a key that would end it or split a path. */
export function encodeKey(key: string): string {
  return key.replace(/[%\]/\p{Cc}]/gu, (character) => (character === "]" ? "%5D" : encodeURIComponent(character)));
}

/** Removes the keys from a location, which gives the path of the inner document, such as `top/each`. */
export function documentOf(place: string): string {
  return place.replace(/\[[^\]]*(?:\]|$)/g, "");
}

/** Returns the path of the node that a location is inside: it lacks the last key, which may contain "[". */
export function nodeOf(place: string): string {
  const last = place.lastIndexOf("/") + 1;
  return place.slice(0, last) + place.slice(last).replace(/\[.*$/s, "");
}

/** Returns a node's path for messages and `signal`, such as `look` or `each[fp-81]/look`. */
export function nodePath(at: string | undefined, node: string): string {
  return at === undefined ? node : `${at}/${node}`;
}
