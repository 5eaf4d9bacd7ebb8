import type { ToolContext } from "skillflow";
import { type Ask, type Asking, lenient, type Service, toolsWith, withService } from "skillflow/internal";
import * as z from "zod";
import { type Credentials, credentialsOf, signed } from "./credentials.ts";

/** AWS services that make up CloudWatch, as named in URLs and signatures. */
const SERVICES = {
  logs: { prefix: "Logs_20140328", version: "1.1", rights: "logs" },
  monitoring: { prefix: "GraniteServiceVersion20100801", version: "1.0", rights: "cloudwatch" },
} as const;
type Kind = keyof typeof SERVICES;

interface Action<Answer extends z.ZodType> extends Pick<Asking<Answer>, "instead" | "answer"> {
  readonly input: Readonly<Record<string, unknown>>;
}

/** Calls an action of one of the two services within one tool call. */
export type Act = <Answer extends z.ZodType>(name: string, action: Action<Answer>) => Promise<z.infer<Answer>>;

const KEYS = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];

/** Runs a tool's work on CloudWatch Logs, or on metrics and alarms. */
export async function withCloudWatch(kind: Kind, context: ToolContext, work: (act: Act) => Promise<unknown>) {
  const region = context.config["AWS_REGION"]?.trim() ?? "";
  const own = context.config["AWS_ENDPOINT_URL"]?.trim();
  const credentials = await credentialsOf(context);
  const service: Service = {
    name: "CloudWatch",
    address: "AWS_ENDPOINT_URL",
    ...(own ? {} : { url: addressOf(kind, region) }),
    keys: KEYS.filter((key) => context.config[key]?.trim()),
    secrets: [credentials.secretAccessKey, credentials.sessionToken ?? ""].filter((secret) => secret !== ""),
    // AWS limits calls per second, and does not say how long to wait.
    limitEnds: () => 1000,
    fetchWith: async (asked) => signing(asked.fetch, kind, region, credentials),
  };
  const { prefix, rights } = SERVICES[kind];
  return withService(service, context, (ask: Ask) =>
    work((name, { input, ...rest }) =>
      ask({ ...rest, path: [`${prefix}.${name}`], body: input, needs: `the permission ${rights}:${name}` }),
    ),
  );
}

export const logsTool = toolsWith<Act>((context, work) => withCloudWatch("logs", context, work));
export const monitoringTool = toolsWith<Act>((context, work) => withCloudWatch("monitoring", context, work));

function addressOf(kind: Kind, region: string): string {
  if (!/^[a-z]{2}(-[a-z]+)+-\d$/.test(region)) throw new Error("AWS_REGION must be a region, such as eu-west-1.");
  return `https://${kind}.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
}

/** Wraps fetch: moves the action from the URL to a header, as AWS expects, and signs the request. */
function signing(send: typeof fetch, kind: Kind, region: string, credentials: Credentials): typeof fetch {
  return async (input, init) => {
    const asked = new URL(String(input));
    const at = asked.pathname.lastIndexOf("/");
    const url = new URL(asked.pathname.slice(0, at) || "/", asked);
    const body = String(init?.body ?? "");
    const headers = {
      "content-type": `application/x-amz-json-${SERVICES[kind].version}`,
      "x-amz-target": asked.pathname.slice(at + 1),
    };
    const scope = { region, service: kind, now: new Date() };
    const all = {
      accept: "application/json",
      "user-agent": "skillflow",
      ...signed(url, headers, body, credentials, scope),
    };
    return plainly(await send(url, { ...init, headers: all }));
  };
}

/** HTTP status by error name, because AWS answers nearly every error with 400. */
const MEANINGS: readonly (readonly [RegExp, number])[] = [
  [/AccessDenied|NotAuthorized|OptInRequired/, 403],
  [
    /UnrecognizedClient|InvalidClientTokenId|ExpiredToken|InvalidSignature|IncompleteSignature|MissingAuthentication/,
    401,
  ],
  [/Throttl|LimitExceeded|RequestLimit/, 429],
  [/ResourceNotFound/, 404],
];

async function plainly(response: Response): Promise<Response> {
  if (response.status !== 400 && response.status !== 403) return response;
  const text = await response.text();
  const kind = /"__type"\s*:\s*"([^"]*)"/.exec(text)?.[1] ?? response.headers.get("x-amzn-errortype") ?? "";
  const status = MEANINGS.find(([pattern]) => pattern.test(kind))?.[1] ?? response.status;
  return new Response(text.replace(/"Message"\s*:/, '"message":'), { status, headers: response.headers });
}

export const contains = z.string().min(1).max(200).optional();
export const cursor = z.string().min(1).max(4096).optional().describe("next_cursor of the previous call.");

export const NO_GROUP = "list_log_groups lists the names. Each region has its own.";

export const logGroup = z
  .string()
  .min(1)
  .max(512)
  .regex(/^[A-Za-z0-9_./#-]+$/)
  .describe("Name of a log group, such as /aws/lambda/checkout.");

export const text = lenient(z.string());
export const number = lenient(z.number());
export const pairs = lenient(z.array(z.object({ Name: text, Value: text })));

export function namedOf(found: z.infer<typeof pairs>) {
  return Object.fromEntries((found ?? []).map(({ Name, Value }) => [Name ?? "", Value ?? ""]));
}

export function secondsOf(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
