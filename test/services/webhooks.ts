import { existsSync, readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { type Loopback, type LoopbackRequest, sendJson, startLoopback } from "skillflow/testing";
import * as z from "zod";

/**
 * Discord, Teams and a receiver of signed JSON at one address, each with its path. Each refuses what its vendor
 * refuses.
 */
export interface WebhookService extends Loopback {
  /** Every message that was accepted, as it was sent. */
  readonly discord: readonly DiscordMessage[];
  readonly teams: readonly TeamsMessage[];
}

/** An answer instead of the service's own, or undefined. `before` counts the requests so far. */
export type Script = (request: LoopbackRequest, before: number) => ScriptedAnswer | undefined;

export interface ScriptedAnswer {
  readonly status?: number;
  readonly text?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export const DISCORD_PATH = "/api/webhooks/1200000000000000001/canaryDiscord-token_0123456789";
export const TEAMS_PATH = "/workflows/canaryTeams0123456789/triggers/manual/paths/invoke?sig=canarySignature0123456789";
export const PAGERDUTY_PATH = "/v2/enqueue";
export const OPSGENIE_PATH = "/v2/alerts";
export const PAGERDUTY_KEY = "canaryPagerDuty0123456789abcdef0";
export const OPSGENIE_KEY = "canary00-1234-4567-89ab-0123456789ab";
export const WEBHOOK_PATH = "/hooks/canaryWebhook0123456789";

const CONTRACT = join(import.meta.dirname, "../../../shared/contracts/discord/openapi.json");
export const hasDiscordContract = existsSync(CONTRACT);

export async function startWebhooks(script: Script = () => undefined): Promise<WebhookService> {
  const discord: DiscordMessage[] = [];
  const teams: TeamsMessage[] = [];
  let before = 0;
  const loopback = await startLoopback((request, response) => {
    const answer = script(request, before++) ?? answerFor(request, { discord, teams });
    send(response, answer);
  });
  return { ...loopback, discord, teams };
}

interface Kept {
  readonly discord: DiscordMessage[];
  readonly teams: TeamsMessage[];
}

function answerFor(request: LoopbackRequest, kept: Kept): ScriptedAnswer {
  const isJson = request.method === "POST" && request.headers["content-type"] === "application/json";
  if (!isJson) return { status: 415, text: "JSON is expected" };
  const [path] = request.url.split("?");
  if (path === DISCORD_PATH) return answerDiscord(request, kept.discord);
  if (request.url === TEAMS_PATH) return answerTeams(request, kept.teams);
  if (request.url === PAGERDUTY_PATH) return answerPagerDuty(request);
  if (request.url === OPSGENIE_PATH) return answerOpsgenie(request);
  if (request.url === WEBHOOK_PATH) return { status: 204, text: "" };
  return { status: 404, body: { message: "Unknown Webhook", code: 10015 } };
}

const pagerDutyEvent = z.strictObject({
  routing_key: z.string().length(32),
  event_action: z.enum(["trigger", "acknowledge", "resolve"]),
  dedup_key: z.string().max(255),
  payload: z.strictObject({
    summary: z.string().min(1).max(1024),
    source: z.string().min(1),
    severity: z.enum(["critical", "error", "warning", "info"]),
    custom_details: z.record(z.string(), z.string()),
  }),
  links: z.array(z.strictObject({ href: z.url(), text: z.string() })).optional(),
});

function answerPagerDuty({ body }: LoopbackRequest): ScriptedAnswer {
  const event = pagerDutyEvent.safeParse(JSON.parse(body));
  const errors = event.success
    ? event.data.routing_key === PAGERDUTY_KEY
      ? []
      : ["'routing_key' is invalid"]
    : [String(event.error)];
  if (errors.length > 0)
    return { status: 400, body: { status: "invalid event", message: "Event object is invalid", errors } };
  return { status: 202, body: { status: "success", message: "Event processed", dedup_key: event.data?.dedup_key } };
}

const opsgenieAlert = z.strictObject({
  message: z.string().min(1).max(130),
  alias: z.string().max(512),
  description: z.string().max(15_000),
  priority: z.enum(["P1", "P2", "P3", "P4", "P5"]),
  details: z.record(z.string(), z.string()),
  source: z.string().max(100),
});

function answerOpsgenie({ headers, body }: LoopbackRequest): ScriptedAnswer {
  if (headers.authorization !== `GenieKey ${OPSGENIE_KEY}`) {
    return { status: 401, body: { message: "Key format is not valid!", took: 0.001, requestId: "r" } };
  }
  const alert = opsgenieAlert.safeParse(JSON.parse(body));
  if (!alert.success)
    return {
      status: 422,
      body: { message: "Request body is not processable.", errors: { message: String(alert.error) } },
    };
  return {
    status: 202,
    body: { result: "Request will be processed", took: 0.302, requestId: "43a29c5c-3dbf-4fa4-9c26-f4f71023e120" },
  };
}

const embed = z.strictObject({
  title: z.string().min(1).max(256),
  description: z.string().min(1).max(4096),
  color: z.int().min(0).max(0xffffff).optional(),
  fields: z.array(z.strictObject({ name: z.string().min(1).max(256), value: z.string().min(1).max(1024) })).max(25),
});
const discordMessage = z.strictObject({
  embeds: z
    .array(embed)
    .length(1)
    .refine((embeds) => embeds.every((each) => textsOf(each).join("").length <= 6000)),
  allowed_mentions: z.strictObject({ parse: z.array(z.never()).length(0) }),
});
export type DiscordMessage = z.infer<typeof discordMessage>;

/** All texts of an embed that Discord parses as Markdown. */
export function textsOf({ title, description, fields }: z.infer<typeof embed>): readonly string[] {
  return [title, description, ...fields.flatMap(({ name, value }) => [name, value])];
}

function answerDiscord({ url, body }: LoopbackRequest, messages: DiscordMessage[]): ScriptedAnswer {
  const value: unknown = JSON.parse(body);
  const faults = [...contractFaults(value)];
  const message = discordMessage.safeParse(value);
  if (!message.success || faults.length > 0) {
    const errors = { _errors: [{ code: "INVALID", message: String(message.error ?? faults) }] };
    return { status: 400, body: { message: "Invalid Form Body", code: 50035, errors } };
  }
  messages.push(message.data);
  if (!url.includes("wait=true")) return { status: 204, text: "" };
  return { body: { id: `130000000000000000${messages.length}`, channel_id: "1", type: 0, content: "" } };
}

let validate: ReturnType<Ajv2020["getSchema"]>;

/** Violations of the published contract. Empty if the contract is missing. */
function contractFaults(value: unknown): readonly string[] {
  if (!hasDiscordContract) return [];
  validate ??= new Ajv2020({ strict: false, validateFormats: false })
    .addSchema(JSON.parse(readFileSync(CONTRACT, "utf8")), "discord")
    .getSchema("discord#/components/schemas/IncomingWebhookRequestPartial");
  if (!validate) throw new Error("Discord's contract has no such schema");
  return validate(value) ? [] : (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
}

const textRun = z.strictObject({
  type: z.literal("TextRun"),
  text: z.string(),
  weight: z.enum(["Lighter", "Default", "Bolder"]).optional(),
  size: z.enum(["Small", "Default", "Medium", "Large", "ExtraLarge"]).optional(),
  color: z.enum(["Default", "Accent", "Good", "Warning", "Attention"]).optional(),
});
const teamsMessage = z.strictObject({
  type: z.literal("message"),
  attachments: z
    .array(
      z.strictObject({
        contentType: z.literal("application/vnd.microsoft.card.adaptive"),
        contentUrl: z.null(),
        content: z.strictObject({
          $schema: z.literal("http://adaptivecards.io/schemas/adaptive-card.json"),
          type: z.literal("AdaptiveCard"),
          version: z.enum(["1.2", "1.3", "1.4"]),
          body: z.array(z.strictObject({ type: z.literal("RichTextBlock"), inlines: z.array(textRun).min(1) })).min(1),
          msteams: z.strictObject({ width: z.literal("Full") }),
        }),
      }),
    )
    .length(1),
});
export type TeamsMessage = z.infer<typeof teamsMessage>;

/** The lines of the card in reading order. */
export function cardLines(message: TeamsMessage): readonly string[] {
  const blocks = message.attachments.flatMap(({ content }) => content.body);
  return blocks.map(({ inlines }) => inlines.map(({ text }) => text).join(""));
}

const LARGEST_TEAMS_MESSAGE = 28 * 1024;

function answerTeams({ body }: LoopbackRequest, messages: TeamsMessage[]): ScriptedAnswer {
  if (Buffer.byteLength(body) > LARGEST_TEAMS_MESSAGE) return { status: 413, text: "too large" };
  const message = teamsMessage.safeParse(JSON.parse(body));
  if (!message.success) return { status: 400, text: `Bad payload: ${message.error}` };
  messages.push(message.data);
  return { status: 202, text: "" };
}

function send(response: ServerResponse, { status = 200, text, body, headers }: ScriptedAnswer): void {
  if (text === undefined) {
    sendJson(response, status, body, headers);
  } else {
    response.writeHead(status, { "content-type": "text/plain", ...headers });
    response.end(text);
  }
}
