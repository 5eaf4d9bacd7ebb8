import { createHmac, timingSafeEqual } from "node:crypto";
import { type Json, textAt } from "../../core/base/values.ts";
import type { WebhookKind } from "../../core/document/listen/listen-file.ts";
import { bearerOf, isSame } from "../http-server.ts";

/** Rules for a vendor's webhooks: how to verify them and how to identify deliveries. */
export interface Kind {
  readonly proof: Proof;
  /** Header with the sending time, in seconds since 1970. Older than five minutes counts as a replay. */
  readonly sentAt?: string;
  /** True if the vendor sends the time also in milliseconds or with fractions. */
  readonly hasAnyTime?: true;
  /** Returns the id of the delivery, the same on each attempt, or undefined if it is missing. */
  readonly delivery?: (headers: Headers, body: Json) => string | undefined;
  /** Header that must hold the delivery's id, named in the error if it is missing. */
  readonly deliveryHeader?: string;
  readonly event?: string;
  /** Returns true for the test message that a vendor sends on setup. */
  readonly isGreeting?: (headers: Headers, body: Json) => boolean;
}

type Proof =
  /** Token in the headers, checked before the body is read. */
  { readonly by: "token" } | { readonly by: "signature"; readonly isGenuine: (sent: Sent, secret: string) => boolean };

export interface Sent {
  readonly headers: Headers;
  readonly body: Uint8Array;
}

const BEARER: Kind = { proof: { by: "token" } };

export const KINDS: Readonly<Record<WebhookKind, Kind>> = {
  generic: {
    proof: signed("x-skillflow-signature", /^sha256=([0-9a-f]{64})$/i, ({ headers, body }) => [
      `${headers.get("x-skillflow-timestamp") ?? ""}.`,
      body,
    ]),
    sentAt: "x-skillflow-timestamp",
    delivery: ({ get }) => get("x-skillflow-delivery"),
    deliveryHeader: "X-Skillflow-Delivery",
  },
  // https://docs.sentry.io/integrations/integration-platform/webhooks/
  sentry: {
    proof: signed("sentry-hook-signature", /^([0-9a-f]{64})$/i),
    sentAt: "sentry-hook-timestamp",
    hasAnyTime: true,
    delivery: ({ get }) => get("request-id"),
    event: "sentry-hook-resource",
    isGreeting: ({ get }) => get("sentry-hook-resource") === "installation",
  },
  // https://developer.pagerduty.com/docs/verifying-webhook-signatures: several during secret rotation
  pagerduty: {
    proof: signed("x-pagerduty-signature", /^v1=([0-9a-f]{64})$/i),
    delivery: (_, body) => textAt(body, "event", "id"),
    isGreeting: (_, body) => textAt(body, "event", "event_type") === "pagey.ping",
  },
  // https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
  github: {
    proof: signed("x-hub-signature-256", /^sha256=([0-9a-f]{64})$/i),
    delivery: ({ get }) => get("x-github-delivery"),
    event: "x-github-event",
    isGreeting: ({ get }) => get("x-github-event") === "ping",
  },
  grafana: BEARER,
  betterstack: BEARER,
  datadog: BEARER,
};

export interface Headers {
  readonly get: (name: string) => string | undefined;
}

export function isBearer({ get }: Headers, token: string): boolean {
  return isSame(bearerOf(get("authorization")) ?? "", token);
}

const MOST_AGE_MS = 5 * 60 * 1000;

/** Checks that the webhook's timestamp is recent. A missing timestamp is not. */
export function isRecent({ sentAt, hasAnyTime }: Kind, { get }: Headers, now: number): boolean {
  if (sentAt === undefined) return true;
  const said = get(sentAt) ?? "";
  if (!(hasAnyTime ? /^\d{9,14}(\.\d{1,9})?$/ : /^\d{9,11}$/).test(said)) return false;
  const number = Number(said);
  return Math.abs(now - (number < 1e11 ? number * 1000 : number)) <= MOST_AGE_MS;
}

type Parts = (sent: Sent) => readonly (string | Uint8Array)[];

/** Creates a proof by HMAC-SHA256 in hex, over the body by default. The header may list several. */
export function signed(header: string, form: RegExp, parts: Parts = ({ body }) => [body]): Proof {
  return {
    by: "signature",
    isGenuine(sent, secret) {
      const mac = createHmac("sha256", secret);
      for (const part of parts(sent)) mac.update(part);
      const expected = mac.digest();
      const given = (sent.headers.get(header) ?? "").split(",").map((one) => form.exec(one.trim())?.[1]);
      return given.some((hex) => hex !== undefined && timingSafeEqual(Buffer.from(hex, "hex"), expected));
    },
  };
}
