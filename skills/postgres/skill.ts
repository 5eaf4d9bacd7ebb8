import { defineSkill } from "skillflow";
import { required, secret, setting, variables } from "skillflow/internal";
import { describeAccess } from "./access.ts";
import { activityTools } from "./activity.ts";
import { healthTools } from "./health.ts";
import { queryTools } from "./query.ts";
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
  probe: describeAccess,
  tools: [...activityTools, ...healthTools, ...queryTools, ...tableTools],
});
