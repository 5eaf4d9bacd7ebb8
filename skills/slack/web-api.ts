import type { ToolContext } from "skillflow";
import { explainCode, unclear } from "./failure.ts";
import { patientFetch } from "./patience.ts";

interface Answer {
  readonly ok: boolean;
  readonly error?: string;
  readonly [key: string]: unknown;
}

/** Calls a method of Slack's Web API as the bot. A refusal comes as `{ok: false}` with status 200. */
export async function callApi(method: string, body: unknown, context: ToolContext): Promise<Answer> {
  const response = await patientFetch(context)(`${baseUrl(context)}/${method}`, {
    method: "POST",
    redirect: "error",
    headers: {
      authorization: `Bearer ${context.config["SLACK_BOT_TOKEN"]?.trim()}`,
      "content-type": "application/json; charset=utf-8",
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const answer = parse(text);
  if (response.status >= 500) throw unclear(response.status, answer?.error);
  if (answer?.ok === true) return answer;
  if (answer?.error) throw explainCode(answer.error, { ...answer, status: response.status });
  if (response.ok) throw new Error(`${NOT_SLACK} Whether the message was sent is unclear.`);
  throw new Error(`Slack refused the request (${response.status}). ${NOT_SLACK}`);
}

/** Who the bot is; a webhook alone cannot be asked anything without posting. */
export async function describeBot(context: ToolContext): Promise<string> {
  if (!context.config["SLACK_BOT_TOKEN"]) return "not asked: a webhook tells nothing without posting";
  const { user, team } = await callApi("auth.test", {}, context);
  return `${String(user)} in ${String(team)}`;
}

const NOT_SLACK = "The answer is not of Slack's form: check SLACK_API_URL, and any proxy before it.";

function baseUrl({ config }: ToolContext): string {
  const url = config["SLACK_API_URL"] || "https://slack.com/api";
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url.replace(/\/+$/, "");
  throw new Error("SLACK_API_URL is not an http or https address.");
}

function parse(text: string): Answer | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && "ok" in value ? (value as Answer) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
