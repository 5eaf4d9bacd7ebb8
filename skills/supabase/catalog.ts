import { defineTool, type ToolContext } from "skillflow";
import { resultSchema, SNAPSHOT, trim } from "skillflow/internal";
import * as z from "zod";
import type { ApiTable } from "./api.ts";
import { nearNames, withSupabase } from "./client.ts";
import { defaultSchema, isCallable, isReadable, isWritable, nameOf, readable, schemaName, table } from "./places.ts";

export const catalogTools = [
  defineTool({
    name: "list_tables",
    description: "Lists the readable tables and views, which of them are writable, and the callable functions.",
    ...SNAPSHOT,
    reads: "private",
    selects: ["contains"],
    echoes: ["schema"],
    settled_by: { schema: "SUPABASE_SCHEMA" },
    input_schema: z.strictObject({
      schema: schemaName,
      contains: z.string().min(1).max(63).optional(),
      limit: z.int().min(1).max(200).optional().describe("Default 50."),
      offset: z.int().min(0).max(10_000).optional(),
    }),
    output_schema: resultSchema(
      "tables functions",
      `schema total:number tables:[{ table columns:number writable:flag description }] functions:[{ function
        description parameters:{} }] next_offset:number`,
    ),
    handler: (input, context) =>
      withSupabase(context, async (supabase) => {
        const schema = input.schema ?? defaultSchema(context);
        const { tables, functions } = await supabase.describe(schema);
        const { contains = "", limit = DEFAULT_LIMIT, offset = 0 } = input;
        const isWanted = ({ name }: { readonly name: string }) => name.toLowerCase().includes(contains.toLowerCase());
        const found = tables.filter(isWanted).filter(({ name }) => isReadable({ schema, name }, context));
        const callable = functions.filter(isWanted).filter(({ name }) => isCallable({ schema, name }, context));
        return trim({
          schema,
          total: found.length,
          tables: found.slice(offset, offset + limit).map((each) => briefOf(each, schema, context)),
          functions: callable.map(({ name, ...rest }) => ({ function: nameOf({ schema, name }, context), ...rest })),
          next_offset: offset + limit < found.length ? offset + limit : undefined,
        });
      }),
  }),
  defineTool({
    name: "describe_table",
    description: "Describes a table or view: its columns, their types, defaults, keys and the tables they refer to.",
    ...SNAPSHOT,
    reads: "private",
    echoes: ["table"],
    input_schema: z.strictObject({ table }),
    output_schema: resultSchema(
      "table columns",
      `table description writable:flag columns:[{ name type required:flag default:any primary_key:flag references
        enum:[any] max_length:number description }]`,
    ),
    handler: (input, context) => {
      const place = readable(input.table, context);
      return withSupabase(context, async (supabase) => {
        const api = await supabase.describe(place.schema);
        const found = api.tables.find(({ name }) => name === place.name);
        if (!found) {
          throw new Error(`There is no table ${nameOf(place, context)}.${nearNames(place, api, context)}`);
        }
        const { description, columns } = found;
        return trim({ table: nameOf(place, context), description, writable: isWritable(place, context), columns });
      });
    },
  }),
];

const DEFAULT_LIMIT = 50;

function briefOf({ name, description, columns }: ApiTable, schema: string, context: ToolContext) {
  return {
    table: nameOf({ schema, name }, context),
    columns: columns.length,
    writable: isWritable({ schema, name }, context),
    description,
  };
}
