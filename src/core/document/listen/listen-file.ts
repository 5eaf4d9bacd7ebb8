import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";
import { durationSchema, pathSchema } from "../../skill/field.ts";
import { conditionSchema } from "../workflow/rule.ts";

/** Configuration of `skillflow listen` (`listen.yml`): type, validator and published schema. */

export const WEBHOOK_KINDS = ["generic", "sentry", "datadog", "betterstack", "pagerduty", "grafana", "github"] as const;
export type WebhookKind = (typeof WEBHOOK_KINDS)[number];

const text = lazy(() => z.string().min(1));
const count = lazy(() => z.int().min(1));

/** Name of a source. It is a URL path and a prefix of run ids, so it must differ from our own paths. */
const SOURCE_NAME = /^(?!(?:health|approve)$)[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
const NAMING = "is no name of a source: up to 64 letters, digits, _ and -, and neither health nor approve";

const sourceName = lazy(() => z.string().regex(SOURCE_NAME, NAMING));

const SIZE = /^(\d{1,9})(B|KB|KiB|MB|MiB)?$/;
const UNITS: Readonly<Record<string, number>> = { B: 1, KB: 1000, KiB: 1024, MB: 1000 ** 2, MiB: 1024 ** 2 };
const MOST_BODY = 64 * 1024 ** 2;

/** Parses a size in bytes. Returns undefined if it is malformed. */
export function parseSize(size: string | number): number | undefined {
  const [, digits, unit = "B"] = SIZE.exec(String(size)) ?? [];
  return digits === undefined ? undefined : Number(digits) * (UNITS[unit] ?? 1);
}

const size = lazy(() =>
  z
    .union([z.int().min(1).max(MOST_BODY), z.string().regex(SIZE, "is no size: use bytes, or 256KiB, 1MiB")])
    .refine((given) => {
      const bytes = parseSize(given) ?? 0;
      return bytes >= 1 && bytes <= MOST_BODY;
    }, "must be between 1 and 64MiB"),
);

const source = lazy(() =>
  z.strictObject({
    kind: z.enum(WEBHOOK_KINDS).describe("who sends, and so how a request shows that it is genuine"),
    secret: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "is no name of a variable")
      .describe("name of the variable that holds the secret or the token, never the value itself"),
    workflow: text().describe("its file, from the folder of this one"),
    input: z
      .record(z.string(), z.json())
      .optional()
      .describe("the run's input: texts may hold {{body.path}}; a lone one keeps its type"),
    when: conditionSchema()
      .optional()
      .describe("what does not fit it is answered, and starts nothing: paths begin in body or event"),
    fingerprint: pathSchema()
      .optional()
      .describe("what alerts of one cause have in common: they are joined to one run; body.PATH or input.FIELD"),
    cool_down: durationSchema()
      .optional()
      .describe("how long after the run of a fingerprint others of it are joined to it"),
  }),
);
export type ListenSource = Fitting<typeof source>;

const limits = lazy(() =>
  z.strictObject({
    concurrency: count().optional().describe("so many runs at a time; default 4"),
    queue: count().optional().describe("so many may wait, all others are refused; default 1000"),
    per_day: z
      .strictObject({
        max_runs: count().optional().describe("of all sources, by UTC; default 500"),
        max_cost_usd: z.number().positive().optional().describe("of all runs that webhooks began, by UTC"),
      })
      .optional()
      .describe("counted where runs remember, so that a restart forgets nothing"),
  }),
);

const approvals = lazy(() =>
  z.strictObject({
    to: z
      .array(text())
      .min(1)
      .optional()
      .describe("who may decide: each gets a link of their own, and is the `by` of their word; default: one link"),
    url: z
      .string()
      .regex(/^https?:\/\/[^/?#\s@]+(?:\/[^?#\s]*)?$/, "must be an http:// or https:// address")
      .optional()
      .describe("where people reach this listener; default: the address that it listens on"),
  }),
);

export const listenFileSchema = lazy(() =>
  z.strictObject({
    host: text().optional().describe("the address to listen on; default 127.0.0.1"),
    port: z.int().min(0).max(65_535).optional().describe("default 8080; 0 takes a free one"),
    max_body: size().optional().describe("larger requests are refused; default 1MiB"),
    model: text().optional().describe("PROVIDER:NAME, as --model takes it"),
    writes: z
      .enum(["allow", "plan", "deny"])
      .optional()
      .describe("as --writes says it; the strictest of files and workflow counts"),
    sources: z
      .record(sourceName(), source())
      .meta({ minProperties: 1 })
      .refine((sources) => Object.keys(sources).length > 0, "sources must not be empty")
      .describe("name -> who may start what: source NAME is POST /NAME"),
    limits: limits().optional().describe("what all runs together may do"),
    approvals: approvals().optional().describe("the one-time links of runs that wait for a person's word"),
  }),
);
export type ListenFile = Fitting<typeof listenFileSchema>;
