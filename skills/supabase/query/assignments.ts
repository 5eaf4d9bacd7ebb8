import { type Json, type JsonObject, NothingDone } from "skillflow";
import { jsonSize } from "skillflow/internal";
import * as z from "zod";
import { parseName } from "./columns.ts";

/** Cells by column name: string, number, boolean or null, and lists and objects for array and json columns. */
export const row = z.record(z.string().min(1).max(100), z.unknown());

export const args = row.optional().describe("By name.");

/** Returns the row to write. Its keys must be plain column names. */
export function rowOf(given: z.infer<typeof row>): JsonObject {
  const cells = Object.entries(given).map(([name, value]) => [parseName(name), value as Json] as const);
  const names = cells.map(([name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new NothingDone(`"${twice}" is given twice.`);
  if (cells.length > MOST_CELLS) throw new NothingDone(`A row may have at most ${MOST_CELLS} cells.`);
  return Object.fromEntries(cells);
}

const MOST_CELLS = 60;
const LARGEST_BODY = 200_000;

/** Throws if a body is too large for one request. */
export function bounded<Body extends Json>(body: Body): Body {
  if (jsonSize(body) <= LARGEST_BODY) return body;
  throw new NothingDone(`This is more than ${LARGEST_BODY} bytes. Write less at a time. Nothing was changed.`);
}
