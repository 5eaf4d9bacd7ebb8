import type { ToolContext } from "skillflow";
import { withSupabase } from "./client.ts";
import { defaultSchema, isReadable } from "./places.ts";

/** Returns the number of tables that the key and the config allow to read. */
export async function describeAccess(context: ToolContext): Promise<string> {
  const count = await withSupabase(context, async (supabase) => {
    const schema = defaultSchema(context);
    const { tables } = await supabase.describe(schema);
    return tables.filter(({ name }) => isReadable({ schema, name }, context)).length;
  });
  return `readable tables: ${count}`;
}
