import type { ToolContext } from "skillflow";
import {
  type Ask,
  type Asking,
  authorization,
  type Refusal,
  requiredKey,
  type Service,
  ServiceFault,
  toolsWith,
  withService,
} from "skillflow/internal";
import * as z from "zod";

const SENTRY: Service = {
  name: "Sentry",
  address: "SENTRY_BASE_URL",
  url: (config) => {
    const about = aboutToken(tokenOf(config));
    const told = about.region_url || about.url || "https://sentry.io";
    if (/^https?:/.test(told)) return config["SENTRY_BASE_URL"]?.trim() || told;
    throw new Error("The address in SENTRY_AUTH_TOKEN must be an http or https address.");
  },
  ending: "/",
  keys: ["SENTRY_AUTH_TOKEN"],
  headers: (config) => authorization(undefined, tokenOf(config)),
  instead: "Check the names.",
  limitEnds: (headers) => {
    const reset = Number(headers.get("x-sentry-rate-limit-reset") ?? Number.NaN);
    return Number.isFinite(reset) ? Math.max(0, reset * 1000 - Date.now()) : undefined;
  },
  advice: (refusal, { config }) => (refusal.status === 403 ? forbidden(refusal, tokenOf(config)) : undefined),
};

function tokenOf(config: ToolContext["config"]): string {
  return requiredKey(config, "SENTRY_AUTH_TOKEN");
}

/** Organization tokens name their organization and have only the scope org:ci. */
function forbidden({ what, said, needs }: Refusal, token: string): string {
  const kind = token.startsWith("sntrys_")
    ? "Organization tokens (sntrys_) work only for releases. Use a personal token or an internal integration's token."
    : "The token's owner may also not be a member of the project's team.";
  return `SENTRY_AUTH_TOKEN lacks permission (${what}): ${said} It needs the scope ${needs}. ${kind}`;
}

export type Query = NonNullable<Asking<z.ZodType>["query"]>;

/** Access that a request needs, such as the token's scope event:read, and its parameters. */
interface Purpose {
  readonly scope: string;
  readonly query?: Query;
}

/** One Sentry organization within one tool call. Paths are relative to the organization and given by segment. */
export type Sentry = ReturnType<typeof sentryOf>;

/** Runs a tool's work on the organization from the input, the config or the token. */
export function withSentry(
  context: ToolContext,
  work: (sentry: Sentry) => Promise<unknown>,
  input: { readonly organization?: string | undefined } = {},
) {
  return withService(SENTRY, context, async (asking) => {
    const ask: Ask = (one) => asking({ ...one, path: ["api", "0", ...one.path] });
    const organization = knownOrganization(input.organization, context) ?? (await onlyOrganization(ask));
    try {
      return await work(sentryOf(ask, organization));
    } catch (error) {
      // Sentry returns 404 both for a wrong name and for a wrong or hidden organization.
      if (!(error instanceof ServiceFault) || error.status !== 404) throw error;
      throw new ServiceFault(`${error.message} ${await missing(ask, organization)}`, error.status);
    }
  });
}

export const sentryTool = toolsWith(withSentry);

/** Returns one Sentry organization within one tool call. Paths are relative to the organization and given by segment. */
function sentryOf(ask: Ask, organization: string) {
  const within = ["organizations", organization];
  return {
    organization,
    /** `nextCursor` is the cursor of the next page. */
    get: async <Data>(path: readonly string[], { scope, query = {} }: Purpose) => {
      let link: string | null = null;
      const onHeaders = (headers: Headers) => {
        link = headers.get("link");
      };
      const answer = z.custom<Data>();
      const data = await ask({ path: [...within, ...path], query, needs: scope, onHeaders, answer });
      return { data: data as Data, nextCursor: nextCursor(link) };
    },
    /** Sends a GET request relative to one of the organization's projects. */
    getInProject: async <Data>(project: string, path: readonly string[], { scope }: Purpose) => {
      const place = ["projects", organization, project, ...path];
      return (await ask({ path: place, needs: scope, answer: z.custom<Data>() })) as Data;
    },
    send: async <Data>(
      method: "PUT" | "POST",
      path: readonly string[],
      { scope, body }: Purpose & { body: object },
    ) => {
      const write = { method, body, effect: "write", needs: scope } as const;
      return (await ask({ path: [...within, ...path], ...write, answer: z.custom<Data>() })) as Data;
    },
  };
}

/** Returns the cursor from the Link header. Ignores its URL, through which the server could redirect the token. */
function nextCursor(link: string | null): string | undefined {
  const next = link?.split(/,\s*(?=<)/).find((part) => part.includes('rel="next"') && part.includes('results="true"'));
  return /cursor="([^"]+)"/.exec(next ?? "")?.[1];
}

/** Returns the organization, if it is known without asking Sentry. */
function knownOrganization(named: string | undefined, { config }: ToolContext): string | undefined {
  const slug = named ?? (config["SENTRY_ORG"]?.trim() || aboutToken(tokenOf(config)).org);
  if (!slug) return undefined;
  if (isSlug(slug)) return slug;
  throw new Error(`"${slug.slice(0, 100)}" is not an organization slug. Slugs contain only letters, digits, - and _.`);
}

/** Returns the only organization that the token can see. Throws if there is none or more than one. */
async function onlyOrganization(ask: Ask): Promise<string> {
  const answer = z.array(z.object({ slug: z.string() }));
  const slugs = (await ask({ path: ["organizations"], needs: "org:read", answer })).map(({ slug }) => slug);
  const [slug] = slugs;
  if (slug !== undefined && slugs.length === 1) return slug;
  const choice = slugs.length === 0 ? "the token can see none" : `the token can see ${slugs.slice(0, 20).join(", ")}`;
  throw new Error(`Give the organization: SENTRY_ORG sets no default, and ${choice}.`);
}

async function missing(ask: Ask, organization: string): Promise<string> {
  if (await isVisible(ask, organization))
    return `The organization ${organization} exists, but the requested item does not: the issue, project, environment or name is wrong, or SENTRY_AUTH_TOKEN cannot see its project.`;
  return `The organization ${organization} was not found: its slug is wrong, SENTRY_AUTH_TOKEN is not for it, or it is on another server than SENTRY_BASE_URL.`;
}

async function isVisible(ask: Ask, organization: string): Promise<boolean> {
  try {
    const path = ["organizations", organization, "projects"];
    await ask({ path, query: { per_page: 1 }, needs: "org:read", answer: z.unknown() });
    return true;
  } catch (error) {
    // 403 means that the organization exists, but the token may not list its projects.
    if (error instanceof ServiceFault && error.status && error.status < 500) return error.status === 403;
    throw error;
  }
}

/** Parameter for all projects. Without it, older servers search only the projects that the token's owner is a member of. */
export const ALL_PROJECTS = { project: "-1" } as const;

/** Returns the `project` parameter, a slug or an id. */
export function projectParameter(named: string | undefined, context: ToolContext): { readonly project: string } {
  const project = named ?? context.config["SENTRY_PROJECT"]?.trim();
  if (!project || project === "all") return ALL_PROJECTS;
  if (isSlug(project)) return { project };
  throw new Error(
    `"${project.slice(0, 100)}" is not a project slug or id. Slugs contain only letters, digits, - and _.`,
  );
}

function isSlug(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/.test(text);
}

const tokenData = z.object({ org: z.string(), url: z.string(), region_url: z.string() }).partial().catch({});

/** Parses the data in an organization token: `sntrys_`, JSON in base64, `_`, the secret. Other tokens have none. */
function aboutToken(token: string): z.infer<typeof tokenData> {
  const [, payload] = /^sntrys_([A-Za-z0-9+/=]+)_/.exec(token) ?? [];
  if (!payload) return {};
  try {
    return tokenData.parse(JSON.parse(Buffer.from(payload, "base64").toString("utf8")));
  } catch {
    return {};
  }
}
