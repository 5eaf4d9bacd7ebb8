import { defineSkill } from "skillflow";
import { probeWith, required, secret, setting, variables } from "skillflow/internal";
import { activityTools } from "./activity.ts";
import { healthTools } from "./health.ts";
import { queryTools } from "./query.ts";
import { withPostgres } from "./session.ts";
import { tableTools } from "./tables.ts";

export default defineSkill({
  id: "postgres",
  name: "PostgreSQL",
  description:
    "Reads a PostgreSQL database: running statements, locks, health, replication, sizes and bloat, indexes, plans, and rows by SELECT. It never writes.",
  category: "data",
  config: variables({
    POSTGRES_URL: {
      ...required(
        secret(
          "url",
          "postgres://role:password@host:5432/database?sslmode=verify-full, with a role that can only read: SELECT on its tables, and pg_monitor to see other users' statements.",
        ),
      ),
      schemes: ["postgres", "postgresql"],
    },
    POSTGRES_HIDDEN_COLUMNS: setting(
      "list",
      "Columns that are never shown, separated by commas: users.email, *.password_hash, audit.events.ip.",
    ),
  }),
  // Describes the role, and warns if it may do more than read.
  probe: probeWith(withPostgres, async ({ read }) => {
    const { rows } = await read(ROLE);
    const { role, database, may_write, is_super, sees_all } = rows[0] ?? {};
    const remarks = [
      is_super === true ? "it is a superuser: use a role that can only read" : undefined,
      is_super !== true && may_write === true ? "it can write: a role with only SELECT is enough" : undefined,
      sees_all === false ? "without pg_monitor it sees only its own statements" : undefined,
    ].filter((remark) => remark !== undefined);
    return [`${String(role)} can read ${String(database)}`, ...remarks].join("; ");
  }),
  tools: [...activityTools, ...healthTools, ...queryTools, ...tableTools],
});

const ROLE = `
SELECT current_user AS role, pg_catalog.current_database() AS database,
  (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) AS is_super,
  pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE') AS sees_all,
  EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
    AND pg_catalog.has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE')) AS may_write`;
