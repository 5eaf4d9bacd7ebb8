import type { ToolContext } from "skillflow";
import { setting } from "./channel.ts";

interface Vendor {
  readonly name: string;
  readonly hosts: readonly string[];
  readonly address?: string;
}

/**
 * Returns a webhook's URL from the config. NOTIFICATION_HOSTS must allow its host or, if unset, it must be a vendor's
 * host over https. Messages never show the URL: anyone who knows it can post.
 */
export function webhookAddress(context: ToolContext, field: string, vendor?: Vendor): URL {
  const text = setting(context, field) || (vendor?.address ?? "");
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) throw new Error(`${field} must be an http or https address.`);
  if (url.username || url.password) {
    throw new Error(`${field} contains a user name or password, which is not sent. Put a token in its path or query.`);
  }
  const allowed = parseHosts(setting(context, "NOTIFICATION_HOSTS"));
  if (allowed.length > 0) {
    if (!isAmong(allowed, url.hostname)) throw new Error(`The host of ${field} is not listed in NOTIFICATION_HOSTS.`);
  } else if (vendor && !(url.protocol === "https:" && isAmong(vendor.hosts, url.hostname))) {
    throw new Error(
      `${field} is not an https address of ${vendor.name}. List its host in NOTIFICATION_HOSTS to allow it.`,
    );
  }
  return url;
}

function parseHosts(text: string): readonly string[] {
  const hosts = text.toLowerCase().split(/[\s,]+/);
  const named = hosts.filter((host) => host !== "");
  const odd = named.find((host) => !HOST.test(host));
  if (odd === undefined) return named;
  throw new Error(
    `NOTIFICATION_HOSTS must list hosts, such as hooks.example.com or *.example.com. "${odd}" is not a host.`,
  );
}

const HOST = /^((\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])$/;

function isAmong(hosts: readonly string[], hostname: string): boolean {
  return hosts.some((host) => (host.startsWith("*.") ? hostname.endsWith(host.slice(1)) : hostname === host));
}
