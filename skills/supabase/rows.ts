import type { Json } from "skillflow";
import { clip, jsonSize } from "skillflow/internal";

const MOST_BYTES = 18_000;
const CELL_CAPS = [12_000, 4_000, 1_500, 500, 150] as const;
const LAST_CAP = 2_500;

/** Servers do not limit responses to fewer rows than this, so a shorter one is complete. */
const LEAST_MAX_ROWS = 10;

/**
 * Checks whether the server's `max-rows` cut a response, which it does without a mark: reads the row behind the last.
 * Returns true if that fails.
 */
export async function isCutAt(count: number, next: () => Promise<{ readonly data: Json }>): Promise<boolean> {
  if (count < LEAST_MAX_ROWS) return false;
  const behind = await next().catch(() => undefined);
  return behind === undefined || rowsOf(behind.data).length > 0;
}

export function rowsOf(data: Json): readonly Readonly<Record<string, Json>>[] {
  if (Array.isArray(data)) return data as readonly Readonly<Record<string, Json>>[];
  throw new Error("Supabase's response has no rows. Check SUPABASE_URL.");
}

/** Returns as many rows as fit, from the first. Cuts long cells, with a mark, before it leaves rows out. */
export function fitRows(rows: readonly Json[]) {
  for (const cap of CELL_CAPS) {
    const shown = rows.map((row) => withShortCells(row, cap));
    if (jsonSize(shown) <= MOST_BYTES) return { rows: shown, leftOut: 0 };
  }
  const shown = fitting(rows);
  return { rows: shown, leftOut: rows.length - shown.length };
}

function fitting(rows: readonly Json[]): readonly Json[] {
  const shown: Json[] = [];
  let room = MOST_BYTES;
  for (const row of rows) {
    const short = withShortCells(row, CELL_CAPS[CELL_CAPS.length - 1] ?? 0);
    room -= jsonSize(short) + 1;
    if (room < 0 && shown.length > 0) return shown;
    shown.push(room < 0 ? clip(JSON.stringify(row), LAST_CAP) : short);
  }
  return shown;
}

function withShortCells(row: Json, cap: number): Json {
  if (typeof row !== "object" || row === null || Array.isArray(row)) return shortCell(row, cap);
  return Object.fromEntries(Object.entries(row).map(([column, cell]) => [column, shortCell(cell, cap)]));
}

/** Cuts a cell. A long nested value becomes text, so that the cut can be marked. */
function shortCell(cell: Json, cap: number): Json {
  if (typeof cell === "string") return clip(cell, cap);
  if (typeof cell !== "object" || cell === null || jsonSize(cell) <= cap) return cell;
  return clip(JSON.stringify(cell), cap);
}
