import type {
  IncomingWebhookHTTPError,
  IncomingWebhookRequestError,
  IncomingWebhookSendArguments,
} from "@slack/webhook";
import { parseJson, requestsOf, type ToolContext } from "skillflow";
import { explainCode, patientFetch, unclear } from "./failure.ts";

/** Posts to the incoming webhook. Never retries if the outcome is unknown. */
export async function postToWebhook(message: IncomingWebhookSendArguments, context: ToolContext): Promise<void> {
  const { IncomingWebhook } = await import("@slack/webhook");
  const webhook = new IncomingWebhook(address(context), { fetch: patientFetch(context) });
  await requestsOf(context).send("write", async () => {
    const { text } = await webhook.send(message).catch((error: unknown) => {
      throw refusal(error as IncomingWebhookHTTPError | IncomingWebhookRequestError);
    });
    // Slack answers "ok". Compatible services answer with an object.
    if (text.trim() !== "ok" && typeof parseJson(text) !== "object") throw new Error(NOT_SLACK);
  });
}

const NOT_SLACK =
  "The response is not from Slack. Check SLACK_WEBHOOK_URL. Whether the message was sent is unclear: check before you send it again.";

function address({ config }: ToolContext): string {
  const url = config["SLACK_WEBHOOK_URL"]?.trim();
  if (!url) throw new Error("SLACK_WEBHOOK_URL is not set, so no webhook can be used.");
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new Error("SLACK_WEBHOOK_URL must be an http or https address.");
}

function refusal(error: IncomingWebhookHTTPError | IncomingWebhookRequestError): Error {
  if ("original" in error) return error.original;
  if (!("statusCode" in error)) return error;
  const code = String(error.body ?? "").trim();
  return error.statusCode >= 500 ? unclear(error.statusCode, code) : explainCode(code, { status: error.statusCode });
}
