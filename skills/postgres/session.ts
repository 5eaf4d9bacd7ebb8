import { type Json, SkillflowError, type ToolContext } from "skillflow";
import { toolsWith, trim } from "skillflow/internal";
import { connect, STATEMENT_SECONDS } from "./connection.ts";
import { explain } from "./failure.ts";
import { rowOf, type Value } from "./values.ts";

/** Read-only transaction within one tool call. */
export interface Session {
  /** Runs one statement with parameter values. */
  readonly read: (sql: string, values?: readonly unknown[]) => Promise<Answer>;
}

export interface Answer {
  readonly fields: readonly { readonly name: string; readonly type: number }[];
  readonly rows: readonly Readonly<Record<string, Value>>[];
  /** Rows as lists, because columns may have the same name. */
  readonly lists: readonly (readonly Value[])[];
}

const BEGIN = [
  "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",
  `SET LOCAL statement_timeout = '${STATEMENT_SECONDS}s'`,
  "SET LOCAL lock_timeout = '2s'",
  "SET LOCAL idle_in_transaction_session_timeout = '30s'",
  "SET LOCAL standard_conforming_strings = on",
  "SET LOCAL datestyle = 'ISO'",
  "SET LOCAL timezone = 'UTC'",
  "SET LOCAL max_parallel_workers_per_gather = 0",
];

/** Runs a tool's work in a read-only transaction that is rolled back. Explains errors without secrets. */
export async function withPostgres(context: ToolContext, work: (session: Session) => Promise<unknown>): Promise<Json> {
  try {
    const { client, close } = await connect(context);
    try {
      for (const statement of BEGIN) await client.query(statement);
      const read = async (sql: string, values: readonly unknown[] = []): Promise<Answer> => {
        // The extended protocol accepts only one statement.
        const query = { text: sql, values: [...values], rowMode: "array" as const, queryMode: "extended" };
        const { fields, rows } = await client.query<(string | null)[]>(query);
        const lists = rows.map((row) => rowOf(row, fields));
        const named = lists.map((row) => Object.fromEntries(row.map((value, at) => [fields[at]?.name ?? "", value])));
        return { fields: fields.map(({ name, dataTypeID: type }) => ({ name, type })), rows: named, lists };
      };
      // PostgreSQL docs, SET TRANSACTION: after its first query, a read-only transaction cannot become read-write.
      const { rows } = await read("SELECT current_setting('transaction_read_only') AS only");
      if (rows[0]?.["only"] !== "on") throw new Error("The transaction is not read-only, so nothing was run.");
      return trim(await work({ read }));
    } finally {
      close();
    }
  } catch (error) {
    context.signal.throwIfAborted();
    if (error instanceof SkillflowError) throw error;
    throw explain(error, context.config);
  }
}

export const postgresTool = toolsWith(withPostgres);
