import { defineTool, type ToolContext } from "skillflow";
import {
  type Ask,
  authorization,
  clip,
  each,
  firstOf,
  type GivenPeriod,
  isoField,
  isoTime,
  lenient,
  RANGE,
  requiredKey,
  resultSchema,
  type Service,
  SNAPSHOT,
  withService,
} from "skillflow/internal";
import * as z from "zod";

/** Tools for the project itself, which use a personal access token instead of the database key. */

const SERVICES = {
  api: "edge_logs",
  database: "postgres_logs",
  auth: "auth_logs",
  storage: "storage_logs",
  realtime: "realtime_logs",
  functions: "function_logs",
  function_calls: "function_edge_logs",
} as const;

const time = isoField.optional();

const NEEDS = ["SUPABASE_ACCESS_TOKEN"];

export const managementTools = [
  defineTool({
    name: "service_logs",
    description:
      "Reads the logs of one of the project's services, newest first, for at most 24 hours. Default: the last hour.",
    ...RANGE,
    reads: "private",
    selects: ["contains"],
    echoes: ["service", "from", "to"],
    needs: NEEDS,
    input_schema: z.strictObject({
      service: z.enum(Object.keys(SERVICES) as [keyof typeof SERVICES]),
      contains: z.string().min(1).max(200).optional().describe("Text in the line. Case-sensitive."),
      from: time.describe("ISO 8601."),
      to: time,
      limit: z.int().min(1).max(200).optional().describe("Default 50."),
    }),
    output_schema: resultSchema("service lines", "service from to lines:[{ at message }] more"),
    handler: (input, context) =>
      withManagement(context, async (ask) => {
        const { limit = 50 } = input;
        const period = periodOf(input, context.now());
        const contains =
          input.contains === undefined ? "" : ` and position(event_message, ${literal(input.contains)}) > 0`;
        const lines = `select timestamp, event_message from logs where source = '${SERVICES[input.service]}'${contains}`;
        const sql = `${lines} order by timestamp desc limit ${limit + 1}`;
        const query = { sql, iso_timestamp_start: period.from, iso_timestamp_end: period.to };
        const answer = await ask({ path: ["analytics", "endpoints", "logs"], query, answer: logsAnswer });
        if (answer.error) throw new Error(`Supabase could not read the logs: ${wordsOf(answer.error)}`);
        const found = (answer.result ?? []).map(({ timestamp, event_message }) => {
          return { at: isoTime(millisecondsOf(timestamp)), message: event_message };
        });
        const more = found.length > limit ? "There are older lines. Give the time of the last one as `to`." : undefined;
        return { service: input.service, ...period, lines: found.slice(0, limit), more };
      }),
  }),
  defineTool({
    name: "list_migrations",
    description: "Lists the database's migrations, newest first: what changed in its tables. The version shows when.",
    ...SNAPSHOT,
    reads: "private",
    needs: NEEDS,
    input_schema: z.strictObject({ limit: z.int().min(1).max(200).optional().describe("Default 30.") }),
    output_schema: resultSchema("total migrations", "total:number migrations:[{ version name }] left_out:number"),
    handler: ({ limit = 30 }, context) =>
      withManagement(context, async (ask) => {
        const answer = z.array(z.object({ version: z.string(), name: some }));
        const all = await ask({ path: ["database", "migrations"], answer });
        const newest = [...all].sort((a, b) => (a.version < b.version ? 1 : -1));
        const { shown, left_out } = firstOf(newest, limit);
        return { total: newest.length, migrations: shown, left_out };
      }),
  }),
  defineTool({
    name: "list_advisories",
    description:
      "Lists the findings of Supabase's advisor, worst first: missing indexes and slow policies, or tables without row-level security and exposed functions. The list is long: set level first.",
    ...SNAPSHOT,
    reads: "private",
    selects: ["kind", "level", "contains"],
    needs: NEEDS,
    input_schema: z.strictObject({
      kind: z.enum(["performance", "security"]),
      level: z.enum(["ERROR", "WARN", "INFO"]).optional().describe("Only this level. Default: all."),
      contains: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe("In the affected object, such as a table's name. Case-insensitive."),
      limit: z.int().min(1).max(100).optional().describe("Default 20."),
    }),
    output_schema: resultSchema(
      "advisories",
      "advisories:[{ name level title detail about remedy }] levels:any matching:number left_out:number note",
    ),
    handler: (input, context) =>
      withManagement(context, async (ask) => {
        const answer = z.object({ lints: z.array(lint) });
        const { lints } = await ask({ path: ["advisors", input.kind], answer });
        const words = input.contains?.toLowerCase() ?? "";
        const matching = lints
          .map(adviceOf)
          .filter(({ level }) => !input.level || level === input.level)
          .filter((one) => JSON.stringify(one).toLowerCase().includes(words))
          .sort((a, b) => rankOf(a.level) - rankOf(b.level));
        const { shown, ...counts } = firstOf(matching, input.limit ?? 20);
        const levels = LEVELS.map((level) => [level, lints.filter((one) => one.level === level).length] as const);
        return {
          advisories: shown,
          levels: Object.fromEntries(levels),
          ...counts,
          note: lints.length === 0 ? "The advisor has no findings." : undefined,
        };
      }),
  }),
];

const LEVELS: readonly string[] = ["ERROR", "WARN", "INFO"];

function rankOf(level: string): number {
  return LEVELS.indexOf(level);
}

const some = lenient(z.string());

const lint = z.object({
  ...each(z.string(), "name level"),
  ...each(some, "title detail remediation"),
  metadata: lenient(z.object({ schema: some, name: some })),
});

function adviceOf({ name, level, title, detail, remediation, metadata }: z.infer<typeof lint>) {
  const about = [metadata?.schema, metadata?.name].filter((part) => part).join(".") || undefined;
  return { name, level, title, detail: detail && clip(detail, 400), about, remedy: remediation };
}

const logsAnswer = z.object({
  result: z.array(z.object({ timestamp: z.union([z.number(), z.string()]), event_message: some })).nullish(),
  error: z.unknown().optional(),
});

/**
 * Reads a time in microseconds since 1970, or as ClickHouse writes it: `2026-01-31 08:00:00.000400`, in UTC. Rounds it up, so
 * that a next call up to this time includes older lines of the same millisecond.
 */
function millisecondsOf(timestamp: number | string): number {
  if (typeof timestamp === "number") return Math.ceil(timestamp / 1000);
  const [, second = "", fraction = "", zone = ""] = /^([^.]*\d)(\.\d+)?(Z|[+-]\d\d:?\d\d)?$/.exec(timestamp) ?? [];
  return Date.parse(`${second.replace(" ", "T")}${zone || "Z"}`) + Math.ceil(Number(`0${fraction}`) * 1000);
}

const said = z.union([z.string(), z.object({ message: z.string() }).transform(({ message }) => message)]).catch("");

function wordsOf(error: unknown): string {
  return clip(said.parse(error).replace(/\s+/g, " "), 400);
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

function periodOf({ from, to }: GivenPeriod, now: number) {
  const end = to === undefined ? now : Date.parse(to);
  const start = from === undefined ? end - HOUR_MS : Date.parse(from);
  if (Number.isNaN(start) || Number.isNaN(end)) throw new Error("`from` or `to` is not a time.");
  if (start >= end) throw new Error("The period is empty: from must be before to.");
  if (end - start > DAY_MS) throw new Error("Logs can be read for at most 24 hours at a time. Narrow `from` and `to`.");
  return { from: new Date(start).toISOString(), to: new Date(end).toISOString() };
}

/** Returns a BigQuery string literal, in which backslashes and quotes need escapes and line breaks are invalid. */
function literal(text: string): string {
  const escaped = text.replace(/[\\']/g, "\\$&").replace(/\p{Cc}/gu, " ");
  return `'${escaped}'`;
}

const MANAGEMENT: Service = {
  name: "Supabase",
  address: "SUPABASE_MANAGEMENT_URL",
  usual: "https://api.supabase.com",
  keys: ["SUPABASE_ACCESS_TOKEN"],
  headers: (config) => authorization(undefined, requiredKey(config, "SUPABASE_ACCESS_TOKEN")),
  instead: "Check SUPABASE_PROJECT.",
};

/** Runs work on the management API. Paths are relative to the project. */
function withManagement(context: ToolContext, work: (ask: Ask) => Promise<unknown>) {
  return withService(MANAGEMENT, context, (ask) =>
    work((asking) => ask({ ...asking, path: ["v1", "projects", projectOf(context), ...asking.path] })),
  );
}

/** Returns the project's reference, such as `abcdefgh` in https://abcdefgh.supabase.co. */
function projectOf({ config }: ToolContext): string {
  const url = config["SUPABASE_URL"] ?? "";
  const host = URL.canParse(url) ? new URL(url).hostname : "";
  const reference = config["SUPABASE_PROJECT"]?.trim() || /^([a-z0-9]+)\.supabase\.(?:co|in)$/.exec(host)?.[1];
  if (reference && /^[a-z0-9]{1,40}$/.test(reference)) return reference;
  throw new Error("Cannot derive the project from SUPABASE_URL. Set SUPABASE_PROJECT to its reference.");
}
