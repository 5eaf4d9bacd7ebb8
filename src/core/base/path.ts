import { isObject, type Json } from "./values.ts";

/** A parsed path: `[all:|any:]segment(.segment)*`. Each segment is an identifier that may end in `[*]`. */
export interface Path {
  readonly quantifier: "all" | "any";
  readonly segments: readonly Segment[];
}

interface Segment {
  readonly key: string;
  readonly each: boolean;
}

/** Describes the segment that does not exist. */
export interface Missing {
  readonly missing: string;
}
type Found = { readonly value: unknown } | Missing;

const SEGMENT_TEXT = "[A-Za-z_][A-Za-z0-9_-]*(?:\\[\\*\\])?";
export const PATH_PATTERN = new RegExp(`^(?:(?:all|any):)?${SEGMENT_TEXT}(?:\\.${SEGMENT_TEXT})*$`);
const SEGMENT = /^([A-Za-z_][A-Za-z0-9_-]*)(\[\*\])?$/;

export function parsePath(text: string): Path | undefined {
  const prefix = /^(all|any):/.exec(text);
  const segments: Segment[] = [];
  for (const part of text.slice(prefix?.[0].length ?? 0).split(".")) {
    const match = SEGMENT.exec(part);
    if (!match?.[1]) return undefined;
    segments.push({ key: match[1], each: match[2] !== undefined });
  }
  return { quantifier: prefix?.[1] === "any" ? "any" : "all", segments };
}

/** Returns the values. With `any:`, elements can be missing one by one. */
function resolvePath(path: Path, value: unknown): readonly Found[] | Missing {
  let found: Found[] = [{ value }];
  let place = "";
  for (const { key, each } of path.segments) {
    place = place === "" ? key : `${place}.${key}`;
    found = found.flatMap((item) => ("missing" in item ? [item] : follow(item.value, key, each, place)));
    if (each) place += "[*]";
  }
  if (path.quantifier === "all" || !path.segments.some((segment) => segment.each)) {
    const miss = found.find((item) => "missing" in item);
    if (miss) return miss;
  }
  return found;
}

function follow(value: unknown, key: string, each: boolean, place: string): Found[] {
  if (value === null) return [{ missing: `${place}: its parent is null` }];
  if (!isObject(value) || !Object.hasOwn(value, key)) return [{ missing: `${place} is missing` }];
  const next = value[key];
  if (!each) return [{ value: next }];
  if (!Array.isArray(next)) return [{ missing: `${place} is not an array` }];
  return next.map((item) => ({ value: item }));
}

/** Returns the values at a path. With `any:`, elements without a value are left out. */
export function followPath(text: string, root: Json): readonly Json[] | Missing {
  const path = parsePath(text);
  if (!path) return { missing: `${text} is not a path` };
  const resolved = resolvePath(path, root);
  if ("missing" in resolved) return resolved;
  return resolved.flatMap((found) => ("missing" in found ? [] : [found.value as Json]));
}

/** Returns the value at a path, or the list of several. Undefined if there is none. */
export function valueAtPath(text: string, root: Json): Json | undefined {
  const found = followPath(text, root);
  if ("missing" in found) return undefined;
  return found.length === 1 ? found[0] : [...found];
}

/** Checks that all values at a path pass a test, or at least one with `any:`. Returns the reason if they do not. */
export function checkPath(
  text: string,
  root: unknown,
  test: (value: unknown) => string | undefined,
): string | undefined {
  const path = parsePath(text);
  if (!path) return `${text} is not a path`;
  const resolved = resolvePath(path, root);
  if ("missing" in resolved) return resolved.missing;
  const complaints = resolved.map((found) => ("missing" in found ? found.missing : test(found.value)));
  if (path.quantifier === "all") return complaints.find((complaint) => complaint !== undefined);
  if (complaints.includes(undefined)) return undefined;
  return complaints[0] ?? `${text}: the list is empty`;
}
