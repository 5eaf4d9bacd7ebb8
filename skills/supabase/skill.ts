import { defineSkill } from "skillflow";
import { probeWith, required, secret, setting, variables, wholePages } from "skillflow/internal";
import { catalogTools } from "./catalog.ts";
import { withSupabase } from "./client.ts";
import { managementTools } from "./management.ts";
import { defaultSchema, isReadable } from "./places.ts";
import { groupingTools } from "./query/grouping.ts";
import { readingTools } from "./reading.ts";
import { functionTools, writingTools } from "./writing.ts";

export default defineSkill({
  id: "supabase",
  name: "Supabase",
  description:
    "Rows, counts and functions of a Supabase database, limited to listed tables and functions; logs, migrations and advisories.",
  category: "general",
  config: variables({
    SUPABASE_URL: required(
      setting("base_url", "The project's address, such as https://abcdefgh.supabase.co, without /rest/v1."),
    ),
    SUPABASE_SERVICE_ROLE_KEY: required(
      secret(
        "token",
        "Key of the service role, or of a role with fewer permissions. Row-level security applies only to the latter.",
      ),
    ),
    SUPABASE_TABLES: setting(
      "list",
      "The only tables that can be read and changed, as table or schema.table, separated by commas. Without it, every exposed table can be read and none changed.",
    ),
    SUPABASE_FUNCTIONS: setting(
      "list",
      "The functions that can be called, as function or schema.function, separated by commas. Default: none.",
    ),
    SUPABASE_ACCESS_TOKEN: secret(
      "token",
      "A personal access token (sbp_), for the project's logs, migrations and advisories.",
    ),
    SUPABASE_PROJECT: setting(
      "name",
      "Reference of the project, if SUPABASE_URL is not https://<reference>.supabase.co.",
    ),
    SUPABASE_MANAGEMENT_URL: setting("base_url", "Address of the management API. Default: https://api.supabase.com."),
    SUPABASE_SCHEMA: setting("name", "Schema for names without one. Default: public."),
  }),
  probe: probeWith(withSupabase, async (supabase, context) => {
    const schema = defaultSchema(context);
    const { tables } = await supabase.describe(schema);
    return `readable tables: ${tables.filter(({ name }) => isReadable({ schema, name }, context)).length}`;
  }),
  tools: [
    ...readingTools,
    ...groupingTools,
    ...writingTools,
    ...functionTools,
    ...catalogTools.map(wholePages),
    ...managementTools,
  ],
});
