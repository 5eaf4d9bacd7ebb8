import * as z from "zod";
import { PATH_PATTERN } from "../base/path.ts";
import { DURATION_PATTERN, type Json, type JsonObject, type JsonSchema, lazy } from "../base/values.ts";
import { AUDIENCES, CLOCKS, ORIGINS, SOURCES } from "./skill.ts";

/** Makes a documented field optional. A schema given as a function is built on first use. */
export function optional<Schema extends z.ZodType>(schema: Schema | (() => Schema), description: string) {
  const inner: z.ZodType = typeof schema === "function" ? z.lazy(schema) : schema;
  // Otherwise zod builds the schema of an absent field, to find out whether it has a default.
  if (typeof schema === "function") inner._zod.optin = undefined;
  const field = inner.optional();
  z.globalRegistry.add(field, { description }); // unlike `describe`, it copies no schema
  return field as z.ZodOptional<Schema>;
}

/** Schema of an object, created on first use from its fields. */
export function lazyObject<Shape extends z.ZodRawShape>(fields: () => Shape) {
  return lazy(() => z.object(fields()));
}

/** Like `lazyObject`, but without other fields. */
export function lazyStrictObject<Shape extends z.ZodRawShape>(fields: () => Shape) {
  return lazy(() => z.strictObject(fields()));
}

export const text = lazy(() => z.string().min(1));
/** String that matches a pattern. The message completes "FIELD ". */
export const matching = (pattern: RegExp, message: string) => z.string().regex(pattern, message);
export const flag = lazy(() => z.boolean());
export const positive = lazy(() => z.int().min(1));
export const strings = lazy(() => z.array(z.string()));
export const schemaObject = lazy((): z.ZodType<JsonSchema> => z.record(z.string(), z.json()));

export const durationSchema = lazy(() =>
  z
    .union([
      z.number().positive(),
      z.string().regex(DURATION_PATTERN, "is not a duration: use seconds, or 500ms, 90s, 10m, 2h, 14d"),
    ])
    .describe("Seconds, or 500ms, 90s, 10m, 2h, 14d"),
);

export const pathSchema = lazy(() =>
  z
    .string()
    .regex(PATH_PATTERN, "is not a path: [all:|any:]key(.key)*, where a key can end in [*]")
    .describe("Path: [all:|any:]segment(.segment)*, where a segment can end in [*]"),
);

export const writesMode = lazy(() => z.enum(["allow", "plan", "deny"]));

export const stringMap = lazy(() => z.record(z.string(), z.string()));

/** Like `lazyStrictObject`, but with at least one of the named fields. The published schema requires one, too. */
export function lazyAnyOf<Shape extends z.ZodRawShape>(names: readonly string[], fields: () => Shape) {
  const hasAny = (value: Readonly<Record<string, unknown>>) => names.some((name) => value[name] !== undefined);
  const message = `needs at least one of ${names.join(", ")}`;
  return lazy(() =>
    z
      .strictObject(fields())
      .refine(hasAny, message)
      .meta({ anyOf: anyRequired(names) }),
  );
}

/** Like `lazyStrictObject`, but with exactly one of the named fields. */
export function lazyOneOf<Shape extends z.ZodRawShape>(names: readonly string[], fields: () => Shape) {
  const isOne = (value: Readonly<Record<string, unknown>>) =>
    names.filter((name) => value[name] !== undefined).length === 1;
  const message = `needs exactly one of ${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
  return lazy(() =>
    z
      .strictObject(fields())
      .refine(isOne, message)
      .meta({ oneOf: anyRequired(names) }),
  );
}

function anyRequired(names: readonly string[]) {
  return names.map((name) => ({ required: [name] }));
}

export const json = lazy((): z.ZodType<Json> => z.json());
export const jsonObject = lazy((): z.ZodType<JsonObject> => z.record(z.string(), z.json()));

export const toolEffect = () => optional(z.enum(["read", "write"]), "Effect of a call (default write)");

export const toolReach = () => ({
  origin: optional(z.enum(ORIGINS), "Who writes the results (default stranger)"),
  audience: optional(z.enum(AUDIENCES), "Who can read the writes (default team)"),
  reads: optional(
    z.enum(SOURCES),
    "Whether the source is private. Defaults to private for skills of the category git, observability or tasks.",
  ),
});

export const toolFacts = () => ({
  targets: optional(strings(), "Input fields that choose where a write goes, such as repository or channel"),
  echoes: optional(
    strings(),
    "Result fields that repeat the call's own input, so that quotes of them are not evidence",
  ),
  selects: optional(strings(), "Input fields that narrow what a read returns, such as query"),
  clock: optional(
    z.enum(CLOCKS),
    "What a read returns: what happened in a time range, the state at the time of the call, or what time does not change",
  ),
  range: optional(timeRange(), "For `clock: range`: the input fields with the ends of the time range"),
});

const timeRange = () =>
  z.strictObject({
    from: optional(z.string(), "Field of the beginning"),
    to: optional(z.string(), "Field of the end"),
  });
