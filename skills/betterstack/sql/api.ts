import { patiently, type ToolContext } from "skillflow";
import { BetterStackFailure, exceptionCode, parse, pauseAfter, QUERY_LINE } from "../failure.ts";

/** Returns ClickHouse settings, sent separately, that limit every query whatever its text is. */
function limits(rows: number): Readonly<Record<string, string>> {
  return {
    // Mode 2 forbids writes but allows these settings.
    readonly: "2",
    limit: String(rows),
    max_result_rows: "10000",
    max_result_bytes: "2000000",
    result_overflow_mode: "break",
    max_execution_time: "25",
    // Reports a late error as an error response instead of cutting off the rows.
    wait_end_of_query: "1",
    output_format_json_quote_64bit_integers: "1",
  };
}

/** Runs a query that has passed the gate, and returns its first rows. */
export async function runQuery(sql: string, rows: number, context: ToolContext): Promise<readonly unknown[]> {
  const url = new URL(endpoint(context.config));
  for (const [name, value] of Object.entries(limits(rows))) url.searchParams.set(name, value);
  const body = `${sql}\nFORMAT JSONEachRow`;
  const { signal } = context;
  const text = await patiently({ signal, pauseAfter }, () => send(url, body, context));
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.slice(0, rows).map(rowOf);
}

async function send(url: URL, body: string, { config, fetch, signal }: ToolContext): Promise<string> {
  const request = { line: QUERY_LINE, effect: "read" } as const;
  const { response, text } = await post(url, body, { authorization: login(config), fetch, signal }).catch(
    (error: unknown) => {
      throw new BetterStackFailure(request, undefined, error);
    },
  );
  const { status, headers } = response;
  if (!response.ok || exceptionCode(text) !== undefined)
    throw new BetterStackFailure(request, { status, headers, text });
  return text;
}

interface Sending extends Pick<ToolContext, "fetch" | "signal"> {
  readonly authorization: string;
}

async function post(url: URL, body: string, { authorization, fetch, signal }: Sending) {
  const headers = { authorization, "content-type": "text/plain; charset=utf-8" };
  const response = await fetch(url, { method: "POST", redirect: "manual", signal, headers, body });
  return { response, text: await response.text() };
}

function endpoint(config: ToolContext["config"]): string {
  const text = config["BETTERSTACK_QUERY_ENDPOINT"]?.trim();
  if (!text) throw new Error(notSet("BETTERSTACK_QUERY_ENDPOINT"));
  const address = /^[a-z]+:\/\//i.test(text) ? text : `https://${text}`;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.username === "" && url.search === "") return address;
  throw new Error("BETTERSTACK_QUERY_ENDPOINT is not an http or https address without user name and parameters.");
}

function login(config: ToolContext["config"]): string {
  const [user, password] = ["BETTERSTACK_QUERY_USERNAME", "BETTERSTACK_QUERY_PASSWORD"].map((name) => {
    const value = config[name];
    if (!value) throw new Error(notSet(name));
    return value.trim();
  });
  return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
}

function notSet(name: string): string {
  return `query_logs needs ${name}, which is not set: logs cannot be queried in this run. The other tools work.`;
}

function rowOf(line: string): unknown {
  const row = parse(line);
  if (typeof row === "object" && row !== null && !Array.isArray(row)) return row;
  throw new Error("The SQL API answered with something that is not rows of JSON: check BETTERSTACK_QUERY_ENDPOINT.");
}
