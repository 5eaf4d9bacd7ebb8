import { followPath, type Missing } from "../base/path.ts";
import { isObject, isTexts, type Json, type JsonObject, mapStrings, stringsIn } from "../base/values.ts";

/** Templates in `with`: `{{path}}` in a string is replaced by the value at that path of the context. */

const PART = /\{\{\{\{|\{\{([^{}]*)\}\}/g;
const LONE = /^\{\{([^{}]*)\}\}$/;
const INDEX = /\[(\d+)\](?=\.|$)/g;

/**
 * Fills in all values, or returns the first problem: `with.x: a.b is missing`. A member written `name?` is left out if its
 * path does not resolve.
 */
export function fillIn(
  fields: JsonObject,
  root: JsonObject,
): { readonly values: JsonObject } | { readonly problem: string } {
  const problems: string[] = [];
  const members = Object.entries(fields).flatMap(([name, value]) => {
    const resolve = (path: string) => valueAt(path, root, (problem) => problems.push(`with.${name}: ${problem}`));
    return Object.entries(fill({ [name]: value }, "", { problems, resolve }) as JsonObject);
  });
  const values = Object.fromEntries(members);
  const [problem] = problems;
  return problem === undefined ? { values } : { problem };
}

interface Filling {
  readonly problems: string[];
  /** Returns the value at the path of a template in the string at `place`. */
  readonly resolve: (path: string, place: string) => Json;
}

/** Fills in a value. Optional members whose path does not resolve are left out, with their problems. */
function fill(value: Json, place: string, filling: Filling): Json {
  if (typeof value === "string") return fillText(value, (path) => filling.resolve(path, place));
  if (Array.isArray(value)) return value.map((item, index) => fill(item, `${place}[${index}]`, filling));
  if (!isObject(value)) return value;
  const { problems } = filling;
  const members = Object.entries(value as JsonObject).flatMap(([name, member]): [string, Json][] => {
    const before = problems.length;
    const filled = fill(member, `${place}.${name}`, filling);
    if (isOptionalMember(name, member) && problems.splice(before).length > 0) return [];
    return [[memberName(name, member), filled]];
  });
  return Object.fromEntries(members);
}

/** Input of a step: as it is sent, and as it is planned, where inserted text cannot contain references. */
interface FilledStep {
  readonly values: JsonObject;
  readonly planned: JsonObject;
  /** Whether it refers to the result of a planned operation. */
  readonly refers: boolean;
}

/** Path into the output of a step, not of the whole output: steps.ID.FIELD or NODE.ID.FIELD. */
const IN_OUTPUT = /^[^.]+\.[^.]+\./;

interface StepRoots {
  readonly root: JsonObject;
  /** References such as `${op-1.url}` at the places of values that are only known later. They go before `root`. */
  readonly references: JsonObject;
}

/**
 * Fills in the input of a step. A member written `name?` is left out if its path does not resolve. Returns the first
 * problem otherwise: `with.x: a.b does not resolve`.
 */
export function fillStep(fields: JsonObject, roots: StepRoots): FilledStep | { readonly problem: string } {
  const problems: string[] = [];
  const found = { refers: false };
  const resolving = (keep: (value: Json) => Json) => (path: string, place: string) => {
    const reference = IN_OUTPUT.test(path) ? followIndexed(path, roots.references) : undefined;
    // A path with `any:` resolves to no value where nothing was planned.
    if (!Array.isArray(reference) || reference.length === 0) {
      return keep(valueAt(path, roots.root, () => problems.push(`${place}: ${path} does not resolve`)));
    }
    found.refers = true;
    return (reference as readonly Json[])[0] ?? null;
  };
  const fillAs = (keep: (value: Json) => Json) => fill(fields, "with", { problems, resolve: resolving(keep) });
  const values = fillAs((value) => value) as JsonObject;
  // Inserted text is escaped, so that a plan reads its `${` as text.
  const planned = fillAs((value) => mapStrings(value, (text) => text.replaceAll("${", () => "$${"))) as JsonObject;
  const [problem] = problems;
  return problem === undefined ? { values, planned, ...found } : { problem };
}

/** Part of a key's template that gives the UTC day of a time. */
const DAY = ":day";

/** Returns the paths of a key: those of its templates, or the key itself. */
export function pathsInKey(key: string): string[] {
  return key.includes("{{") ? pathsIn(key).map((path) => path.replace(/:day$/, "")) : [key];
}

/** Returns the text of a key, a path or a template, or undefined if a part of it is not a text, number or boolean. */
export function fillKey(key: string, root: JsonObject): string | undefined {
  let isWhole = true;
  const text = (key.includes("{{") ? key : `{{${key}}}`).replace(PART, (whole, part: string | undefined) => {
    if (part === undefined) return whole === "{{{{" ? "{{" : whole;
    const path = part.trim();
    const isDay = path.endsWith(DAY);
    const found = followIndexed(isDay ? path.slice(0, -DAY.length) : path, root);
    const [value = null] = Array.isArray(found) ? (found as readonly Json[]) : [];
    const shown = isDay ? dayOf(value) : typeof value === "object" ? "" : String(value);
    isWhole &&= shown !== "";
    return shown;
  });
  return isWhole ? text : undefined;
}

/** Returns the UTC day of an ISO 8601 time, or an empty string. A time without a zone is UTC. */
function dayOf(value: Json): string {
  const [time, zone] = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d[\d:.]*(Z|[+-]\d\d:?\d\d)?)?$/.exec(String(value)) ?? [];
  const at = time === undefined ? Number.NaN : Date.parse(zone || time.length === 10 ? time : `${time}Z`);
  return Number.isNaN(at) ? "" : new Date(at).toISOString().slice(0, 10);
}

/** Checks for a member such as `title?: "{{finding.title}}"`. */
export function isOptionalMember(name: string, member: Json): member is string {
  return name.endsWith("?") && typeof member === "string" && LONE.test(member);
}

/** Returns the name of a member as it is filled in: `title` for `title?`. */
export function memberName(name: string, member: Json): string {
  return isOptionalMember(name, member) ? name.slice(0, -1) : name;
}

export function pathsIn(value: Json): string[] {
  return stringsIn(value).flatMap((text) => [...text.matchAll(PART)].flatMap(([, path]) => path?.trim() ?? []));
}

/** Returns the strings of a value that have a template which is not closed. They would be passed on as written. */
export function unclosedIn(value: Json): string[] {
  return stringsIn(value).filter((text) => text.replace(PART, "").includes("{{"));
}

/** Fills in a string once. Templates in inserted values are not expanded. A list of strings on its own line gets bullets. */
function fillText(text: string, resolve: (path: string) => Json): Json {
  const lone = LONE.exec(text)?.[1];
  if (lone !== undefined) return resolve(lone.trim());
  return text.replace(PART, (whole, path: string | undefined, at: number) => {
    if (path === undefined) return whole === "{{{{" ? "{{" : whole;
    const value = resolve(path.trim());
    if (typeof value === "string") return value;
    const isLine = [text[at - 1], text[at + whole.length]].every((next = "\n") => next === "\n");
    return isLine && isTexts(value) ? bulletsOf(value) : JSON.stringify(value);
  });
}

const bulletsOf = (items: readonly string[]) =>
  items.length === 0 ? "none" : items.map((item) => `- ${item.replace(/\r\n?|\n/g, "\n  ")}`).join("\n");

function valueAt(path: string, root: JsonObject, refuse: (problem: string) => void): Json {
  const found = followIndexed(path, root);
  if (Array.isArray(found)) return path.includes("[*]") ? found : (found[0] ?? null);
  refuse(`{{${path}}}: ${(found as Missing).missing}`);
  return null;
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
