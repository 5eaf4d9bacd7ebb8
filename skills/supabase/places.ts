import { NothingDone, type ToolContext } from "skillflow";
import { textLike } from "skillflow/internal";

/** Table, view or function in a schema. */
export interface Place {
  readonly schema: string;
  readonly name: string;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_$-]{0,62}$/;
// Such a name is always one path segment and one header value.
const PLACE = /^([A-Za-z_][A-Za-z0-9_$-]{0,62}\.)?[A-Za-z_][A-Za-z0-9_$-]{0,62}$/;
const MOST_NAMES_SHOWN = 30;

export const table = textLike(PLACE, 127).describe("name or schema.name");

export const functionName = textLike(PLACE, 127).describe("name or schema.name");

export const schemaName = textLike(NAME, 63).optional().describe("Default: the configured one.");

/** Returns a table that may be read. If a list is configured, the table must be on it. */
export function readable(text: string, context: ToolContext): Place {
  const place = placeOf(text, context);
  if (isReadable(place, context)) return place;
  throw new NothingDone(
    `${nameOf(place, context)} is not in SUPABASE_TABLES: ${namesOf(tablesOf(context) ?? [], context)}`,
  );
}

/** Returns a table that may be changed. It must be on the list. */
export function writable(text: string, context: ToolContext): Place {
  const place = placeOf(text, context);
  if (isWritable(place, context)) return place;
  const listed = tablesOf(context);
  throw new NothingDone(
    listed
      ? `${nameOf(place, context)} is not in SUPABASE_TABLES: ${namesOf(listed, context)}`
      : `${nameOf(place, context)} is read-only: SUPABASE_TABLES is not set, and only tables that it lists can be changed.`,
  );
}

/** Returns a function that may be called. It must be on the list, because functions can write anything. */
export function callable(text: string, context: ToolContext): Place {
  const place = placeOf(text, context);
  const listed = functionsOf(context);
  if (includes(listed, place)) return place;
  throw new NothingDone(
    listed.length === 0
      ? "No function can be called: SUPABASE_FUNCTIONS is not set."
      : `${nameOf(place, context)} is not in SUPABASE_FUNCTIONS: ${namesOf(listed, context)}`,
  );
}

export function isReadable(place: Place, context: ToolContext): boolean {
  const listed = tablesOf(context);
  return !listed || includes(listed, place);
}

export function isWritable(place: Place, context: ToolContext): boolean {
  return includes(tablesOf(context) ?? [], place);
}

export function isCallable(place: Place, context: ToolContext): boolean {
  return includes(functionsOf(context), place);
}

/** Returns the name to use in calls. */
export function nameOf({ schema, name }: Place, context: ToolContext): string {
  return schema === defaultSchema(context) ? name : `${schema}.${name}`;
}

export function defaultSchema({ config }: ToolContext): string {
  const schema = config["SUPABASE_SCHEMA"]?.trim() || "public";
  if (NAME.test(schema)) return schema;
  throw new NothingDone(`SUPABASE_SCHEMA "${schema.slice(0, 63)}" is not the name of a schema.`);
}

export function namesLike(name: string, names: readonly string[]): readonly string[] {
  const wanted = pairsOf(name);
  const likeness = (candidate: string) => {
    const pairs = pairsOf(candidate);
    return (2 * pairs.filter((pair) => wanted.includes(pair)).length) / (pairs.length + wanted.length);
  };
  const near = names.map((candidate) => ({ candidate, like: likeness(candidate) })).filter(({ like }) => like > 0.3);
  return near
    .sort((a, b) => b.like - a.like)
    .slice(0, 5)
    .map(({ candidate }) => candidate);
}

function pairsOf(name: string): readonly string[] {
  const text = `^${name.toLowerCase()}`;
  return Array.from({ length: text.length - 1 }, (_, at) => text.slice(at, at + 2));
}

function placeOf(text: string, context: ToolContext): Place {
  if (!PLACE.test(text)) throw new NothingDone(`"${text.slice(0, 127)}" is not a name. Write name or schema.name.`);
  const [first = "", second] = text.split(".");
  return second === undefined ? { schema: defaultSchema(context), name: first } : { schema: first, name: second };
}

function tablesOf(context: ToolContext): readonly Place[] | undefined {
  return listOf("SUPABASE_TABLES", context);
}

function functionsOf(context: ToolContext): readonly Place[] {
  return listOf("SUPABASE_FUNCTIONS", context) ?? [];
}

/** Returns the list, or undefined if none is configured. An invalid list is an error and never grants access. */
function listOf(field: "SUPABASE_TABLES" | "SUPABASE_FUNCTIONS", context: ToolContext): readonly Place[] | undefined {
  const text = context.config[field]?.trim();
  if (!text) return undefined;
  return text.split(",").map((part) => {
    const entry = part.trim();
    if (!PLACE.test(entry)) throw new NothingDone(`${field}: "${entry.slice(0, 127)}" is not a name or schema.name.`);
    return placeOf(entry, context);
  });
}

function includes(places: readonly Place[], { schema, name }: Place): boolean {
  return places.some((place) => place.schema === schema && place.name === name);
}

function namesOf(places: readonly Place[], context: ToolContext): string {
  const names = places.map((place) => nameOf(place, context));
  const more = names.length > MOST_NAMES_SHOWN ? ", …" : "";
  return `use ${names.slice(0, MOST_NAMES_SHOWN).join(", ")}${more}.`;
}
