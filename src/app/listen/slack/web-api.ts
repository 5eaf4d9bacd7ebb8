import { setTimeout as sleep } from "node:timers/promises";
import { messageOf, usageError } from "../../../core/base/errors.ts";
import { isObject, type JsonObject, parseJson } from "../../../core/base/values.ts";
import { readCapped } from "../../../loaders/text/bounded.ts";
import { openFetch } from "../../adapters/fetch.ts";
import type { Workspace } from "../../host.ts";
import { environmentRedactor } from "../../secrets.ts";

export type SlackApi = ReturnType<typeof openSlackApi>;

export type SlackAnswer =
  | { readonly kind: "ok"; readonly body: JsonObject }
  /** Slack refused the call with one of its error codes. */
  | { readonly kind: "refused"; readonly error: string }
  /** `acted` is true if Slack may have carried out the call all the same. */
  | { readonly kind: "later"; readonly error: string; readonly afterMs: number; readonly acted: boolean };

/** Methods that only read. They take a query instead of a body. */
const READS: ReadonlySet<string> = new Set(["chat.getPermalink", "conversations.replies", "usergroups.users.list"]);

/** Keeps Slack from fetching the links of a message. */
export const INERT = { unfurl_links: false, unfurl_media: false };

const TIMEOUT_MS = 10_000;
const MOST_BYTES = 4_000_000;
const MOST_TRIES = 4;
const FIRST_PAUSE_MS = 500;
/** Longest pause that `patiently` waits for. */
const MOST_PAUSE_MS = 60_000;
const FAILURES: ReadonlySet<string> = new Set([
  "fatal_error",
  "internal_error",
  "ratelimited",
  "request_timeout",
  "service_unavailable",
]);

/**
 * Opens the API with the bot's token. The environment's secrets are redacted in everything that is sent. `stop` ends
 * the repetitions.
 */
export function openSlackApi(workspace: Workspace, stop: AbortSignal) {
  const { env } = workspace.host;
  const address = addressIn(env.SLACK_API_URL?.trim() || "https://slack.com/api");
  const headers = { authorization: `Bearer ${env.SLACK_BOT_TOKEN ?? ""}`, "user-agent": "skillflow" };
  const redactor = environmentRedactor(workspace);
  const send = openFetch(env, false);

  /** Calls a method once. Never throws. */
  const once = async (method: string, args: JsonObject): Promise<SlackAnswer> => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const safe = redactor.value(args);
    const query = READS.has(method)
      ? `?${new URLSearchParams(Object.entries(safe).map(([name, value]): [string, string] => [name, String(value)]))}`
      : "";
    const body = { method: "POST", body: JSON.stringify(safe) };
    const type = { "content-type": "application/json; charset=utf-8" };
    const init = READS.has(method) ? { headers } : { ...body, headers: { ...headers, ...type } };
    try {
      const response = await send(`${address}/${method}${query}`, { ...init, redirect: "error", signal });
      return answerOf(response, await readCapped(response.body, MOST_BYTES));
    } catch (error) {
      return { kind: "later", error: messageOf(error), afterMs: FIRST_PAUSE_MS, acted: true };
    }
  };

  return {
    once,
    /** Calls a method, and repeats it a few times after a rate limit or a failure of Slack. */
    async patiently(method: string, args: JsonObject): Promise<SlackAnswer> {
      for (let attempt = 1; ; attempt++) {
        const answer = await once(method, args);
        if (answer.kind !== "later" || attempt === MOST_TRIES || stop.aborted) return answer;
        const pause = Math.min(answer.afterMs * 2 ** (answer.acted ? attempt - 1 : 0), MOST_PAUSE_MS);
        await sleep(pause, undefined, { signal: stop }).catch(() => undefined);
      }
    },
  };
}

function addressIn(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isSound = url && /^https?:$/.test(url.protocol) && !(url.username || url.password || url.search || url.hash);
  if (!isSound) throw usageError("SLACK_API_URL is not an http or https address", "write https://slack.com/api");
  return url.href.replace(/\/$/, "");
}

function answerOf({ status, headers }: Response, text: string | undefined): SlackAnswer {
  if (status === 429) {
    const seconds = Number(headers.get("retry-after") ?? "");
    const afterMs = (Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, 3600) : 1) * 1000;
    return { kind: "later", error: "Slack's rate limit is reached", afterMs, acted: false };
  }
  const body = parseJson(text ?? "");
  if (status < 400 && isObject(body) && body.ok === true) return { kind: "ok", body: body as JsonObject };
  const error = isObject(body) && typeof body.error === "string" ? body.error.slice(0, 100) : `status ${status}`;
  if (status >= 500 || FAILURES.has(error)) return { kind: "later", error, afterMs: FIRST_PAUSE_MS, acted: true };
  return { kind: "refused", error };
}
