import { resultSchema, TEAM_SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { countsOf, postgresTool } from "./session.ts";

export const healthTools = [
  postgresTool({
    name: "check_health",
    description:
      "Shows the health of the database in one cheap call: cache hit rate, deadlocks, rollbacks, temporary files, connections, oldest transaction, how close transaction ids and sequences are to running out, broken indexes. Totals are since `statistics_since`. For what runs now: list_queries.",
    ...TEAM_SNAPSHOT,
    reads: "private",
    input_schema: z.strictObject({}),
    output_schema: resultSchema(
      "database sequences_near_end",
      `database size statistics_since cache_hit_percent:number commits:number rollback_percent:number deadlocks:number
        temp_files_size connections:number connections_limit:number oldest_transaction_seconds:number
        transaction_ids_used_percent:number invalid_indexes:number prepared_transactions:number
        sequences_near_end:[any]`,
    ),
    work: async ({ read }) => {
      const [facts] = (await read(FACTS)).rows;
      const { rows } = await read(SEQUENCES);
      return { ...facts, sequences_near_end: rows };
    },
  }),
  postgresTool({
    name: "list_replication",
    description:
      "Lists this server's replicas with their lag in bytes and seconds, its slots with the amount of log they retain (a lost replica fills the disk), and, on a replica, its own lag. Use it for stale reads and disks that fill.",
    ...TEAM_SNAPSHOT,
    reads: "private",
    input_schema: z.strictObject({}),
    output_schema: resultSchema(
      "is_replica replicas slots",
      "is_replica:flag behind:any replicas:[any] slots:[any] note",
    ),
    work: async ({ read }) => {
      const isReplica = (await read("SELECT pg_catalog.pg_is_in_recovery() AS is")).rows[0]?.["is"] === true;
      const behind = isReplica ? (await read(BEHIND)).rows[0] : undefined;
      const replicas = (await read(REPLICAS)).rows;
      const slots = (await read(SLOTS)).rows;
      const isAlone = !isReplica && replicas.length === 0 && slots.length === 0;
      const unseen = replicas.some(({ state }) => state === null);
      return {
        is_replica: isReplica,
        behind,
        replicas,
        slots,
        note: isAlone ? "This server has no replicas." : unseen ? UNSEEN : undefined,
      };
    },
  }),
  postgresTool({
    name: "list_indexes",
    description:
      "Lists indexes that cost more than they help, largest first: unused since the statistics began, duplicates, or broken. For all indexes of one table: describe_table.",
    ...TEAM_SNAPSHOT,
    reads: "private",
    selects: ["contains"],
    input_schema: z.strictObject({
      contains: z.string().min(1).max(100).optional().describe("In schema.table."),
      limit: z.int().min(1).max(100).optional().describe("Default 20."),
    }),
    output_schema: resultSchema("indexes", "indexes:[any] matching:number left_out:number statistics_since note"),
    work: async ({ read }, input) => {
      const { rows } = await read(INDEXES, [input.contains ?? "", input.limit ?? 20]);
      const since = (await read(SINCE)).rows[0]?.["since"];
      return {
        indexes: rows.map(({ matching: _, ...index }) => index),
        ...countsOf(rows),
        statistics_since: since,
        note: rows.length === 0 ? "No index is unused, duplicate or broken." : ONLY_HERE,
      };
    },
  }),
];

const UNSEEN = "The role cannot see the lag of replicas: it is not a member of pg_monitor or pg_read_all_stats.";
const ONLY_HERE = "Uses are counted only on this server. A replica may use an index that is unused here.";

const FACTS = `
SELECT d.datname AS database, pg_catalog.pg_size_pretty(pg_catalog.pg_database_size(d.oid)) AS size,
  s.stats_reset AS statistics_since,
  round(100.0 * s.blks_hit / nullif(s.blks_hit + s.blks_read, 0), 2)::float8 AS cache_hit_percent,
  s.xact_commit AS commits,
  round(100.0 * s.xact_rollback / nullif(s.xact_commit + s.xact_rollback, 0), 2)::float8 AS rollback_percent,
  s.deadlocks, pg_catalog.pg_size_pretty(s.temp_bytes) AS temp_files_size,
  (SELECT count(*)::int FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend') AS connections,
  pg_catalog.current_setting('max_connections')::int AS connections_limit,
  (SELECT round(extract(epoch FROM clock_timestamp() - min(xact_start))::numeric, 1)::float8
   FROM pg_catalog.pg_stat_activity WHERE pid <> pg_catalog.pg_backend_pid()) AS oldest_transaction_seconds,
  round(100.0 * pg_catalog.age(d.datfrozenxid) / 2147483647, 2)::float8 AS transaction_ids_used_percent,
  (SELECT count(*)::int FROM pg_catalog.pg_index WHERE NOT indisvalid) AS invalid_indexes,
  (SELECT count(*)::int FROM pg_catalog.pg_prepared_xacts) AS prepared_transactions
FROM pg_catalog.pg_database d JOIN pg_catalog.pg_stat_database s ON s.datid = d.oid
WHERE d.datname = pg_catalog.current_database()`;

const SEQUENCES = `
SELECT schemaname || '.' || sequencename AS name, data_type::text AS type, last_value,
  round(100.0 * last_value / max_value, 1)::float8 AS used_percent
FROM pg_catalog.pg_sequences
WHERE increment_by > 0 AND NOT cycle AND last_value > max_value / 2 ORDER BY 4 DESC LIMIT 20`;

/** Current log position. On a replica, the last position received. */
const NOW = `CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_receive_lsn()
  ELSE pg_catalog.pg_current_wal_lsn() END`;

const REPLICAS = `
SELECT application_name AS name, state, sync_state,
  pg_catalog.pg_wal_lsn_diff(${NOW}, replay_lsn)::int8 AS behind_bytes,
  round(extract(epoch FROM replay_lag)::numeric, 2)::float8 AS behind_seconds, reply_time AS last_heard
FROM pg_catalog.pg_stat_replication ORDER BY 4 DESC NULLS LAST LIMIT 30`;

const SLOTS = `
SELECT slot_name AS name, slot_type AS type, database, active, wal_status AS status,
  pg_catalog.pg_size_pretty(pg_catalog.pg_wal_lsn_diff(${NOW}, restart_lsn)) AS holds_back
FROM pg_catalog.pg_replication_slots ORDER BY pg_catalog.pg_wal_lsn_diff(${NOW}, restart_lsn) DESC NULLS LAST LIMIT 30`;

const BEHIND = `
SELECT pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_last_wal_receive_lsn(), pg_catalog.pg_last_wal_replay_lsn())::int8
    AS received_not_replayed_bytes,
  pg_catalog.pg_last_xact_replay_timestamp() AS last_change_replayed,
  round(extract(epoch FROM clock_timestamp() - pg_catalog.pg_last_xact_replay_timestamp())::numeric, 1)::float8 AS seconds,
  (SELECT status FROM pg_catalog.pg_stat_wal_receiver LIMIT 1) AS receiver`;

const SINCE = `
SELECT stats_reset AS since FROM pg_catalog.pg_stat_database WHERE datname = pg_catalog.current_database()`;

const INDEXES = `
SELECT s.indexrelid::pg_catalog.regclass::text AS name, s.schemaname || '.' || s.relname AS table,
  pg_catalog.pg_size_pretty(pg_catalog.pg_relation_size(s.indexrelid)) AS size, s.idx_scan AS scans,
  NOT i.indisvalid AS broken, i.indisunique AS unique, o.indexrelid::pg_catalog.regclass::text AS equal_to,
  pg_catalog.pg_get_indexdef(s.indexrelid) AS definition, count(*) OVER () AS matching
FROM pg_catalog.pg_stat_user_indexes s JOIN pg_catalog.pg_index i ON i.indexrelid = s.indexrelid
LEFT JOIN LATERAL (SELECT e.indexrelid FROM pg_catalog.pg_index e
  WHERE e.indrelid = i.indrelid AND e.indexrelid < i.indexrelid AND e.indkey = i.indkey AND e.indclass = i.indclass
    AND e.indoption = i.indoption AND coalesce(e.indexprs::text, '') = coalesce(i.indexprs::text, '')
    AND coalesce(e.indpred::text, '') = coalesce(i.indpred::text, '') LIMIT 1) o ON true
WHERE position(lower($1) IN lower(s.schemaname || '.' || s.relname)) > 0
  AND ((s.idx_scan = 0 AND NOT i.indisunique) OR NOT i.indisvalid OR o.indexrelid IS NOT NULL)
ORDER BY pg_catalog.pg_relation_size(s.indexrelid) DESC, 1 LIMIT $2`;
