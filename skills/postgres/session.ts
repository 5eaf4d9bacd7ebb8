import { createRedactor, type Json, SkillflowError, type ToolContext } from "skillflow";
import { clip, toolsWith, trim } from "skillflow/internal";
import { connect, placeOf, STATEMENT_SECONDS } from "./connection.ts";

export interface Session {
  readonly read: (sql: string, values?: readonly unknown[]) => Promise<Answer>;
}

export interface Answer {
  readonly columns: readonly string[];
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
        return { columns: fields.map(({ name }) => name), rows: named, lists };
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

/** Returns the number of matching rows, which each row has as `matching`, and of those that are not shown. */
export function countsOf(rows: Answer["rows"]) {
  const matching = Number(rows[0]?.["matching"] ?? 0);
  return { matching, left_out: matching - rows.length || undefined };
}

export const postgresTool = toolsWith(withPostgres);

/** Returns an error that explains what to change, without a cause or secrets. */
export function explain(error: unknown, config: ToolContext["config"]): Error {
  const secrets = [{ name: "POSTGRES_URL", value: config["POSTGRES_URL"] ?? "" }, ...passwordOf(config)];
  return new Error(createRedactor(secrets).text(adviceFor(error)));
}

function passwordOf(config: ToolContext["config"]) {
  try {
    return [{ name: "POSTGRES_URL", value: placeOf(config).password }];
  } catch {
    return [];
  }
}

const ADVICE: Readonly<Record<string, string>> = {
  "28P01": "Postgres login failed: the user or the password in POSTGRES_URL is wrong.",
  "28000": "Postgres login failed: the role in POSTGRES_URL cannot log in from here, or not without TLS.",
  "3D000": "The database that POSTGRES_URL names does not exist.",
  "53300": "Postgres has no free connections. That may be part of the incident. Try again later.",
  "57P03": "Postgres is starting up, shutting down or recovering. Try again later.",
  "42501":
    "The role in POSTGRES_URL has no permission to read this. Do not treat it as an empty result. Ask for the grant, or continue without it.",
  "57014": `The statement took longer than ${STATEMENT_SECONDS} seconds and was canceled. Use explain to see why, narrow it, or read fewer rows.`,
  "55P03": "The statement waited 2 seconds for a lock. list_locks shows who holds it.",
  "25006": "Statements, and the functions that they call, must not write.",
  "42P01": "There is no such table or view. list_tables lists the names.",
  "42703": "There is no such column. describe_table lists them.",
  "42883": "There is no such function, or none for these types.",
  "55000": "The extension that this needs is not loaded.",
};

const CONNECTION: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ENOTFOUND: "host not found",
  EAI_AGAIN: "DNS lookup failed",
  ETIMEDOUT: "no response",
  ECONNRESET: "the connection was reset",
};

function adviceFor(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error ? String(error.code) : "";
  const words = clip(error.message.replace(/\s+/g, " "), 500);
  if (Object.hasOwn(ADVICE, code)) return `${ADVICE[code]} (${code}: ${words})`;
  if (/^[0-9A-Z]{5}$/.test(code)) return `Postgres refused the statement (${code}): ${words}${hintOf(error)}`;
  if (Object.hasOwn(CONNECTION, code))
    return `Could not reach Postgres (${code}): ${CONNECTION[code]}. Check POSTGRES_URL.`;
  if (/timeout expired|terminated unexpectedly|SSL|self.signed|certificate/i.test(words))
    return `Could not reach Postgres: ${words}. Check POSTGRES_URL and its sslmode.`;
  return words;
}

function hintOf(error: Error): string {
  return "hint" in error && typeof error.hint === "string" ? ` (${clip(error.hint, 300)})` : "";
}

/** JSON value of a cell, which Postgres sends as text. */
export type Value = string | number | boolean | null | object;

const BOOL = 16;
const BYTEA = 17;
const INTEGERS = new Set([20, 21, 23, 26]);
const FLOATS = new Set([700, 701]);
const DOCUMENTS = new Set([114, 3802]);

const LONGEST_CELL = 1500;

export function rowOf(
  row: readonly (string | null)[],
  fields: readonly { readonly dataTypeID: number }[],
): readonly Value[] {
  return row.map((cell, at) => valueOfCell(cell, fields[at]?.dataTypeID ?? 0));
}

function valueOfCell(cell: string | null, type: number): Value {
  if (cell === null) return null;
  if (type === BOOL) return cell === "t";
  if (type === BYTEA) return `(${Math.max(0, (cell.length - 2) / 2)} bytes)`;
  if (INTEGERS.has(type) || FLOATS.has(type)) return numberOf(cell);
  if (DOCUMENTS.has(type) && cell.length <= LONGEST_CELL) return JSON.parse(cell) as Value;
  return clip(cell, LONGEST_CELL);
}

/** Returns a number if JSON can represent it exactly. */
function numberOf(cell: string): number | string {
  const number = Number(cell);
  return Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number)) ? number : cell;
}
