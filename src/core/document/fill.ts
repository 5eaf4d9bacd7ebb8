import { followPath } from "../base/path.ts";
import { isObject, type Json, type JsonObject } from "../base/values.ts";

/** What `with` hands to an inner run: `{{path}}` in its texts stands for what is at that path of the context (extensions G20). */

const PART = /\{\{\{\{|\{\{([^{}]*)\}\}/g;
const INDEX = /\[(\d+)\](?=\.|$)/g;

/** The values filled in, or what is wrong: `with.x: a.b is missing`. */
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

/** The paths that a value's texts name, as written. */
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

/** What was filled in is never read again. */
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

/** The values at a path of which a segment may end in `[n]`, from 0. */
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
  if (!Array.isArray(list)) return { missing: `${place} is no array` };
  const element = (list as readonly Json[])[index];
  return element === undefined ? { missing: `${place} has no element ${index}` } : [element];
}
