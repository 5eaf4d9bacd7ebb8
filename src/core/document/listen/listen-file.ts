import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";
import {
  durationSchema,
  lazyStrictObject,
  matching,
  optional,
  pathSchema,
  positive,
  text,
  writesMode,
} from "../../skill/field.ts";
import { modelChoice } from "../model-list.ts";
import { conditionSchema } from "../workflow/rule.ts";

/** Configuration of `skillflow listen` (`listen.yml`): type, validator and published schema. */

const WEBHOOK_KINDS = ["generic", "sentry", "datadog", "betterstack", "pagerduty", "grafana", "github"] as const;
export type WebhookKind = (typeof WEBHOOK_KINDS)[number];

/** Name of a source. It is a URL path and a prefix of run ids, so it must differ from our own paths. */
const SOURCE_NAME = /^(?!(?:health|metrics|approve)$)[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
const NAMING = "is not a source name: use up to 64 letters, digits, _ and -, but not health, metrics or approve";

const sourceName = lazy(() => matching(SOURCE_NAME, NAMING));

const SIZE = /^(\d{1,9})(B|KB|KiB|MB|MiB)?$/;
const UNITS: Readonly<Record<string, number>> = { B: 1, KB: 1000, KiB: 1024, MB: 1000 ** 2, MiB: 1024 ** 2 };
const MOST_BODY = 64 * 1024 ** 2;

export function parseSize(size: string | number): number | undefined {
  const [, digits, unit = "B"] = SIZE.exec(String(size)) ?? [];
  return digits === undefined ? undefined : Number(digits) * (UNITS[unit] ?? 1);
}

const size = lazy(() =>
  z
    .union([
      z.int().meta({ minimum: 1, maximum: MOST_BODY }),
      matching(SIZE, "is not a size: use bytes, or 256KiB, 1MiB"),
    ])
    .refine((given) => {
      const bytes = parseSize(given) ?? (typeof given === "number" ? 0 : 1); // another text is not a size
      return bytes >= 1 && bytes <= MOST_BODY;
    }, "must be between 1 and 64MiB"),
);

const variable = lazy(() => matching(/^[A-Za-z_][A-Za-z0-9_]*$/, "is not a variable name"));

const source = lazyStrictObject(() => ({
  kind: z.enum(WEBHOOK_KINDS).describe("Sender of the webhooks. Decides how requests are authenticated."),
  secret: variable().describe("Name of the variable that holds the secret or the token, never the value itself"),
  workflow: text().describe("Workflow file, relative to the folder of this file"),
  input: optional(
    z.record(z.string(), z.json()),
    "Input of the run. {{body.path}} inserts a value. A string that is only {{body.path}} keeps the value's type.",
  ),
  when: optional(
    conditionSchema(),
    "Condition for starting a run. Other requests are answered and ignored. Paths begin with body or event.",
  ),
  fingerprint: optional(
    pathSchema(),
    "Path of a key that alerts of one cause share, body.PATH or input.FIELD. Such alerts join one run.",
  ),
  cool_down: optional(durationSchema(), "How long after a run ends alerts with its fingerprint join it"),
}));
export type ListenSource = Fitting<typeof source>;

const limits = lazyStrictObject(() => ({
  concurrency: optional(positive(), "Maximum number of concurrent runs (default 4)"),
  queue: optional(positive(), "Maximum number of queued runs. Further requests are rejected. Default: 1000."),
  per_day: optional(
    z.strictObject({
      max_runs: optional(positive(), "Maximum number of runs started by webhooks per UTC day (default 500)"),
      max_cost_usd: optional(
        z.number().positive(),
        "Maximum cost of all runs started by webhooks per UTC day, in US dollars",
      ),
    }),
    "Daily limits. Usage is stored with the states, so a restart keeps it.",
  ),
}));

const approvals = lazyStrictObject(() => ({
  to: optional(
    z
      .array(matching(/\S/, "must not be blank"))
      .min(1)
      .meta({ uniqueItems: true })
      .refine((to) => new Set(to).size === to.length, "must not have anyone twice"),
    "People who can decide. Each gets a separate link, and is recorded as `by` of the decision. Default: one link.",
  ),
  url: optional(
    matching(/^https?:\/\/[^/?#\s@]+(?:\/[^?#\s]*)?$/, "must be an http:// or https:// address"),
    "Public URL of this listener (default: the address that it listens on)",
  ),
}));

const approvers = lazy(() =>
  z.array(matching(/^[USW][A-Z0-9]{1,31}$/, "is not a Slack id: users begin with U or W, user groups with S")),
);

const slack = lazyStrictObject(() => ({
  channels: z
    .record(
      matching(/^[CDG][A-Z0-9]{1,31}$/, "is not the id of a Slack channel, such as C0123456789"),
      z.strictObject({
        workflow: text().describe("Workflow file that a mention starts, relative to the folder of this file"),
        approvers: optional(approvers(), "Who can decide in this channel. Replaces the general list."),
      }),
    )
    .meta({ minProperties: 1 })
    .refine((channels) => Object.keys(channels).length > 0, "must not be empty")
    .describe("Channels, by id, in which a mention of the app starts a run"),
  approvers: optional(approvers(), "Ids of users and user groups that can decide. Default: none."),
}));

/** Input of a run that a mention in Slack starts. A workflow that declares inputs gets those that it declares. */
export const SLACK_INPUTS = ["text", "channel", "thread_ts", "user", "permalink"] as const;

export const listenFileSchema = lazyStrictObject(() => ({
  host: optional(text(), "Address to listen on (default 127.0.0.1)"),
  port: optional(z.int().min(0).max(65_535), "Port to listen on (default 8080). 0 selects a free port."),
  max_body: optional(size(), "Maximum size of a request body (default 1MiB)"),
  model: optional(modelChoice(), "Default model, PROVIDER:NAME, as in --model, or a list of models"),
  writes: optional(writesMode(), "Same as --writes. The strictest value of the files and the workflow applies."),
  sources: optional(
    z
      .record(sourceName(), source())
      .meta({ minProperties: 1 })
      .refine((sources) => Object.keys(sources).length > 0, "must not be empty"),
    "Webhook sources, by name. Source NAME is POST /NAME. Can be absent if slack is present.",
  ),
  slack: optional(slack(), "Mentions, buttons and approvals in Slack"),
  limits: optional(limits(), "Limits for all runs together"),
  metrics: optional(
    z.strictObject({ token: variable().describe("Name of the variable that holds the token of GET /metrics") }),
    "Access to the metrics from other machines",
  ),
  approvals: optional(approvals(), "One-time links for runs that wait for an approval"),
}));
export type ListenFile = Fitting<typeof listenFileSchema>;
