import { createHash, createHmac } from "node:crypto";
import type { ToolContext } from "skillflow";
import { type Ask, type Asking, lenient, type Service, timeField, withService } from "skillflow/internal";
import * as z from "zod";
import { credentialsOf } from "./credentials.ts";

/** AWS services that make up CloudWatch, as named in URLs and signatures. */
const SERVICES = {
  logs: { prefix: "Logs_20140328", version: "1.1", rights: "logs" },
  monitoring: { prefix: "GraniteServiceVersion20100801", version: "1.0", rights: "cloudwatch" },
} as const;
type Kind = keyof typeof SERVICES;

/** Input of an AWS action and the schema of its response. */
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
    fetchWith: async (asked) => signing(asked.fetch, kind, region, credentials),
  };
  const { prefix, rights } = SERVICES[kind];
  return withService(service, context, (ask: Ask) =>
    work((name, { input, ...rest }) =>
      ask({ ...rest, path: [`${prefix}.${name}`], body: input, needs: `the permission ${rights}:${name}` }),
    ),
  );
}

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

export const from = timeField.optional();
export const to = timeField.optional().describe("`from` and `to`: now-2h or ISO 8601. Default: the last hour.");
export const contains = z.string().min(1).max(200).optional();
export const cursor = z.string().min(1).max(4096).optional().describe("next_cursor of the previous call.");

export const logGroup = z
  .string()
  .min(1)
  .max(512)
  .regex(/^[A-Za-z0-9_./#-]+$/)
  .describe("Name of a log group, such as /aws/lambda/checkout.");

export const dimensions = z
  .array(z.strictObject({ name: z.string().min(1).max(255), value: z.string().min(1).max(1024) }))
  .max(30)
  .optional();

export const text = lenient(z.string());
export const number = lenient(z.number());
export const pairs = lenient(z.array(z.object({ Name: text, Value: text })));

/** Converts a list of dimensions to an object. */
export function namedOf(found: z.infer<typeof pairs>) {
  return Object.fromEntries((found ?? []).map(({ Name, Value }) => [Name ?? "", Value ?? ""]));
}

/** Converts milliseconds to the whole seconds that AWS expects. */
export function secondsOf(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}

/** AWS Signature Version 4 for a POST without a query string. */

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

export interface Scope {
  readonly region: string;
  /** Service name in the signature: logs or monitoring. */
  readonly service: string;
  readonly now: Date;
}

/** Returns the headers of a POST, with those that sign it. */
export function signed(
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: string,
  { accessKeyId, secretAccessKey, sessionToken }: Credentials,
  { region, service, now }: Scope,
): Record<string, string> {
  const at = now.toISOString().replace(/[-:]|\.\d+/g, "");
  const dated = { ...headers, "x-amz-date": at, ...(sessionToken ? { "x-amz-security-token": sessionToken } : {}) };
  const told = Object.entries({ ...dated, host: url.host }).sort(([a], [b]) => (a < b ? -1 : 1));
  const names = told.map(([name]) => name).join(";");
  const lines = told.map(([name, value]) => `${name}:${value.trim()}\n`).join("");
  const request = ["POST", url.pathname, "", lines, names, hash(body)].join("\n");
  const scope = [at.slice(0, 8), region, service, "aws4_request"];
  const key = scope.reduce<string | Buffer>((secret, part) => keyed(secret, part), `AWS4${secretAccessKey}`);
  const signature = keyed(key, ["AWS4-HMAC-SHA256", at, scope.join("/"), hash(request)].join("\n")).toString("hex");
  const credential = `Credential=${accessKeyId}/${scope.join("/")}`;
  return { ...dated, authorization: `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=${names}, Signature=${signature}` };
}

function keyed(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
