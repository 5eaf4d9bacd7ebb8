import { refusalOf, requestsOf, type ToolContext } from "skillflow";
import { causeCode, clip, limitAdvice, patiently, retryAfter, toolsWith } from "skillflow/internal";
import { ZodError } from "zod";

/** Runs a tool's work. Rethrows errors with advice, without secrets or a cause: an SDK's may contain the URL. */
async function explaining(context: ToolContext, work: (context: ToolContext) => Promise<unknown>): Promise<unknown> {
  try {
    return await work(context);
  } catch (error) {
    context.signal.throwIfAborted();
    throw requestsOf(context).failure(error, withoutSecrets(textOf(error), context));
  }
}

export const slackTool = toolsWith(explaining);

/** Refusal by Slack with one of its error codes. */
class SlackRefusal extends Error {
  readonly acted: "no" | "unknown";
  readonly passing = false;
  constructor(
    readonly code: string,
    status: number,
    words: string,
  ) {
    super(words);
    // Slack refuses with a code and any status. The codes of its own failures leave the outcome unknown.
    const isRefused = code === "" ? status >= 400 && status !== 408 : !FAILURES.includes(code);
    this.acted = isRefused ? "no" : "unknown";
  }
}

const FAILURES: readonly string[] = ["fatal_error", "internal_error", "request_timeout", "service_unavailable"];

export function isCode(error: unknown, code: string): boolean {
  return error instanceof SlackRefusal && error.code === code;
}

export function explainCode(
  code: string,
  details: { readonly status: number; readonly [key: string]: unknown },
): Error {
  const known = /^[a-z_]{1,60}$/.test(code) ? code : "";
  const advice = ADVICE[known] ?? "";
  const needed = typeof details["needed"] === "string" ? ` The token lacks the scope ${details["needed"]}.` : "";
  const what = known || `status ${details.status}: ${clip(code.replace(/\s+/g, " "), 200) || "no text"}`;
  const words = `Slack refused this (${what}).${advice && ` ${advice}`}${needed}${messagesOf(details)}`;
  return new SlackRefusal(known, details.status, words);
}

export function unclear(status: number, code?: string): Error {
  const named = code && /^[a-z_]{1,60}$/.test(code) ? ` ${code}` : "";
  return new Error(
    `Slack failed (${status}${named}). Whether the message was sent is unclear: check before you send it again.`,
  );
}

const TOKEN = "SLACK_BOT_TOKEN is wrong, expired or revoked.";
const WEBHOOK = "SLACK_WEBHOOK_URL is disabled, removed or wrong.";
const ARCHIVED = "The channel is archived. Choose another.";
const NOT_ALLOWED =
  "The workspace's rules do not allow this app to post there. Ask an administrator, or choose another channel.";
const SHAPE = "Change the blocks or the text.";

const ADVICE: Readonly<Record<string, string>> = {
  account_inactive: TOKEN,
  action_prohibited: NOT_ALLOWED,
  as_user_not_supported: TOKEN,
  cant_update_message: "Only the bot that posted a message can update it.",
  channel_is_archived: ARCHIVED,
  channel_not_found: "The channel does not exist, or the app cannot see it. Check its name, or invite the app.",
  edit_window_closed: "The message is too old to be changed. Send a new one.",
  cannot_dm_bot: "This is a bot. No person would read the message.",
  invalid_auth: TOKEN,
  invalid_cursor: "Start again without cursor.",
  invalid_name: "No emoji has this name.",
  invalid_blocks: SHAPE,
  invalid_blocks_format: SHAPE,
  invalid_payload: SHAPE,
  invalid_token: WEBHOOK,
  is_archived: ARCHIVED,
  message_not_found:
    "There is no message with this ts in this channel. Use both values from the result of send_message.",
  missing_scope: "The app lacks a scope: add it and reinstall the app.",
  msg_too_long: "Shorten the text.",
  no_active_hooks: WEBHOOK,
  no_service: WEBHOOK,
  no_service_id: WEBHOOK,
  no_team: WEBHOOK,
  no_text: "The text must not be empty.",
  not_authed: TOKEN,
  not_in_channel: "The bot is not in this channel. Invite it.",
  not_allowed_token_type:
    "This needs a token of another kind: a bot token (xoxb-), or for search a user token (xoxp-).",
  posting_to_general_channel_denied: NOT_ALLOWED,
  restricted_action: NOT_ALLOWED,
  team_disabled: "The workspace is disabled.",
  thread_not_found:
    "There is no message with this thread_ts in this channel. Use both values from the result of send_message.",
  token_expired: TOKEN,
  token_revoked: TOKEN,
  too_many_reactions: "The message has as many reactions as Slack allows.",
  user_not_found: "No user has this id. Check SLACK_MENTIONS.",
  users_not_found: "No user has this e-mail address, or the token lacks the scope users:read.email.",
};

/** Returns Slack's messages from `response_metadata.messages`, which name the invalid block. */
function messagesOf(details: { readonly [key: string]: unknown }): string {
  const metadata = details["response_metadata"];
  const isListed = typeof metadata === "object" && metadata !== null && "messages" in metadata;
  const messages = isListed && Array.isArray(metadata.messages) ? metadata.messages : [];
  return messages.length > 0 ? ` ${clip(messages.slice(0, 5).map(String).join("; "), 500)}` : "";
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof ZodError) {
    const places = error.issues.slice(0, 3).map(({ path }) => path.join(".") || "the whole");
    return `Slack's response is not in the expected form (${places.join(", ")}).`;
  }
  if (!(error instanceof TypeError && error.cause instanceof Error)) return error.message;
  const outcome = refusalOf(error) ? "Nothing was sent." : "Whether the message was sent is unclear.";
  return `Slack could not be reached${causeCode(error)}. ${outcome}`;
}

function withoutSecrets(text: string, { config }: ToolContext): string {
  const { SLACK_WEBHOOK_URL: url = "", SLACK_BOT_TOKEN: bot = "", SLACK_USER_TOKEN: user = "" } = config;
  const secrets = { SLACK_WEBHOOK_URL: partsOf(url.trim()), SLACK_BOT_TOKEN: [bot], SLACK_USER_TOKEN: [user] };
  return Object.entries(secrets)
    .flatMap(([name, values]) => values.map((value) => [name, value.trim()] as const))
    .filter(([, value]) => value.length > 1)
    .reduce((rest, [name, value]) => rest.replaceAll(value, `[redacted:${name}]`), text);
}

/** Returns a webhook's URL, its path and its last segment, with any of which others could post. */
function partsOf(url: string): readonly string[] {
  if (!URL.canParse(url)) return [url];
  const { pathname } = new URL(url);
  const secret = pathname.split("/").at(-1) ?? "";
  return [url, pathname, ...(secret.length >= SHORTEST_SECRET ? [secret] : [])];
}

const SHORTEST_SECRET = 8;

const UNTOLD_PAUSE_MS = 60_000;

/** Rate-limited request, which Slack did not carry out. */
class Limited extends Error {
  readonly status = 429;
  readonly pause: number;
  constructor(pause: number) {
    super(limitAdvice("Slack", pause));
    this.pause = pause;
  }
}

/** Returns the context's fetch with retries after a 429. */
export function patientFetch({ fetch, signal }: ToolContext) {
  const pauseAfter = (failure: unknown) => (failure instanceof Limited ? failure.pause : undefined);
  return (url: string | URL, init: RequestInit = {}): Promise<Response> =>
    patiently({ signal, pauseAfter }, async () => {
      const response = await fetch(url, { ...init, signal });
      if (response.status !== 429) return response;
      await response.body?.cancel();
      throw new Limited(retryAfter(response.headers.get("retry-after")) ?? UNTOLD_PAUSE_MS);
    });
}
