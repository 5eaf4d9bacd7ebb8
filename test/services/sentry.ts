import type { ServerResponse } from "node:http";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import type { Json, JsonObject, JsonSchema } from "skillflow";
import { type Loopback, type LoopbackHandler, type LoopbackRequest, startLoopback } from "skillflow/testing";
import { readPublished } from "./published.ts";
import { COMMENT, COMMITTERS, EVENT, floodOf, ISSUE } from "./sentry-samples.ts";
import type { Vendor } from "./vendor.ts";

/** Sentry according to its published OpenAPI description: refuses invalid requests, answers with its examples. */
export interface SentryService extends Loopback {
  /** Messages about requests that the contract does not allow. Empty for a correct client. */
  readonly refusals: readonly string[];
  /** The requested operations, in order, such as `GET issues/{issue_id}`. */
  readonly operations: readonly string[];
}

export interface Answer {
  readonly status?: number;
  readonly body?: unknown;
  /** Sent as it is, instead of `body`. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Asked {
  readonly operation: string;
  readonly body: JsonObject;
  readonly parameters: URLSearchParams;
  /** Number of earlier requests. */
  readonly before: number;
  /** The published answer. */
  readonly example: Json;
}

/** A test's own answer. Undefined for the published one. */
export type Script = (asked: Asked) => Answer | undefined;

export const TOKEN = "sntryu_canary0123456789";

const published = readPublished("sentry/openapi.json");
export const hasContract = published !== undefined;

export async function startSentry(script: Script = () => undefined): Promise<SentryService> {
  const refusals: string[] = [];
  const operations: string[] = [];
  const loopback = await startLoopback((request, response) => {
    const { pathname, searchParams: parameters } = new URL(request.url, "http://sentry.test");
    const operation = OPERATIONS.find((one) => one.method === request.method && one.pattern.test(pathname));
    const fault = operation ? faultOf(operation, request, parameters) : `no operation ${request.method} ${request.url}`;
    const before = operations.length;
    operations.push(operation?.name ?? "");
    if (hasContract && fault) refusals.push(fault);
    const body = request.body ? (JSON.parse(request.body) as JsonObject) : {};
    const asked = { operation: operation?.name ?? "", body, parameters, before, example: operation?.example ?? null };
    const scripted = script(asked);
    if (scripted) return send(response, scripted);
    if (request.headers.authorization !== `Bearer ${TOKEN}`) return send(response, INVALID_TOKEN);
    send(response, fault ? { status: 400, body: { detail: fault } } : { body: asked.example });
  });
  return { ...loopback, refusals, operations };
}

/** Answers of maximum size: fifty of everything, and long texts. */
export const flood: LoopbackHandler = ({ method, url }, response) => {
  const { pathname } = new URL(url, "http://sentry.test");
  send(response, { body: floodOf(method, pathname) });
};

const INVALID_TOKEN: Answer = { status: 401, body: { detail: "Invalid token" } };

interface Operation {
  readonly name: string;
  readonly method: string;
  readonly pattern: RegExp;
  readonly parameters: readonly { readonly name: string; readonly required?: boolean; readonly schema: JsonSchema }[];
  readonly body?: JsonSchema;
  readonly example: Json;
}

interface Example {
  readonly example?: Json;
  readonly examples?: Readonly<Record<string, { readonly value: Json }>>;
}

interface Described {
  readonly parameters?: readonly { name: string; in: string; required?: boolean; schema: JsonSchema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Example>> }>>;
}

const PAGED = [{ name: "per_page", schema: { type: "integer", maximum: 100 } }];

/** Operations of Sentry that its description omits. */
const UNDESCRIBED: readonly Operation[] = [
  {
    name: "GET organizations",
    method: "GET",
    pattern: /^\/api\/0\/organizations\/$/,
    parameters: [],
    example: [{ slug: "acme" }],
  },
  {
    name: "GET comments",
    method: "GET",
    pattern: /\/issues\/[^/]+\/comments\/$/,
    parameters: PAGED,
    example: [COMMENT],
  },
  {
    name: "POST comments",
    method: "POST",
    pattern: /\/issues\/[^/]+\/comments\/$/,
    parameters: [],
    body: { type: "object", properties: { text: { type: "string" } }, required: ["text"], additionalProperties: false },
    example: COMMENT,
  },
  {
    name: "GET eventids/{event_id}",
    method: "GET",
    pattern: /^\/api\/0\/organizations\/[^/]+\/eventids\/[0-9a-f]{32}\/$/,
    parameters: [],
    example: {
      organizationSlug: "acme",
      projectSlug: "shop",
      groupId: "1889724436",
      eventId: "9fac2ceed9344f2bbfdd1fdacb0ed9b1",
      event: EVENT,
    },
  },
  {
    name: "GET committers",
    method: "GET",
    pattern: /^\/api\/0\/projects\/[^/]+\/[^/]+\/events\/[^/]+\/committers\/$/,
    parameters: [],
    example: COMMITTERS,
  },
];

const OPERATIONS: readonly Operation[] = [...UNDESCRIBED, ...describedOperations()];

function describedOperations(): Operation[] {
  const { paths } = JSON.parse(published ?? '{"paths":{}}') as { paths: Record<string, Record<string, Described>> };
  const prefix = "/api/0/organizations/{organization_id_or_slug}/";
  return Object.entries(paths).flatMap(([path, methods]) => {
    if (!path.startsWith(prefix)) return [];
    const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
    return Object.entries(methods).map(([method, described]): Operation => {
      const name = `${method.toUpperCase()} ${path.slice(prefix.length).replace(/\/$/, "")}`;
      const body = described.requestBody?.content["application/json"]?.schema;
      const { example, examples = {} } = described.responses["200"]?.content?.["application/json"] ?? {};
      const named = described.parameters?.filter((parameter) => parameter.in === "query") ?? [];
      // Every list with a cursor takes a page size, which some descriptions omit.
      const isSized = named.every((one) => one.name !== "cursor") || named.some((one) => one.name === "per_page");
      const parameters = [...named, ...(isSized ? [] : PAGED)];
      return {
        name,
        method: method.toUpperCase(),
        pattern,
        parameters,
        ...(body ? { body } : {}),
        example: example ?? Object.values(examples)[0]?.value ?? ISSUE,
      };
    });
  });
}

const ajv = new Ajv2020({ strict: false, coerceTypes: true });
addFormats.default(ajv);
const validators = new Map<string, ValidateFunction>();

function faultOf(
  { name, parameters, body }: Operation,
  request: LoopbackRequest,
  search: URLSearchParams,
): string | undefined {
  const values = [...new Set(search.keys())].map((key) => {
    const schema = parameters.find((parameter) => parameter.name === key)?.schema;
    return [key, schema?.["type"] === "array" ? search.getAll(key) : search.get(key)];
  });
  const query = validatorOf(`${name} query`, () => ({
    type: "object",
    properties: Object.fromEntries(parameters.map((parameter) => [parameter.name, parameter.schema])),
    required: parameters.filter(({ required }) => required).map((parameter) => parameter.name),
    additionalProperties: false,
  }));
  if (!query(Object.fromEntries(values))) return `${name}: ${JSON.stringify(query.errors)}`;
  if (!body) return request.body ? `${name} takes no body` : undefined;
  const fits = validatorOf(`${name} body`, () => ({ ...closed(body), minProperties: 1 }));
  return fits(JSON.parse(request.body || "{}")) ? undefined : `${name}: ${JSON.stringify(fits.errors)}`;
}

function validatorOf(key: string, schemaOf: () => JsonSchema): ValidateFunction {
  const known = validators.get(key) ?? ajv.compile(schemaOf());
  validators.set(key, known);
  return known;
}

/** The description marks every member of a body as required. The service accepts any of them, and no other. */
function closed(schema: JsonSchema): JsonSchema {
  const { required: _, properties, allOf, ...rest } = schema as Record<string, Json>;
  const [only] = (allOf ?? []) as JsonSchema[];
  if (only) return closed(only);
  if (!properties) return rest;
  const members = Object.entries(properties).map(([key, member]) => [key, closed(member as JsonSchema)]);
  return { ...rest, properties: Object.fromEntries(members), additionalProperties: false };
}

function send(response: ServerResponse, { status = 200, body = {}, text, headers = {} }: Answer): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(text ?? JSON.stringify(body));
}

export const vendor: Vendor = {
  start: startSentry,
  env: (url) => ({ SENTRY_AUTH_TOKEN: TOKEN, SENTRY_BASE_URL: url, SENTRY_ORG: "acme" }),
  secrets: [TOKEN],
  isPublished: hasContract,
  asked: ["list_issues", {}],
  questions: {
    "What fails, and since when?": {
      asks: [
        ["list_issues", { sort: "freq", stats_period: "1h" }],
        ["get_issue", ([{ issues }]) => ({ issue: issues[0].short_id })],
        ["get_issue_tag", { issue: "PUMP-STATION-1", tag: "release" }],
        ["get_issue_events", { issue: "PUMP-STATION-1" }],
      ],
      tells: ["first_seen", "PUMP-STATION-1"],
    },
    "Why?": {
      asks: [
        ["get_latest_event", { issue: "PUMP-STATION-1" }],
        ["get_event", { event_id: "9fac2ceed9344f2bbfdd1fdacb0ed9b1" }],
        ["get_trace", { trace_id: "0123456789abcdef0123456789abcdef" }],
      ],
      tells: ["src/pay.ts", "TimeoutError"],
    },
    "Which change caused it?": {
      asks: [
        ["list_releases", {}],
        ["get_release", ([{ releases }]) => ({ version: releases[0].version })],
        ["get_suspect_commits", { issue: "PUMP-STATION-1" }],
      ],
      tells: ["a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6a1b2", '"author":"Ada"'],
    },
  },
  inputs: { sentry_update_issue: { status: "archived", resolved_in_release: null, archive: null } },
};
