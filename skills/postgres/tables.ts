import { resultSchema, TEAM_SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { isHidden, rulesOf } from "./hidden.ts";
import { countsOf, postgresTool } from "./session.ts";

export const tableTools = [
  postgresTool({
    name: "list_tables",
    description:
      "Lists tables, largest first: size, estimated rows, dead rows that wait for vacuum (bloat), last vacuum and analyze, reads with and without an index since the statistics began. Cheap. For columns and indexes: describe_table.",
    ...TEAM_SNAPSHOT,
    reads: "private",
    selects: ["contains"],
    input_schema: z.strictObject({
      contains: z.string().min(1).max(100).optional().describe("In schema.table."),
      sort: z.enum(["size", "dead_rows", "full_scans"]).optional().describe("Default size."),
      limit: z.int().min(1).max(100).optional().describe("Default 20."),
    }),
    output_schema: resultSchema("tables matching", "tables:[any] matching:number left_out:number note"),
    work: async ({ read }, input) => {
      const limit = input.limit ?? 20;
      const { rows } = await read(TABLES.replace("{sort}", SORTS[input.sort ?? "size"]), [input.contains ?? "", limit]);
      return {
        tables: rows.map(({ matching: _, ...table }) => table),
        ...countsOf(rows),
        note: rows.length === 0 ? "The role can see no table whose name contains it." : undefined,
      };
    },
  }),
  postgresTool({
    name: "describe_table",
    description:
      "Reads one table: columns with types, indexes with size and number of uses, constraints, row-level security. Use it before you write a query, or to see which index is missing.",
    ...TEAM_SNAPSHOT,
    reads: "private",
    echoes: ["table"],
    input_schema: z.strictObject({ table: z.string().min(1).max(130).describe("table, or schema.table.") }),
    output_schema: resultSchema(
      "table columns indexes",
      "table kind columns:[any] indexes:[any] constraints:[text] row_security:flag left_out:number",
    ),
    work: async ({ read }, input, context) => {
      const rules = rulesOf(context.config);
      const found = (await read(RELATION, [input.table])).rows[0];
      if (!found) throw new Error("The role can see no such table or view. list_tables lists the names.");
      const { oid, schema, name, kind, row_security } = found;
      const columns = (await read(COLUMNS, [oid])).rows;
      const indexes = (await read(INDEXES, [oid])).rows;
      const constraints = (await read(CONSTRAINTS, [oid])).rows;
      const left = columns.length - MOST_COLUMNS;
      return {
        table: `${String(schema)}.${String(name)}`,
        kind,
        columns: columns.slice(0, MOST_COLUMNS).map((column) => {
          const never = isHidden(rules, [String(schema), String(name), String(column["name"])]);
          return never ? { ...column, default: undefined, never_shown: true } : column;
        }),
        indexes,
        constraints: constraints.map(({ text }) => text),
        row_security: row_security === true || undefined,
        left_out: left > 0 ? left : undefined,
      };
    },
  }),
];

const MOST_COLUMNS = 150;

const SORTS = {
  size: "pg_catalog.pg_total_relation_size(s.relid)",
  dead_rows: "s.n_dead_tup",
  full_scans: "s.seq_tup_read",
} as const;

const TABLES = `
SELECT s.schemaname || '.' || s.relname AS name, c.reltuples::bigint AS rows_expected,
  pg_catalog.pg_size_pretty(pg_catalog.pg_total_relation_size(s.relid)) AS size,
  pg_catalog.pg_size_pretty(pg_catalog.pg_indexes_size(s.relid)) AS indexes_size,
  s.n_live_tup AS live_rows, s.n_dead_tup AS dead_rows,
  round(100.0 * s.n_dead_tup / nullif(s.n_live_tup + s.n_dead_tup, 0), 1)::float8 AS dead_percent,
  s.seq_scan AS full_scans, s.seq_tup_read AS rows_read_by_full_scans, s.idx_scan AS index_scans,
  greatest(s.last_vacuum, s.last_autovacuum) AS last_vacuum, greatest(s.last_analyze, s.last_autoanalyze) AS last_analyze,
  count(*) OVER () AS matching
FROM pg_catalog.pg_stat_user_tables s JOIN pg_catalog.pg_class c ON c.oid = s.relid
WHERE position(lower($1) IN lower(s.schemaname || '.' || s.relname)) > 0
ORDER BY {sort} DESC NULLS LAST, 1 LIMIT $2`;

const RELATION = `
SELECT c.oid, n.nspname AS schema, c.relname AS name, c.relrowsecurity AS row_security,
  CASE c.relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'partitioned table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view'
    WHEN 'f' THEN 'foreign table' ELSE c.relkind::text END AS kind
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND (n.nspname || '.' || c.relname = $1 OR (c.relname = $1 AND pg_catalog.pg_table_is_visible(c.oid)))
LIMIT 1`;

const COLUMNS = `
SELECT a.attname AS name, pg_catalog.format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull AS required,
  pg_catalog.pg_get_expr(d.adbin, d.adrelid) AS default
FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`;

const INDEXES = `
SELECT i.indexrelid::pg_catalog.regclass::text AS name, pg_catalog.pg_get_indexdef(i.indexrelid) AS definition,
  i.indisvalid AS valid, pg_catalog.pg_size_pretty(pg_catalog.pg_relation_size(i.indexrelid)) AS size, s.idx_scan AS scans
FROM pg_catalog.pg_index i LEFT JOIN pg_catalog.pg_stat_user_indexes s ON s.indexrelid = i.indexrelid
WHERE i.indrelid = $1 ORDER BY 1 LIMIT 50`;

const CONSTRAINTS = `
SELECT conname || ': ' || pg_catalog.pg_get_constraintdef(oid) AS text
FROM pg_catalog.pg_constraint WHERE conrelid = $1 ORDER BY 1 LIMIT 50`;
