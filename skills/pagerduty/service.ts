import { keyOf, lenient, type Service, textLike, toolsWith, workOn } from "skillflow/internal";
import * as z from "zod";

export const READS = "an API key, or the incidents.read scope";

const PAGERDUTY: Service = {
  name: "PagerDuty",
  address: "PAGERDUTY_API_URL",
  usual: "https://api.pagerduty.com",
  keys: ["PAGERDUTY_API_KEY"],
  needs: READS,
  headers: (config) => {
    const from = keyOf(config, "PAGERDUTY_FROM");
    return {
      accept: "application/vnd.pagerduty+json;version=2",
      ...authorizationOf(keyOf(config, "PAGERDUTY_API_KEY")),
      ...(from ? { from } : {}),
    };
  },
};

/** Returns the authorization header. OAuth tokens are recognized by their prefix; API keys use a different scheme. */
function authorizationOf(key: string | undefined): Record<string, string> {
  if (!key) return {};
  return { authorization: /^pd[a-z]{2}\+/.test(key) ? `Bearer ${key}` : `Token token=${key}` };
}

export const withPagerDuty = workOn(PAGERDUTY);

export const pagerdutyTool = toolsWith(withPagerDuty);

export const NOT_FOUND = "list_incidents lists the ids.";

export const id = textLike(/^[A-Z0-9]+$/, 40);

export const incidentId = id.describe("Id of the incident, such as PT4KHLK. Not its number.");

export const limit = z.int().min(1).max(100).optional();
export const offset = z.int().min(0).max(9999).optional();

export const text = lenient(z.string());
export const number = lenient(z.number());

export const reference = lenient(z.object({ id: text, summary: text, type: text }));

export function namesOf(all: readonly z.infer<typeof reference>[] | null | undefined) {
  return all?.map((one) => one?.summary ?? "");
}

export const paged = { more: lenient(z.boolean()) };

export function nextOffset(
  shown: readonly unknown[],
  { more }: { readonly more?: boolean | null | undefined },
  offset = 0,
) {
  return more ? offset + shown.length : undefined;
}
