import { followPath } from "../path.ts";
import { isObject, type Json, type JsonObject } from "../values.ts";

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

/** The first key of a path that may hold positions. */
export function rootIn(path: string): string | undefined {
  return /^[A-Za-z_][A-Za-z0-9_-]*/.exec(path.replace(/^(?:all|any):/, ""))?.[0];
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
  if ("problem" in found) {
    refuse(found.problem);
    return null;
  }
  return found.value;
}

/** A segment may end in `[n]`, from 0: the rest is followed from that element on. */
function followIndexed(path: string, root: Json): { readonly value: Json } | { readonly problem: string } {
  const [index] = path.matchAll(INDEX);
  if (!index) return followPlain(path, root, path);
  const before = path.slice(0, index.index);
  const list = followPlain(before, root, path);
  if ("problem" in list) return list;
  const position = Number(index[1]);
  const element = Array.isArray(list.value) ? (list.value as readonly Json[])[position] : undefined;
  if (element === undefined) {
    return { problem: Array.isArray(list.value) ? `${before} has no element ${position}` : `${before} is no array` };
  }
  const rest = path.slice(index.index + index[0].length);
  return rest === "" ? { value: element } : followIndexed(`item${rest}`, { item: element });
}

function followPlain(path: string, root: Json, whole: string): { readonly value: Json } | { readonly problem: string } {
  const found = followPath(path, root);
  if ("missing" in found) return { problem: `{{${whole}}}: ${found.missing}` };
  return { value: path.includes("[*]") ? [...found] : (found[0] ?? null) };
}
