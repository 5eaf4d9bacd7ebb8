import { createHash } from "node:crypto";
import { parseJson } from "skillflow";
import { clip, memberAt } from "skillflow/internal";
import { webhookAddress } from "../address.ts";
import { type Channel, idempotencyKey, setting } from "../channel.ts";
import { bodyText, factsOf, fitted, type Notice, type Severity } from "../notice.ts";
import { post } from "../post.ts";

const KEY = "OPSGENIE_API_KEY";
/** Jira Service Management, which replaces Opsgenie, has the same API at https://api.atlassian.com/jsm/ops/integration. */
const VENDOR = {
  name: "Opsgenie",
  hosts: ["api.opsgenie.com", "api.eu.opsgenie.com", "api.atlassian.com"],
  address: "https://api.opsgenie.com/v2/alerts",
} as const;

/** Creates an alert. A repeated call has the same alias, so Opsgenie does not create a second one. */
export const opsgenieChannel: Channel = {
  needs: [KEY],
  open: (context) => {
    const url = webhookAddress(context, "OPSGENIE_ALERTS_URL", VENDOR);
    const key = setting(context, KEY);
    if (!/^[\w-]{20,64}$/.test(key)) throw new Error(`${KEY} is not the key of an API integration.`);
    return async (notice) => {
      const alias = createHash("sha256").update(idempotencyKey(context, notice)).digest("hex").slice(0, 40);
      const body = JSON.stringify({ alias, source: "skillflow", ...alertOf(notice) });
      const headers = () => ({ authorization: `GenieKey ${key}` });
      const { text } = await post({ service: "Opsgenie", field: KEY, url, body, headers, isRepeatable: true }, context);
      const request = memberAt(parseJson(text), "requestId");
      return { alias, ...(typeof request === "string" ? { request_id: clip(request, 60) } : {}) };
    };
  },
};

const LONGEST_MESSAGE = 130;

function alertOf(notice: Notice) {
  const { title, severity = "warning", fields } = notice;
  const message = fitted(title, LONGEST_MESSAGE);
  return { message, description: bodyText(notice), priority: PRIORITIES[severity], details: factsOf(fields) };
}

const PRIORITIES: Readonly<Record<Severity, string>> = { critical: "P1", error: "P2", warning: "P3", info: "P5" };
