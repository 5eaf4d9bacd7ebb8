import { createHash } from "node:crypto";
import { clip } from "skillflow/internal";
import { webhookAddress } from "../address.ts";
import { type Channel, idempotencyKey, setting } from "../channel.ts";
import { factsOf, heading, type Notice } from "../notice.ts";
import { post } from "../post.ts";

const KEY = "PAGERDUTY_ROUTING_KEY";
const VENDOR = {
  name: "PagerDuty",
  hosts: ["events.pagerduty.com", "events.eu.pagerduty.com"],
  address: "https://events.pagerduty.com/v2/enqueue",
} as const;

/** Triggers an alert through the Events API v2. A repeated call does not create a second one. */
export const pagerdutyChannel: Channel = {
  needs: [KEY],
  open: (context) => {
    const url = webhookAddress(context, "PAGERDUTY_EVENTS_URL", VENDOR);
    const routing_key = setting(context, KEY);
    if (!/^[\w-]{20,64}$/.test(routing_key)) throw new Error(`${KEY} is not the integration key of a service.`);
    return async (notice) => {
      const dedup_key = createHash("sha256").update(idempotencyKey(context, notice)).digest("hex").slice(0, 40);
      const body = JSON.stringify({ routing_key, event_action: "trigger", dedup_key, ...eventOf(notice) });
      await post({ service: "PagerDuty", field: KEY, url, body, isRepeatable: true }, context);
      return { dedup_key };
    };
  },
};

function eventOf(notice: Notice) {
  const { text, severity = "warning", fields, link } = notice;
  const custom_details = factsOf([...fields, { name: "text", value: text }]);
  return {
    payload: { summary: clip(heading(notice), 900), source: "skillflow", severity, custom_details },
    ...(link ? { links: [{ href: link, text: "More" }] } : {}),
  };
}
