/** Where an inner run takes place: the nodes that lead to it, from the outermost, with the key of each item (extensions 7). */

/** `each[fp-81]` of a map's item, `ask` of a call; within another inner run behind its place: `top/each[fp-81]`. */
export function placeOf(outer: string | undefined, node: string, key: string | undefined): string {
  const own = key === undefined ? node : `${node}[${encodeKey(key)}]`;
  return outer === undefined ? own : `${outer}/${own}`;
}

/** Keys may hold anything: what would end them, or part a path, is percent-encoded. */
export function encodeKey(key: string): string {
  return key.replace(/[%\]/\p{Cc}]/gu, (character) => (character === "]" ? "%5D" : encodeURIComponent(character)));
}

/** The nodes of a place without its keys: what tells which document an inner run is of. `top/each` */
export function documentOf(place: string): string {
  return place.replace(/\[[^\]]*(?:\]|$)/g, "");
}

/** A node as people and `signal` name it: `look`, `each[fp-81]/look`. */
export function nodePath(at: string | undefined, node: string): string {
  return at === undefined ? node : `${at}/${node}`;
}
