import { shortText } from "../../base/preview.ts";
import { isObject, type Json, type JsonObject, type JsonSchema, mapStrings, stringsIn } from "../../base/values.ts";

/** References in an operation's input to results of earlier operations: `${op-3.url}`. */

const REFERENCE = /\$(\$\{)|\$\{(op-\d+)((?:\.[^.[\]{}]+|\[\d+\])*)\}/g;
const LONE = String.raw`^\$\{op-\d+(?:\.[^.[\]{}]+|\[\d+\])*\}$`;
const WITHIN = String.raw`(?:^|[^$])\$\{op-\d+(?:\.[^.[\]{}]+|\[\d+\])*\}`;
const isLone = new RegExp(LONE);

/** Returns the distinct operations that an input refers to, in order of appearance. */
export function referencesIn(input: Json): string[] {
  const found = stringsIn(input).flatMap((text) => [...text.matchAll(REFERENCE)].flatMap(([, , id]) => id ?? []));
  return [...new Set(found)];
}

type Lookup = (operation: string) => Json | undefined;

/** Replaces the references in an input. `insert` changes the inserted text, which is not searched for references. */
export function fillReferences(
  input: Json,
  resultOf: Lookup,
  insert = (text: string) => text,
): { readonly input: Json } | { readonly missing: readonly string[] } {
  const missing: string[] = [];
  const resolve = (written: string, id: string, path: string): Json => {
    const value = valueAt(resultOf(id), path);
    if (value === undefined) missing.push(written);
    return value ?? null;
  };
  const filled = mapStrings(input, (text) => fillText(text, resolve, insert));
  return missing.length === 0 ? { input: filled } : { missing: [...new Set(missing)] };
}

/**
 * Replaces the references in a text by words for readers: `⟨link after apply: op-3⟩`. `resultOf` is for the texts of
 * operations: known results are inserted, and escapes are shown as they are sent.
 */
export function describeReferences(text: string, resultOf?: Lookup): string {
  return text.replace(REFERENCE, (written, escaped: string | undefined, id = "", path = "") => {
    if (escaped) return resultOf ? "${" : written;
    const value = valueAt(resultOf?.(id), path);
    if (value !== undefined) return shortText(typeof value === "string" ? value : JSON.stringify(value), MOST_SHOWN);
    const what = path.slice(1).replace(/^(?:html_)?url$/, "link") || "result";
    return `⟨${what} after apply: ${id}⟩`;
  });
}

/** Length limit of a result that is shown instead of a reference. */
const MOST_SHOWN = 200;

/** Replaces references in a string. A reference on its own keeps its type, and `$${` escapes `${`. */
function fillText(
  text: string,
  resolve: (written: string, id: string, path: string) => Json,
  insert: (text: string) => string,
): Json {
  const [lone] = isLone.test(text) ? text.matchAll(REFERENCE) : [];
  if (lone) {
    const value = resolve(text, lone[2] ?? "", lone[3] ?? "");
    return typeof value === "string" ? insert(value) : value;
  }
  return text.replace(REFERENCE, (written, escaped: string | undefined, id = "", path = "") => {
    if (escaped) return "${";
    const value = resolve(written, id, path);
    return insert(typeof value === "string" ? value : JSON.stringify(value));
  });
}

function valueAt(value: Json | undefined, path: string): Json | undefined {
  const steps = [...path.matchAll(/\.([^.[\]{}]+)|\[(\d+)\]/g)].map(([, key, index]) => key ?? index ?? "");
  let found = value;
  for (const step of steps) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, step)) return undefined;
    if (Array.isArray(found) && !/^\d+$/.test(step)) return undefined; // rejects the length of an array
    found = (found as Readonly<Record<string, Json>>)[step];
  }
  return found;
}

const MAPS = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
const LISTS = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];
const SINGLE = [
  ...["items", "additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties"],
  ...["contains", "then", "else"],
];
const OF_TEXT = ["pattern", "format", "minLength", "maxLength", "contentEncoding", "contentMediaType"];

/**
 * Relaxes the subschemas of a schema so that inputs with open references are valid. A lone reference matches anything. One
 * inside a string satisfies any pattern, format or length. `oneOf` becomes `anyOf`, because a reference can match several.
 */
export function admitReferences(schema: JsonSchema): JsonSchema {
  const changed: Record<string, Json> = {};
  for (const [key, value] of Object.entries(schema)) {
    if (MAPS.includes(key) && isObject(value)) {
      const members = Object.entries(value as JsonObject).map(([name, member]) => [name, admitting(member)]);
      changed[key] = Object.fromEntries(members) as JsonObject;
    } else if (LISTS.includes(key) && Array.isArray(value)) {
      const members = value.map(admitting);
      if (key === "oneOf") changed.allOf = [...((changed.allOf as Json[]) ?? []), { anyOf: members }];
      else changed[key] = key === "allOf" ? [...((changed.allOf as Json[]) ?? []), ...members] : members;
    } else if (SINGLE.includes(key)) changed[key] = admitting(value);
    else changed[key] = value;
  }
  return changed;
}

function admitting(schema: Json): Json {
  if (!isObject(schema)) return schema;
  const relaxed = Object.entries(admitReferences(schema as JsonSchema));
  const ofText = relaxed.filter(([key]) => OF_TEXT.includes(key));
  const rest = Object.fromEntries(relaxed.filter(([key]) => !OF_TEXT.includes(key))) as JsonSchema;
  const isPart = { type: "string", pattern: WITHIN };
  const whole = ofText.length === 0 ? rest : { allOf: [rest, { anyOf: [isPart, Object.fromEntries(ofText)] }] };
  return { anyOf: [{ type: "string", pattern: LONE }, whole as Json] };
}
