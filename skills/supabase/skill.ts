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
    "Rows, counts and functions of a Supabase database, limited to listed tables and functions; logs, migrations and advisories.",
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
        "Key of the service role, or of a role with fewer permissions. Row-level security applies only to the latter.",
      required: true,
      env: "SUPABASE_SERVICE_ROLE_KEY",
      format: "token",
    },
    SUPABASE_TABLES: {
      description:
        "The only tables that can be read and changed, as table or schema.table, separated by commas. Without it, every exposed table can be read and none changed.",
      env: "SUPABASE_TABLES",
      format: "list",
      secret: false,
    },
    SUPABASE_FUNCTIONS: {
      description:
        "The functions that can be called, as function or schema.function, separated by commas. Default: none.",
      env: "SUPABASE_FUNCTIONS",
      format: "list",
      secret: false,
    },
    SUPABASE_ACCESS_TOKEN: {
      description: "A personal access token (sbp_), for the project's logs, migrations and advisories.",
      env: "SUPABASE_ACCESS_TOKEN",
      format: "token",
    },
    SUPABASE_PROJECT: {
      description: "Reference of the project, if SUPABASE_URL is not https://<reference>.supabase.co.",
      env: "SUPABASE_PROJECT",
      format: "name",
      secret: false,
    },
    SUPABASE_MANAGEMENT_URL: {
      description: "Address of the management API. Default: https://api.supabase.com.",
      env: "SUPABASE_MANAGEMENT_URL",
      format: "base_url",
      secret: false,
    },
    SUPABASE_SCHEMA: {
      description: "Schema for names without one. Default: public.",
      env: "SUPABASE_SCHEMA",
      format: "name",
      secret: false,
    },
  },
  probe: describeAccess,
  tools: [...readingTools, ...groupingTools, ...writingTools, ...functionTools, ...catalogTools, ...managementTools],
});
