import { clip } from "skillflow/internal";

/** JSON value of a cell, which Postgres sends as text. */
export type Value = string | number | boolean | null | object;

const BOOL = 16;
const BYTEA = 17;
const INTEGERS = new Set([20, 21, 23, 26]);
const FLOATS = new Set([700, 701]);
const DOCUMENTS = new Set([114, 3802]);

const LONGEST_CELL = 1500;

export function rowOf(
  row: readonly (string | null)[],
  fields: readonly { readonly dataTypeID: number }[],
): readonly Value[] {
  return row.map((cell, at) => valueOfCell(cell, fields[at]?.dataTypeID ?? 0));
}

function valueOfCell(cell: string | null, type: number): Value {
  if (cell === null) return null;
  if (type === BOOL) return cell === "t";
  if (type === BYTEA) return `(${Math.max(0, (cell.length - 2) / 2)} bytes)`;
  if (INTEGERS.has(type) || FLOATS.has(type)) return numberOf(cell);
  if (DOCUMENTS.has(type) && cell.length <= LONGEST_CELL) return JSON.parse(cell) as Value;
  return clip(cell, LONGEST_CELL);
}

/** Returns a number if JSON can represent it exactly. */
function numberOf(cell: string): number | string {
  const number = Number(cell);
  return Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number)) ? number : cell;
}
