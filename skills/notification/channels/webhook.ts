import { createHmac } from "node:crypto";
import { webhookAddress } from "../address.ts";
import { type Channel, idempotencyKey, setting } from "../channel.ts";
import { post } from "../post.ts";

const FIELD = "NOTIFICATION_WEBHOOK_URL";

/**
 * Posts `{id, title, text, severity?, fields, link?}`. If NOTIFICATION_WEBHOOK_SECRET is set, receivers should check the
 * signature and refuse timestamps (Unix seconds) that are more than a few minutes old:
 *
 *     x-skillflow-timestamp: 1700000000
 *     x-skillflow-signature: sha256=<hex HMAC-SHA256 of "1700000000." and the body, keyed with the secret>
 *     idempotency-key: <`id` of the body, the same for every attempt of a call>
 */
export const webhookChannel: Channel = {
  needs: [FIELD],
  open: (context) => {
    const url = webhookAddress(context, FIELD);
    const secret = setting(context, "NOTIFICATION_WEBHOOK_SECRET");
    return async (notice) => {
      const id = idempotencyKey(context, notice);
      const body = JSON.stringify({ id, ...notice });
      const headers = () => ({ "idempotency-key": id, ...(secret ? signature(secret, body) : {}) });
      await post({ service: "The webhook", field: FIELD, url, body, headers, mayBePage: true }, context);
      return { signed: secret !== "" };
    };
  },
};

function signature(secret: string, body: string): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const digest = createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex");
  return { "x-skillflow-timestamp": timestamp, "x-skillflow-signature": `sha256=${digest}` };
}
