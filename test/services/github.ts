import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import type { ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import type { Json, JsonObject, JsonSchema } from "skillflow";
import { type Loopback, type LoopbackRequest, sendJson, startLoopback } from "skillflow/testing";
import type { Vendor } from "./vendor.ts";

/** GitHub according to its published OpenAPI description: refuses invalid requests, answers with its examples. */
export interface GitHubService extends Loopback {
  /** Messages about requests that the contract does not allow. Empty for a correct client. */
  readonly refusals: readonly string[];
  /** The requested operations, by id, in order. */
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
  readonly parameters: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  /** Number of earlier requests of this operation. */
  readonly before: number;
  /** The published answer. */
  readonly example: Json;
}

/** A test's own answer. Undefined for the published one. */
export type Script = (asked: Asked) => Answer | undefined | Promise<Answer | undefined>;

export const TOKEN = "ghp_canary0123456789";
/** Token of a user who may only read. */
export const READ_TOKEN = "ghp_reader0123456789";

export async function startGitHub(script: Script = () => undefined): Promise<GitHubService> {
  const refusals: string[] = [];
  const operations: string[] = [];
  const loopback = await startLoopback(async (request, response) => {
    if (request.url.startsWith("/_logs/")) return sendText(response, LOG, { "content-type": "text/plain" });
    const match = findOperation(request);
    const fault = match ? faultOf(match, request) : `no operation ${request.method} ${request.url}`;
    if (!match || fault) {
      refusals.push(fault ?? "");
      return sendJson(response, match ? 422 : 404, { message: fault });
    }
    const [scheme, token = ""] = (request.headers.authorization ?? "").split(" ");
    if (scheme !== "token" || ![TOKEN, READ_TOKEN].includes(token))
      return sendJson(response, 401, { message: "Bad credentials" });
    if (token === READ_TOKEN && request.method !== "GET") {
      refusals.push(`${match.operation.id} with a token that may read alone`);
      return sendJson(response, 403, { message: "Resource not accessible by personal access token" });
    }
    const { operation, parameters } = match;
    const before = operations.filter((id) => id === operation.id).length;
    operations.push(operation.id);
    const asked = { operation: operation.id, parameters, body: bodyOf(request), before, example: exampleOf(operation) };
    send(response, operation, (await script(asked)) ?? {}, parameters);
  });
  return { ...loopback, refusals, operations };
}

/** The published example at maximum size: thirty of everything, and texts of 30 KB. */
export function flood({ example }: Asked): Answer {
  return { body: swollen(example, "") };
}

interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly { name: string; in: string; required: boolean; schema: JsonSchema }[];
  readonly body?: JsonSchema;
  readonly status: number;
  readonly answers: Readonly<Record<string, Json>>;
}

interface Match {
  readonly operation: Operation;
  readonly parameters: Record<string, string>;
}

const contract = new URL("../contracts/data/github-openapi.json", import.meta.url);
const { operations: OPERATIONS } = JSON.parse(readFileSync(contract, "utf8")) as { operations: Operation[] };
const validators = new Map<string, ValidateFunction>();
const LOG =
  "\uFEFF2026-01-31T08:00:00.0000000Z \u001b[36mnpm test\u001b[0m\n2026-01-31T08:00:01.0000000Z 1 test failed\n";

function findOperation({ method, url }: LoopbackRequest): Match | undefined {
  const { pathname, searchParams } = new URL(url, "http://github.test");
  for (const operation of OPERATIONS) {
    if (operation.method !== method) continue;
    const names = [...operation.path.matchAll(/{(\w+)}/g)].map(([, name]) => name ?? "");
    // The root folder's path is empty, and then GitHub does without the slash before it.
    const pattern = operation.path.replace("/{path}", "(?:/([^/]*))?").replaceAll(/{\w+}/g, "([^/]+)");
    const values = new RegExp(`^${pattern}$`).exec(pathname)?.slice(1);
    if (!values) continue;
    const inPath = names.map((name, index) => [name, decodeURIComponent(values[index] ?? "")]);
    return { operation, parameters: Object.fromEntries([...inPath, ...searchParams]) };
  }
  return undefined;
}

function faultOf({ operation, parameters }: Match, request: LoopbackRequest): string | undefined {
  const properties = Object.fromEntries(operation.parameters.map(({ name, schema }) => [name, schema]));
  const required = operation.parameters.filter((parameter) => parameter.required).map(({ name }) => name);
  const query = validatorOf(`${operation.id} parameters`, { properties, required });
  if (!query({ ...parameters })) return `${operation.id}: ${JSON.stringify(query.errors)}`;
  if (!operation.body) return request.body ? `${operation.id} takes no body` : undefined;
  const body = validatorOf(`${operation.id} body`, operation.body);
  return body(bodyOf(request)) ? undefined : `${operation.id}: ${JSON.stringify(body.errors)}`;
}

function validatorOf(key: string, schema: JsonSchema): ValidateFunction {
  const known =
    validators.get(key) ??
    (key.endsWith("body") ? ofBodies : ofParameters).compile({
      type: "object",
      unevaluatedProperties: false,
      ...schema,
    });
  validators.set(key, known);
  return known;
}

const ofBodies = new Ajv2020({ strict: false, validateSchema: false });
const ofParameters = new Ajv2020({ strict: false, validateSchema: false, coerceTypes: true });
for (const compiler of [ofBodies, ofParameters]) addFormats.default(compiler);

function bodyOf({ body }: LoopbackRequest): JsonObject {
  return body ? (JSON.parse(body) as JsonObject) : {};
}

function exampleOf({ id, answers }: Operation): Json {
  const example = Object.values(answers)[0] ?? null;
  // The published run is queued, and none that is may run again.
  if (id === "actions/get-workflow-run") return { ...(example as JsonObject), status: "completed" };
  return example;
}

function send(
  response: ServerResponse,
  operation: Operation,
  answer: Answer,
  parameters: Record<string, string>,
): void {
  const status = answer.status ?? operation.status;
  if (answer.text !== undefined) {
    response.writeHead(status, { "content-type": "application/json", ...answer.headers });
    response.end(answer.text);
  } else if (status === 302) {
    response.writeHead(302, { location: `/_logs/${parameters["job_id"]}` });
    response.end();
  } else {
    sendJson(response, status, answer.body ?? exampleOf(operation), answer.headers);
  }
}

function sendText(response: ServerResponse, text: string, headers: Readonly<Record<string, string>>): void {
  response.writeHead(200, headers);
  response.end(text);
}

const LENGTHS: Readonly<Record<string, number>> = {
  ...{ body: 30_000, message: 30_000, patch: 30_000, fragment: 30_000 },
  ...{ title: 250, name: 250, description: 250 },
};

function swollen(value: Json, key: string, most = 30_000): Json {
  if (typeof value === "string") return value.padEnd(Math.min(LENGTHS[key] ?? 0, most), ' é"\n');
  if (Array.isArray(value)) return value.length === 0 ? value : Array(30).fill(swollen(value[0], "", 8000));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([member, item]) => [member, swollen(item, member, most)]));
}

export const vendor: Vendor = {
  start: startGitHub,
  env: (url) => ({ GITHUB_TOKEN: READ_TOKEN, GITHUB_API_URL: url, GITHUB_REPOSITORY: "acme/shop" }),
  secrets: [TOKEN],
  asked: ["list_commits", { limit: 3 }],
  questions: {
    "What changed before?": {
      asks: [
        ["list_deployments", {}],
        ["list_commits", { path: "src", since: "2026-01-31T06:00:00Z" }],
        ["compare_commits", { base: "v1.0", head: "v1.1" }],
        ["get_commit", ([, { commits }]) => ({ ref: commits[0].sha })],
      ],
      tells: ["Fix all the bugs", "file1.txt", "topic-branch"],
    },
    "Is it known?": {
      asks: [
        ["search_issues", { query: "line number", state: "open" }],
        ["get_issue", ([{ items }]) => ({ number: items[0].number })],
        ["list_comments", ([{ items }]) => ({ number: items[0].number })],
      ],
      tells: ["Line Number Indexes Beyond 20 Not Displayed", "Me too"],
    },
    "Did a build or a deployment fail?": {
      asks: [
        ["list_workflow_runs", { status: "failure" }],
        ["get_workflow_run_logs", ([{ runs }]) => ({ run_id: runs[0].id })],
        ["get_checks", { ref: "master" }],
      ],
      tells: ["Build", "1 test failed", "mighty_readme"],
    },
  },
};
