import { type Json, jsonSize } from "skillflow";
import * as z from "zod";
import { parseName } from "./columns.ts";

const scalar = z.union([z.string().max(20_000), z.number(), z.boolean(), z.null()]);

const value = z.union([scalar, z.array(scalar).max(100)]).optional();

const json = z.string().min(1).max(20_000).optional().describe("In place of value, for a json column: JSON as text.");

/** A row to write, as a list: an object with any keys is an input that strict providers refuse. */
export const assignments = z
  .array(z.strictObject({ column: z.string().min(1).max(100), value, json }))
  .min(1)
  .max(60)
  .describe("Cells.");

export const args = z
  .array(z.strictObject({ name: z.string().min(1).max(100), value, json }))
  .max(30)
  .optional();

type Cells = Record<string, Json>;

export function rowOf(list: z.infer<typeof assignments>): Cells {
  return cellsOf(list.map(({ column, ...given }) => ({ name: parseName(column), ...given })));
}

export function argsOf(list: z.infer<typeof args> = []): Cells {
  return cellsOf(list.map(({ name, ...given }) => ({ name: parseName(name), ...given })));
}

const LARGEST_BODY = 200_000;

/** What is too much for one request is refused before anything is sent. */
export function bounded<Body extends Json>(body: Body): Body {
  if (jsonSize(body) <= LARGEST_BODY) return body;
  throw new Error(`This is more than ${LARGEST_BODY} bytes: write less at a time. Nothing was changed.`);
}

interface Given {
  readonly name: string;
  readonly value?: Json | undefined;
  readonly json?: string | undefined;
}

function cellsOf(list: readonly Given[]): Cells {
  const names = list.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`"${twice}" is given twice.`);
  return Object.fromEntries(list.map((given) => [given.name, cellOf(given)]));
}

function cellOf({ name, value, json }: Given): Json {
  if ((value === undefined) === (json === undefined)) throw new Error(`"${name}" wants either value or json.`);
  if (json === undefined) return value ?? null;
  try {
    return JSON.parse(json) as Json;
  } catch (error) {
    throw new Error(
      `The json for "${name}" cannot be read: ${error instanceof Error ? error.message : String(error)}.`,
    );
  }
}
