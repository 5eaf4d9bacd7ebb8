import { defineSkill } from "skillflow";
import { describeAccess } from "./access.ts";
import { catalogTools } from "./catalog.ts";
import { functionTools } from "./functions.ts";
import { managementTools } from "./management.ts";
import { groupingTools } from "./query/grouping.ts";
import { readingTools } from "./reading.ts";
import { writingTools } from "./writing.ts";

export default defineSkill({
  id: "supabase",
  name: "Supabase",
  description:
    "Rows, counts and functions of a Supabase database, within the tables and functions that are listed; logs, migrations and advisories.",
  category: "general",
  config: {
    SUPABASE_URL: {
      description: "The project's address, such as https://abcdefgh.supabase.co, without /rest/v1.",
      required: true,
      env: "SUPABASE_URL",
      format: "base_url",
      secret: false,
    },
    SUPABASE_SERVICE_ROLE_KEY: {
      description:
        "The key of the service role, or of a role that may do less; row-level security binds only the latter.",
      required: true,
      env: "SUPABASE_SERVICE_ROLE_KEY",
      format: "token",
    },
    SUPABASE_TABLES: {
      description:
        "The only tables that may be read and changed, as table or schema.table, parted by commas. Without it every exposed table may be read and none changed.",
      env: "SUPABASE_TABLES",
      format: "list",
      secret: false,
    },
    SUPABASE_FUNCTIONS: {
      description: "The functions that may be called, as function or schema.function, parted by commas. Else none.",
      env: "SUPABASE_FUNCTIONS",
      format: "list",
      secret: false,
    },
    SUPABASE_ACCESS_TOKEN: {
      description: "A personal access token (sbp_): for the project's logs, migrations and advisories.",
      env: "SUPABASE_ACCESS_TOKEN",
      format: "token",
    },
    SUPABASE_PROJECT: {
      description: "The project's reference, where SUPABASE_URL is not https://<reference>.supabase.co.",
      env: "SUPABASE_PROJECT",
      format: "name",
      secret: false,
    },
    SUPABASE_MANAGEMENT_URL: {
      description: "The management API's address. https://api.supabase.com when absent.",
      env: "SUPABASE_MANAGEMENT_URL",
      format: "base_url",
      secret: false,
    },
    SUPABASE_SCHEMA: {
      description: "The schema of names that come without one. public when absent.",
      env: "SUPABASE_SCHEMA",
      format: "name",
      secret: false,
    },
  },
  probe: describeAccess,
  tools: [...readingTools, ...groupingTools, ...writingTools, ...functionTools, ...catalogTools, ...managementTools],
});
