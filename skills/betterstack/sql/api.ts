import { type Json, parseJson, type ToolContext } from "skillflow";
import { authorization, clip, keyOf, type Refusal, type Service, ServiceFault, withService } from "skillflow/internal";
import * as z from "zod";

const SQL_API: Service = {
  name: "The SQL API",
  address: "BETTERSTACK_QUERY_ENDPOINT",
  // Better Stack shows the address without https://.
  url: ({ BETTERSTACK_QUERY_ENDPOINT: text = "" }) => (/^[a-z]+:\/\//i.test(text) ? text : `https://${text}`).trim(),
  keys: ["BETTERSTACK_QUERY_USERNAME", "BETTERSTACK_QUERY_PASSWORD"],
  headers: (config) => {
    const password = keyOf(config, "BETTERSTACK_QUERY_PASSWORD");
    return authorization(keyOf(config, "BETTERSTACK_QUERY_USERNAME"), password);
  },
  advice: ({ status, text }: Refusal) => {
    const words = queryAdvice(status, text);
    // A query that the database rejects would be rejected again.
    return words && new ServiceFault(words, status);
  },
};

/** Returns ClickHouse settings, sent separately, that limit every query whatever its text is. */
function limits(rows: number): Readonly<Record<string, string>> {
  return {
    // Mode 2 forbids writes but allows these settings.
    readonly: "2",
    limit: String(rows),
    max_result_rows: "10000",
    // A result that is too large fails: with "break" it would look like all rows.
    max_result_bytes: "8000000",
    result_overflow_mode: "throw",
    max_execution_time: "25",
    // Reports a late error as an error response instead of cutting off the rows.
    wait_end_of_query: "1",
    output_format_json_quote_64bit_integers: "1",
  };
}

/** Runs queries that have passed the gate, and returns their first rows. */
type Run = (sql: string, rows: number) => Promise<readonly unknown[]>;

/** Runs a tool's work on the SQL API. */
export function withSql(context: ToolContext, work: (run: Run) => Promise<unknown>): Promise<Json> {
  return withService(SQL_API, context, (ask) =>
    work(async (sql, rows) => {
      const missing = [SQL_API.address, ...SQL_API.keys].find((name) => !context.config[name]?.trim());
      if (missing)
        throw new Error(`${missing} is not set, so query_logs cannot be used in this run. The other tools work.`);
      const body = `${sql}\nFORMAT JSONEachRow`;
      const query = limits(rows);
      const text = await ask({ path: [], query, body, effect: "read", isText: true, answer: z.string() });
      if (exceptionCode(text) !== undefined) throw new Error(queryAdvice(200, text));
      const lines = text.split("\n").filter((line) => line.trim() !== "");
      return lines.slice(0, rows).map(rowOf);
    }),
  );
}

function rowOf(line: string): unknown {
  const row = z.record(z.string(), z.unknown()).safeParse(parseJson(line));
  if (row.success) return row.data;
  throw new Error("The SQL API's response is not JSON rows. Check BETTERSTACK_QUERY_ENDPOINT.");
}

/** Returns ClickHouse's error code from a response. */
function exceptionCode(text: string): number | undefined {
  const code = /(?:^|\n)Code: (\d{1,4})\. DB::/.exec(text)?.[1];
  return code === undefined ? undefined : Number(code);
}

/** Explains an error of ClickHouse, or of its address. Undefined for failures that may pass. */
function queryAdvice(status: number, text: string): string | undefined {
  const code = exceptionCode(text);
  if (status === 401 || code === 516 || code === 194 || (status === 403 && code === undefined)) {
    return `The SQL API refused BETTERSTACK_QUERY_USERNAME and BETTERSTACK_QUERY_PASSWORD (${status}): they are wrong, expired, or from a different region than BETTERSTACK_QUERY_ENDPOINT.`;
  }
  const words = clickhouseWords(text);
  if (code === 202) return `The SQL API is running too many queries: ${words} Try again later.`;
  if (code === 497) return `The SQL API user has no permission to read this: ${words} Check BETTERSTACK_SOURCE.`;
  if (code === 60 || code === 81 || code === 668) {
    return `The source was not found: ${words} Check BETTERSTACK_SOURCE and its region. A source without spans or metrics has no such table.`;
  }
  if (code !== undefined && TOO_MUCH.includes(code))
    return `The query reads too much: ${words} Narrow the time, or count instead of listing.`;
  if (code !== undefined) return `The query is invalid: ${words}`;
  return status >= 500 ? undefined : `The SQL API refused the query (${status}). Check BETTERSTACK_QUERY_ENDPOINT.`;
}

// ClickHouse error codes for limits on rows, bytes, memory, time and depth.
const TOO_MUCH: readonly number[] = [158, 159, 160, 162, 167, 191, 241, 307, 396];

/** Returns ClickHouse's message without its code, stack trace and version. */
function clickhouseWords(text: string): string {
  const words = /DB::(?:Exception|NetException): ([\s\S]*)/.exec(text)?.[1] ?? "";
  const short = words
    .replace(/\(version [^)]*(?:\)+|$)/g, "")
    .replace(/\s+/g, " ")
    .trim();
  return `${clip(short, 500).replace(/\.$/, "")}.`;
}
