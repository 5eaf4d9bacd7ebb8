import {
  clip,
  describeTrace,
  each,
  isoTime,
  LASTING,
  lastHour,
  lenient,
  pick,
  RANGE,
  resultSchema,
  type TraceSpan,
  textLike,
  traceShape,
} from "skillflow/internal";
import * as z from "zod";
import {
  answered,
  attribute,
  attributesOf,
  milliseconds,
  number,
  periodParameters,
  query,
  tempoTool,
  text,
} from "./service.ts";

const TRACE = `trace service name at duration_ms:number services:any matched:number spans:[{ name duration_ms:number attributes:any
  }]`;

export const traceTools = [
  tempoTool({
    name: "search_traces",
    description:
      "Finds traces by TraceQL, with the matching spans: failed or slow requests of a service. Returns an arbitrary selection of the matches: narrow the period. For counts and latencies over time: measure_spans. For one trace: get_trace.",
    ...RANGE,
    selects: ["query"],
    input_schema: z.strictObject({
      query: query.describe('{resource.service.name="checkout" && status=error}, or && span:duration>2s.'),
      ...lastHour,
      limit: z.int().min(1).max(100).optional().describe("Default 20."),
      longest_first: z.boolean().optional().describe("Sorts the found traces. Default: newest first."),
    }),
    output_schema: resultSchema("traces", `traces:[{ ${TRACE} }] note`),
    work: async (ask, input, context) => {
      const limit = input.limit ?? 20;
      const told = await ask({
        path: ["search"],
        query: { q: input.query, ...periodParameters(input, context.now()), limit, spss: 3 },
        answer: searchAnswer,
      });
      const found = (told.traces ?? []).map(briefOf);
      const sorted = found.sort((a, b) =>
        input.longest_first ? (b.duration_ms ?? 0) - (a.duration_ms ?? 0) : (a.at ?? "") < (b.at ?? "") ? 1 : -1,
      );
      return { traces: sorted, note: noteOf(found.length, limit) };
    },
  }),
  tempoTool({
    name: "get_trace",
    description:
      "Reads one trace as a tree: where the time went (each span's own time, summed by service), what failed, and when. For a large trace: the failed and the longest spans with their ancestors.",
    ...LASTING,
    selects: ["attributes"],
    echoes: ["trace"],
    input_schema: z.strictObject({
      trace: textLike(/^[0-9a-fA-F]{1,32}$/, 32).describe(
        "Id of the trace, from search_traces, a log line or an exemplar.",
      ),
      limit: z.int().min(1).max(100).optional().describe("Number of spans. Default 40."),
      attributes: z
        .array(z.string().min(1).max(100))
        .max(20)
        .optional()
        .describe(
          "Attributes to show, such as db.query.text. Default: the common ones for HTTP, RPC, databases and errors.",
        ),
    }),
    output_schema: resultSchema("trace spans", `trace ${traceShape} note`),
    work: async (ask, input) => {
      const told = await ask({
        path: ["traces", input.trace],
        instead: "The trace is no longer stored, was not sampled, or the id is wrong. search_traces finds ids.",
        answer: traceAnswer,
      });
      const spans = (told.batches ?? told.resourceSpans ?? []).flatMap(spansOf);
      const note = spans.length === 0 ? "Tempo has the trace, but no span of it." : undefined;
      return {
        trace: input.trace,
        ...describeTrace(spans, { most: input.limit ?? 40, attributes: input.attributes }),
        note,
      };
    },
  }),
];

function noteOf(found: number, limit: number): string | undefined {
  if (found === 0)
    return "The query is valid, but no trace of this period matches. list_attributes lists names and values.";
  return found >= limit ? "There are more. Narrow the query or the period, or count with measure_spans." : undefined;
}

const found = z.object({ ...each(text, "name durationNanos"), attributes: lenient(z.array(attribute)) });
const trace = z.object({
  traceID: z.string(),
  ...each(text, "rootServiceName rootTraceName startTimeUnixNano"),
  durationMs: number,
  serviceStats: lenient(z.record(z.string(), z.object({ spanCount: number, errorCount: number }))),
  spanSets: lenient(z.array(z.object({ matched: number, spans: z.array(found).nullish() }))),
});
const searchAnswer = answered({ traces: z.array(trace).nullish() });

function briefOf(found: z.infer<typeof trace>) {
  const sets = found.spanSets ?? [];
  return {
    ...pick(found, "trace:traceID service:rootServiceName name:rootTraceName"),
    at: isoTime(milliseconds(found.startTimeUnixNano)),
    duration_ms: found.durationMs,
    services: found.serviceStats,
    matched: sets.reduce((sum, { matched }) => sum + (matched ?? 0), 0) || undefined,
    spans: sets
      .flatMap(({ spans }) => spans ?? [])
      .slice(0, 3)
      .map(({ name, durationNanos, attributes }) => ({
        name: name && clip(name, 200),
        duration_ms: milliseconds(durationNanos),
        attributes: attributesOf(attributes),
      })),
  };
}

const span = z.object({
  spanId: z.string(),
  ...each(text, "parentSpanId name"),
  kind: z.unknown().optional(),
  startTimeUnixNano: z.unknown().optional(),
  endTimeUnixNano: z.unknown().optional(),
  attributes: lenient(z.array(attribute)),
  status: lenient(z.object({ code: z.unknown().optional(), message: text })),
  events: lenient(z.array(z.object({ name: text, attributes: lenient(z.array(attribute)) }))),
});
const spanLists = z.array(z.object({ spans: z.array(span).nullish() })).nullish();
const batch = z.object({
  resource: lenient(z.object({ attributes: z.array(attribute).nullish() })),
  scopeSpans: spanLists,
  instrumentationLibrarySpans: spanLists,
});
/** Response of a trace. Older versions of Tempo use `batches` for OpenTelemetry's `resourceSpans`. */
const traceAnswer = answered({ batches: z.array(batch).nullish(), resourceSpans: z.array(batch).nullish() });

function spansOf({ resource, scopeSpans, instrumentationLibrarySpans }: z.infer<typeof batch>): TraceSpan[] {
  const own = attributesOf(resource?.attributes);
  const spans = (scopeSpans ?? instrumentationLibrarySpans ?? []).flatMap((scope) => scope.spans ?? []);
  return spans.map((one) => {
    const thrown = attributesOf(one.events?.find(({ name }) => name === "exception")?.attributes);
    const start = milliseconds(one.startTimeUnixNano);
    return {
      id: idOf(one.spanId) ?? one.spanId,
      parent: idOf(one.parentSpanId),
      service: String(own["service.name"] ?? "unknown"),
      name: one.name ?? "",
      kind: kindOf(one.kind),
      start,
      duration: Math.max(0, milliseconds(one.endTimeUnixNano) - start),
      failed: one.status?.code === 2 || one.status?.code === "STATUS_CODE_ERROR",
      message: one.status?.message || undefined,
      attributes: { ...own, ...thrown, ...attributesOf(one.attributes) },
    };
  });
}

/** Converts an id, which may be base64, to hexadecimal. */
function idOf(id: string | null | undefined): string | undefined {
  if (!id) return undefined;
  return /^[0-9a-f]{16}$/i.test(id) ? id : Buffer.from(id, "base64").toString("hex");
}

const KINDS = ["unspecified", "internal", "server", "client", "producer", "consumer"];

function kindOf(kind: unknown): string | undefined {
  if (typeof kind === "number") return KINDS[kind];
  return typeof kind === "string" ? kind.replace(/^SPAN_KIND_/, "").toLowerCase() : undefined;
}
