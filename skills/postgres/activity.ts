import { clip, resultSchema, TEAM_SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { countsOf, postgresTool } from "./session.ts";
import { withoutValues } from "./tokens.ts";

const limit = z.int().min(1).max(50).optional();

export const activityTools = [
  postgresTool({
    name: "list_queries",
    description:
      "Lists running statements, longest first: text without values, what they wait for, how long their transaction is open. Counts connections by state and shows their limit. Call this first for a slow database. For who blocks whom: list_locks.",
    ...TEAM_SNAPSHOT,
    reads: "private",
    selects: ["min_seconds"],
    input_schema: z.strictObject({
      min_seconds: z
        .int()
        .min(0)
        .max(86_400)
        .optional()
        .describe("Minimum age of the statement or the open transaction. Default 1."),
      limit: limit.describe("Default 15."),
    }),
    output_schema: resultSchema(
      "queries connections",
      `queries:[any] matching:number left_out:number connections:[any] connections_total:number
        connections_limit:number note`,
    ),
    work: async ({ read }, input) => {
      const most = input.limit ?? 15;
      const { rows } = await read(QUERIES, [input.min_seconds ?? 1, most]);
      const states = (await read(STATES)).rows;
      return {
        queries: rows.map(({ matching: _, query, ...one }) => ({ ...one, query: shown(query) })),
        ...countsOf(rows),
        connections: states.map(({ state, count }) => ({ state, count })),
        connections_total: states.reduce((sum, { count }) => sum + Number(count), 0),
        connections_limit: Number(states[0]?.["most"] ?? 0),
        note: rows.some(({ query }) => query === "<insufficient privilege>") ? UNSEEN : undefined,
      };
    },
  }),
  postgresTool({
    name: "list_locks",
    description:
      "Lists sessions that wait for a lock and those that hold it, longest wait first, with both statements without values. Empty if no session waits. For statements that are slow without a lock: list_queries.",
    ...TEAM_SNAPSHOT,
    reads: "private",
    input_schema: z.strictObject({ limit: limit.describe("Default 15.") }),
    output_schema: resultSchema("waits", "waits:[any] matching:number left_out:number note"),
    work: async ({ read }, input) => {
      const { rows } = await read(LOCKS, [input.limit ?? 15]);
      return {
        waits: rows.map(({ matching: _, query, blocker_query, ...wait }) => {
          return { ...wait, query: shown(query), blocker_query: shown(blocker_query) };
        }),
        ...countsOf(rows),
        note: rows.length === 0 ? "No session waits for a lock now." : undefined,
      };
    },
  }),
  postgresTool({
    name: "top_statements",
    description:
      "Lists the statements that took the most time since the statistics began, from pg_stat_statements: calls, mean, rows, blocks read. Shows what to optimize. For what runs now: list_queries.",
    ...TEAM_SNAPSHOT,
    reads: "private",
    input_schema: z.strictObject({
      sort: z.enum(["total_time", "mean_time", "calls"]).optional().describe("Default total_time."),
      limit: limit.describe("Default 10."),
    }),
    output_schema: resultSchema("statements", "statements:[any] since note"),
    work: async ({ read }, input) => {
      const place = (await read(EXTENSION)).rows[0]?.["place"];
      if (place === undefined)
        throw new Error("pg_stat_statements is not installed in this database. list_queries shows what runs now.");
      const sort = SORTS[input.sort ?? "total_time"];
      const sql = STATEMENTS.replace("{place}", String(place)).replace("{sort}", sort);
      const { rows } = await read(sql, [input.limit ?? 10]);
      return {
        statements: rows.map(({ query, ...one }) => ({ ...one, query: shown(query) })),
        note: rows.some(({ query }) => query === "<insufficient privilege>") ? UNSEEN : undefined,
      };
    },
  }),
];

const UNSEEN = "The role cannot see other users' statements: it is not a member of pg_monitor or pg_read_all_stats.";
const LONGEST = 600;

function shown(query: unknown): string | undefined {
  if (typeof query !== "string" || query === "" || query.startsWith("<")) return undefined;
  return clip(withoutValues(query), LONGEST);
}

const QUERIES = `
SELECT pid, usename AS role, datname AS database, application_name AS application, state, wait_event_type AS waits_for,
  wait_event AS event, round(extract(epoch FROM clock_timestamp() - query_start)::numeric, 1)::float8 AS seconds,
  round(extract(epoch FROM clock_timestamp() - xact_start)::numeric, 1)::float8 AS transaction_seconds,
  pg_catalog.pg_blocking_pids(pid)::text AS blocked_by, query, count(*) OVER () AS matching
FROM pg_catalog.pg_stat_activity
WHERE pid <> pg_catalog.pg_backend_pid() AND backend_type = 'client backend' AND state <> 'idle'
  AND greatest(clock_timestamp() - query_start, clock_timestamp() - xact_start) >= make_interval(secs => $1::int)
ORDER BY xact_start NULLS LAST LIMIT $2`;

const STATES = `
SELECT coalesce(state, 'unknown') AS state, count(*)::int AS count,
  pg_catalog.current_setting('max_connections')::int AS most
FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend' GROUP BY 1 ORDER BY 2 DESC`;

const LOCKS = `
SELECT w.pid, w.usename AS role, w.application_name AS application,
  round(extract(epoch FROM clock_timestamp() - w.query_start)::numeric, 1)::float8 AS seconds,
  (SELECT l.mode || ' on ' || coalesce(l.relation::pg_catalog.regclass::text, l.locktype)
   FROM pg_catalog.pg_locks l WHERE l.pid = w.pid AND NOT l.granted LIMIT 1) AS wants,
  w.query, b.pid AS blocker, b.usename AS blocker_role, b.application_name AS blocker_application,
  CASE blocking.pid WHEN 0 THEN 'prepared transaction' ELSE b.state END AS blocker_state,
  round(extract(epoch FROM clock_timestamp() - b.xact_start)::numeric, 1)::float8 AS blocker_transaction_seconds,
  b.query AS blocker_query, count(*) OVER () AS matching
FROM pg_catalog.pg_stat_activity w
CROSS JOIN LATERAL unnest(pg_catalog.pg_blocking_pids(w.pid)) AS blocking(pid)
LEFT JOIN pg_catalog.pg_stat_activity b ON b.pid = blocking.pid
WHERE w.wait_event_type = 'Lock' ORDER BY w.query_start LIMIT $1`;

const EXTENSION = `
SELECT pg_catalog.quote_ident(n.nspname) AS place FROM pg_catalog.pg_extension e
JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_stat_statements'`;

const SORTS = { total_time: "s.total_exec_time", mean_time: "s.mean_exec_time", calls: "s.calls" } as const;

const STATEMENTS = `
SELECT s.calls, round(s.total_exec_time::numeric / 1000, 1)::float8 AS total_seconds,
  round(s.mean_exec_time::numeric, 2)::float8 AS mean_ms, round(s.max_exec_time::numeric, 1)::float8 AS max_ms, s.rows,
  s.shared_blks_read AS blocks_read, s.shared_blks_hit AS blocks_cached, s.query
FROM {place}.pg_stat_statements s
WHERE s.dbid = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())
ORDER BY {sort} DESC LIMIT $1`;
