import * as z from "zod";

/** The result of a measurement (`bench/results/NAME.json`), and calculations on it. */

/** The rounds in their order, or the reason why there are none. */
const cell = z.union([z.array(z.number()).min(1), z.string().min(1)]);

const promise = z.strictObject({
  most: z.number().optional(),
  least: z.number().optional(),
  /** If present, the promise is the ratio to this row of the same table. */
  of: z.string().optional(),
});

const row = z.strictObject({
  name: z.string().min(1),
  /** `limit`: the least that any program needs. Users cannot choose it. */
  kind: z.enum(["ours", "peer", "limit"]),
  /** Only rows that promise the same are compared. */
  group: z.string().optional(),
  cells: z.record(z.string(), cell),
  promises: z.record(z.string(), promise).optional(),
});

const column = z.strictObject({
  name: z.string().min(1),
  unit: z.string(),
  better: z.enum(["less", "more", "neither"]),
});

export const result = z
  .strictObject({
    schema: z.literal("skillflow.bench/1"),
    /** The name after `npm run bench --`. */
    name: z.string().regex(/^[a-z-]+$/),
    title: z.string().min(1),
    /** Describes what is measured, and its limits. */
    how: z.string().min(1),
    at: z.iso.datetime(),
    rounds: z.number().int().positive(),
    isThorough: z.boolean(),
    /** It counts, and measures no time: the load does not matter. */
    isCounted: z.literal(true).optional(),
    machine: z.strictObject({
      cpu: z.string(),
      cores: z.number().int(),
      memoryGb: z.number(),
      system: z.string(),
      node: z.string(),
      /** Running processes in the minute before the bench started. */
      load: z.number(),
    }),
    columns: z.array(column).min(1),
    rows: z.array(row).min(1),
  })
  .refine(({ columns, rows }) => rows.every(({ cells }) => columns.every(({ name }) => name in cells)), {
    error: "a row has no cell for a column",
  });

export type Result = z.infer<typeof result>;
export type Machine = Result["machine"];
export type Column = z.infer<typeof column>;
export type Row = z.infer<typeof row>;
export type Cell = z.infer<typeof cell>;

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low = Number.NaN, high = low] = sorted.slice(Math.ceil(middle) - 1, Math.floor(middle) + 1);
  return (low + high) / 2;
}

export function medianOf(row: Row | undefined, column: string): number | undefined {
  const cell = row?.cells[column];
  return cell === undefined || typeof cell === "string" ? undefined : median(cell);
}

/** Returns the ratio of two rows of one table, round by round if both have the same number of rounds, because noise affects both. */
export function relation(one: Cell | undefined, other: Cell | undefined): number | undefined {
  if (!Array.isArray(one) || !Array.isArray(other)) return undefined;
  if (one.length !== other.length) return median(one) / median(other);
  return median(one.map((value, round) => value / (other[round] ?? Number.NaN)));
}
