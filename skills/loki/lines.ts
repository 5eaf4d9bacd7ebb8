import { clip, isoPeriod, lastHour, type Period, periodOf, RANGE, resultSchema } from "skillflow/internal";
import * as z from "zod";
import { bounds, isoNanoseconds, query } from "./fields.ts";
import { answered, labels, lokiTool, readOf, stats } from "./service.ts";

const LINES = `from to lines:[{ at line labels:any }] shared_labels:any by_level:any read:{ bytes:number lines:number } next:{ from
  to } note`;

export const lineTools = [
  lokiTool({
    name: "search_logs",
    description:
      "Reads log lines by LogQL, newest first. Expensive for long periods: count with count_logs and list the kinds of lines with list_patterns first, then read a few lines of a short period.",
    ...RANGE,
    selects: ["query"],
    echoes: ["from", "to"],
    input_schema: z.strictObject({
      query: query.describe(
        'A selector and filters: {app="checkout"} |= "timeout" != "health" | json | status >= 500.',
      ),
      ...lastHour,
      oldest_first: z.boolean().optional().describe("Shows how a problem began. Default false."),
      limit: z.int().min(1).max(100).optional().describe("Default 20."),
    }),
    output_schema: resultSchema("lines", LINES),
    work: async (ask, input, context) => {
      const period = periodOf(input, context.now());
      const limit = input.limit ?? 20;
      const { data } = await ask({
        path: ["query_range"],
        query: {
          query: input.query,
          ...bounds(period),
          limit,
          direction: input.oldest_first ? "forward" : "backward",
        },
        answer: linesAnswer,
      });
      if (data.resultType !== "streams") throw new Error("This query returns numbers, not lines. Use count_logs.");
      const sign = input.oldest_first ? 1 : -1;
      const lines = data.result
        .flatMap(({ stream, values }) => values.map(([at, line]) => ({ at, line, stream })))
        .sort((a, b) => sign * (a.at < b.at ? -1 : Number(a.at > b.at)));
      const shared = sharedLabels(data.result.map(({ stream }) => stream));
      return {
        ...isoPeriod(period),
        lines: lines.map(({ at, line, stream }) => ({
          at: isoNanoseconds(at),
          line: clip(line, LONGEST_LINE),
          labels: withoutLabels(stream, shared),
        })),
        shared_labels: Object.keys(shared).length > 0 ? shared : undefined,
        by_level: levelsOf(lines.map(({ stream }) => stream)),
        read: readOf(data.stats),
        ...restOf(lines.length >= limit ? lines.at(-1)?.at : undefined, period, input.oldest_first === true),
        ...(lines.length === 0 ? { note: NOTHING } : {}),
      };
    },
  }),
];

const LONGEST_LINE = 2000;
const NOTHING =
  "The query is valid, but no line of this period matches. Check the labels with list_labels, and the filters one by one.";

const stream = z.object({ stream: labels, values: z.array(z.tuple([z.string(), z.string()]).rest(z.unknown())) });
const linesAnswer = answered(
  z.discriminatedUnion("resultType", [
    z.object({ resultType: z.literal("streams"), result: z.array(stream), stats }),
    z.object({ resultType: z.enum(["matrix", "vector", "scalar"]) }),
  ]),
);

type Labels = Readonly<Record<string, string>>;

/** Returns the labels that all streams share, so that they are shown only once. */
function sharedLabels([first, ...others]: readonly Labels[]): Labels {
  const shared = Object.entries(first ?? {}).filter(([name, value]) => others.every((own) => own[name] === value));
  return Object.fromEntries(shared);
}

function withoutLabels(own: Labels, shared: Labels) {
  const left = Object.entries(own).filter(([name]) => !Object.hasOwn(shared, name));
  return left.length > 0 ? Object.fromEntries(left.slice(0, MOST_LABELS)) : undefined;
}

const MOST_LABELS = 12;
const LEVELS = ["detected_level", "level", "severity"];

function levelsOf(streams: readonly Labels[]) {
  const counts: Record<string, number> = {};
  for (const own of streams) {
    const level = LEVELS.map((name) => own[name]).find((value) => value !== undefined);
    if (level !== undefined) counts[level] = (counts[level] ?? 0) + 1;
  }
  return Object.keys(counts).length > 0 ? counts : undefined;
}

/**
 * Returns the period to read next: from `from` to before `to`. Lines of the same millisecond may repeat. If one
 * millisecond has more lines than the limit, the period excludes it, because the same period would never end.
 */
function restOf(last: string | undefined, { from: begin, to: end }: Period, isForward: boolean) {
  if (last === undefined) return {};
  const at = Number(BigInt(last) / 1_000_000n);
  const isStuck = isForward ? at <= begin : at + 1 >= end;
  const edge = isForward === isStuck ? at + 1 : at;
  const next = isForward ? { from: edge, to: end } : { from: begin, to: edge };
  return { next: next.from < next.to ? isoPeriod(next) : undefined, note: isStuck ? CROWDED : MORE };
}

const MORE = "There may be more lines. Continue with the period in `next`, or narrow the query.";
const CROWDED =
  "One millisecond has at least as many lines as `limit`, and `next` skips the others. Narrow the query to see them.";
