import { defineSkill } from "skillflow";
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
  config: {
    POSTGRES_URL: {
      description:
        "postgres://role:password@host:5432/database?sslmode=verify-full, with a role that can only read: SELECT on its tables, and pg_monitor to see other users' statements.",
      required: true,
      env: "POSTGRES_URL",
      format: "url",
      schemes: ["postgres", "postgresql"],
    },
    POSTGRES_HIDDEN_COLUMNS: {
      description: "Columns that are never shown, separated by commas: users.email, *.password_hash, audit.events.ip.",
      env: "POSTGRES_HIDDEN_COLUMNS",
      format: "list",
      secret: false,
    },
  },
  probe: describeAccess,
  tools: [...activityTools, ...healthTools, ...queryTools, ...tableTools],
});
