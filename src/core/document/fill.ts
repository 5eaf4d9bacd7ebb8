import { followPath } from "../base/path.ts";
import { isObject, type Json, type JsonObject } from "../base/values.ts";

/** Templates in `with`: `{{path}}` in a string is replaced by the value at that path of the context. */

const PART = /\{\{\{\{|\{\{([^{}]*)\}\}/g;
const INDEX = /\[(\d+)\](?=\.|$)/g;

/** Fills in all values, or returns the first problem: `with.x: a.b is missing`. */
export function fillIn(
  fields: JsonObject,
  root: JsonObject,
): { readonly values: JsonObject } | { readonly problem: string } {
  const problems: string[] = [];
  const values = Object.fromEntries(
    Object.entries(fields).map(([name, value]): [string, Json] => [
      name,
      fillValue(value, root, (problem) => problems.push(`with.${name}: ${problem}`)),
    ]),
  );
  const [problem] = problems;
  return problem === undefined ? { values } : { problem };
}

/** Returns the paths in a value's strings, as written. */
export function pathsIn(value: Json): string[] {
  if (typeof value === "string") return [...value.matchAll(PART)].flatMap(([, path]) => path?.trim() ?? []);
  if (Array.isArray(value)) return value.flatMap(pathsIn);
  return isObject(value) ? Object.values(value as JsonObject).flatMap(pathsIn) : [];
}

type Refuse = (problem: string) => void;

function fillValue(value: Json, root: JsonObject, refuse: Refuse): Json {
  if (typeof value === "string") return fillText(value, root, refuse);
  if (Array.isArray(value)) return value.map((item) => fillValue(item, root, refuse));
  if (!isObject(value)) return value;
  const members = Object.entries(value as JsonObject);
  return Object.fromEntries(members.map(([key, member]) => [key, fillValue(member, root, refuse)]));
}

/** Fills in a string once. Templates in inserted values are not expanded. */
function fillText(text: string, root: JsonObject, refuse: Refuse): Json {
  const lone = /^\{\{([^{}]*)\}\}$/.exec(text)?.[1];
  if (lone !== undefined) return valueAt(lone.trim(), root, refuse);
  return text.replace(PART, (whole, path: string | undefined) => {
    if (path === undefined) return whole === "{{{{" ? "{{" : whole;
    const value = valueAt(path.trim(), root, refuse);
    return typeof value === "string" ? value : JSON.stringify(value);
  });
}

function valueAt(path: string, root: JsonObject, refuse: Refuse): Json {
  const found = followIndexed(path, root);
  if (Array.isArray(found)) return path.includes("[*]") ? found : (found[0] ?? null);
  refuse(`{{${path}}}: ${(found as Missing).missing}`);
  return null;
}

interface Missing {
  readonly missing: string;
}

/** Returns the values at a path whose segments may end in `[n]`, counted from 0. */
function followIndexed(path: string, root: JsonObject): readonly Json[] | Missing {
  const [first = "", ...others] = path.split(INDEX);
  let found = followPath(first, root);
  let place = first;
  for (let at = 0; at < others.length; at += 2) {
    const [index = "", rest = ""] = others.slice(at);
    found = followEach(found, (value) => elementOf(value, Number(index), place));
    place += `[${index}]${rest}`;
    if (rest !== "") found = followEach(found, (value) => followPath(`item${rest}`, { item: value }));
  }
  return found;
}

function followEach(
  values: readonly Json[] | Missing,
  follow: (value: Json) => readonly Json[] | Missing,
): readonly Json[] | Missing {
  if ("missing" in values) return values;
  const found: Json[] = [];
  for (const value of values) {
    const next = follow(value);
    if ("missing" in next) return next;
    for (const each of next) found.push(each);
  }
  return found;
}

function elementOf(list: Json, index: number, place: string): readonly Json[] | Missing {
  if (!Array.isArray(list)) return { missing: `${place} is not an array` };
  const element = (list as readonly Json[])[index];
  return element === undefined ? { missing: `${place} has no element ${index}` } : [element];
}
