import type { ToolContext } from "skillflow";
import { withSupabase } from "./client.ts";
import { defaultSchema, isReadable } from "./places.ts";

/** How many tables the key and the lists let be read. */
export async function describeAccess(context: ToolContext): Promise<string> {
  const told = await withSupabase(context, async (supabase) => {
    const schema = defaultSchema(context);
    const { tables } = await supabase.describe(schema);
    return tables.filter(({ name }) => isReadable({ schema, name }, context)).length;
  });
  return `tables that can be read: ${told}`;
}
