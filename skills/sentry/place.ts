import type { ToolContext } from "skillflow";

/** Server, organization and project of a call, from the config and the token. */

export function tokenOf({ config }: ToolContext): string {
  const token = config["SENTRY_AUTH_TOKEN"]?.trim();
  if (!token) throw new Error("SENTRY_AUTH_TOKEN is not set: Sentry cannot be used in this run.");
  return token;
}

/** Returns the server's URL without a trailing slash. */
export function baseUrl(context: ToolContext): string {
  const configured = context.config["SENTRY_BASE_URL"]?.trim();
  const told = aboutToken(tokenOf(context));
  const text = configured || told.region_url || told.url || "https://sentry.io";
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text.replace(/(?<!\/)\/+$/, "");
  throw new Error(
    `${configured ? "SENTRY_BASE_URL" : "The address in SENTRY_AUTH_TOKEN"} is not an http or https address.`,
  );
}

/** Returns the organization, if it is known without asking Sentry. */
export function knownOrganization(named: string | undefined, context: ToolContext): string | undefined {
  const slug = named ?? (context.config["SENTRY_ORG"]?.trim() || aboutToken(tokenOf(context)).org);
  if (!slug) return undefined;
  if (isSlug(slug)) return slug;
  throw new Error(`"${slug.slice(0, 100)}" is not an organization's slug: it has letters, digits, - and _ only.`);
}

/** Returns the `project` parameter, a slug or an id. It is omitted for all projects. */
export function projectParameter(named: string | undefined, context: ToolContext): { project?: string } {
  const project = named ?? context.config["SENTRY_PROJECT"]?.trim();
  if (!project || project === "all") return {};
  if (isSlug(project)) return { project };
  throw new Error(`"${project.slice(0, 100)}" is not a project's slug or id: it has letters, digits, - and _ only.`);
}

export function isSlug(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/.test(text);
}

/** Returns true for an organization token, which names its organization and has only the scope org:ci. */
export function isOrganizationToken(token: string): boolean {
  return token.startsWith("sntrys_");
}

interface AboutToken {
  readonly org?: string;
  readonly url?: string;
  readonly region_url?: string;
}

/** Parses the data in an organization token: `sntrys_`, JSON in base64, `_`, the secret. Other tokens have none. */
function aboutToken(token: string): AboutToken {
  const [, payload] = /^sntrys_([A-Za-z0-9+/=]+)_/.exec(token) ?? [];
  if (!payload) return {};
  try {
    const value: unknown = JSON.parse(Buffer.from(payload, "base64").toString("utf8"));
    if (typeof value !== "object" || value === null) return {};
    const texts = Object.entries(value).filter(([, member]) => typeof member === "string" && member !== "");
    return Object.fromEntries(texts);
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}
