import type { ToolContext } from "skillflow";

// Datadog's own domains only: the keys are sent to the site.
const SITE = /^(?:[a-z0-9]{2,8}\.)?(?:datadoghq\.com|datadoghq\.eu|ddog-gov\.com)$/;

/** Returns the API's URL without a trailing slash. */
export function apiUrl(config: ToolContext["config"]): string {
  const url = config["DD_API_URL"];
  if (!url) return `https://api.${siteOf(config)}`;
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url.replace(/(?<!\/)\/+$/, "");
  throw new Error("DD_API_URL is not an http or https address.");
}

/** Returns the URL of a page in Datadog's web application. */
export function pageUrl(config: ToolContext["config"], path: string): string {
  const site = siteOf(config);
  return `https://${site.split(".").length > 2 ? site : `app.${site}`}/${path}`;
}

function siteOf(config: ToolContext["config"]): string {
  const site = (config["DD_SITE"] || "datadoghq.com").trim().toLowerCase();
  if (SITE.test(site) && !site.startsWith("app.") && !site.startsWith("api.")) return site;
  throw new Error(
    "DD_SITE is not a Datadog site: it is written like datadoghq.eu or us5.datadoghq.com. Use DD_API_URL for others.",
  );
}
