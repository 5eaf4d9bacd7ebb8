import type { ToolContext } from "skillflow";
import {
  type Ask,
  type Refusal,
  requiredKey,
  retryAfter,
  type Service,
  serviceUrl,
  toolsWith,
  withService,
} from "skillflow/internal";

const DATADOG: Service = {
  name: "Datadog",
  address: "DD_SITE or DD_API_URL",
  // Checks the site before any request, because results link to it.
  url: (config) => {
    const site = siteOf(config);
    return config["DD_API_URL"]?.trim() || `https://api.${site}`;
  },
  keys: ["DD_API_KEY", "DD_APP_KEY"],
  headers: (config) => ({
    "dd-api-key": requiredKey(config, "DD_API_KEY"),
    "dd-application-key": requiredKey(config, "DD_APP_KEY"),
  }),
  instead: "Check the id. It may belong to a different site or organization.",
  limitEnds: (headers) => retryAfter(headers.get("x-ratelimit-reset")),
  advice: (refusal, context) => (refusal.status === 403 ? refusedKey(refusal, context) : undefined),
};

/** Runs a tool's work on Datadog. Searches are reads even though they use POST. */
export function withDatadog(context: ToolContext, work: (ask: Ask) => Promise<unknown>) {
  return withService(DATADOG, context, (ask) => work((asking) => ask({ effect: "read", ...asking })));
}

export const datadogTool = toolsWith(withDatadog);

/** Datadog answers 403 for either wrong key and for a missing permission. */
async function refusedKey({ what, said, needs }: Refusal, context: ToolContext): Promise<string> {
  const state = await keyState(context);
  const reason = `(${what}: ${said})`;
  if (state === "refused")
    return `Datadog refused DD_API_KEY: it is wrong, revoked, or for a different site than DD_SITE. ${reason}`;
  const lack = `DD_APP_KEY is wrong, or it lacks the permission ${needs} (by its owner or scopes). ${reason}`;
  return state === "valid" ? `DD_API_KEY is valid, but ${lack}` : `DD_API_KEY is wrong for DD_SITE, or ${lack}`;
}

async function keyState({ config, fetch, signal }: ToolContext): Promise<"valid" | "refused" | undefined> {
  try {
    const url = `${serviceUrl(DATADOG, config)}/api/v1/validate`;
    const headers = { accept: "application/json", ...DATADOG.headers?.(config) };
    const response = await fetch(url, { redirect: "manual", signal, headers });
    if (response.ok) return /"valid"\s*:\s*true/.test(await response.text()) ? "valid" : undefined;
    return response.status === 403 ? "refused" : undefined;
  } catch {
    return undefined;
  }
}

// Datadog's own domains only: the keys are sent to the site.
const SITE = /^(?:[a-z0-9]{2,8}\.)?(?:datadoghq\.com|datadoghq\.eu|ddog-gov\.com)$/;

/** Returns the URL of a page in Datadog's web application. */
export function pageUrl(config: ToolContext["config"], path: string): string {
  const site = siteOf(config);
  return `https://${site.split(".").length > 2 ? site : `app.${site}`}/${path}`;
}

function siteOf(config: ToolContext["config"]): string {
  const site = (config["DD_SITE"] || "datadoghq.com").trim().toLowerCase();
  if (SITE.test(site) && !site.startsWith("app.") && !site.startsWith("api.")) return site;
  throw new Error(
    "DD_SITE must be a Datadog site, such as datadoghq.eu or us5.datadoghq.com. For another address, set DD_API_URL.",
  );
}
