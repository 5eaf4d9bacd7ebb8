import type { ServerResponse } from "node:http";
import {
  buildSchema,
  type FieldNode,
  type GraphQLSchema,
  graphql,
  Kind,
  parse,
  type SelectionSetNode,
  validate,
} from "graphql";
import type { Json, JsonObject } from "skillflow";
import { type Loopback, type LoopbackHandler, type LoopbackRequest, startLoopback } from "skillflow/testing";
import { createWorkspace, type Workspace } from "./linear-workspace.ts";
import { readPublished } from "./published.ts";
import type { Vendor } from "./vendor.ts";

/**
 * Linear with its published schema: refuses every document that the schema does not allow, and stores what is written.
 */
export interface LinearService extends Loopback {
  readonly workspace: Workspace;
  /** Messages about documents that the schema does not allow. Empty for a correct client. */
  readonly refusals: readonly string[];
  /** The requested operations, by the names in their documents, in order. */
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
  readonly isWrite: boolean;
  readonly variables: JsonObject;
  /** Number of earlier requests. */
  readonly before: number;
}

/** A test's own answer. Undefined for the workspace's. */
export type Script = (asked: Asked) => Answer | undefined | Promise<Answer | undefined>;

export const KEY = "lin_api_canary0123456789";
/** Key of a user who may only read. */
export const READ_KEY = "lin_api_reader0123456789";

const published = readPublished("linear/schema.graphql");
let schema: GraphQLSchema | undefined;

export const hasSchema = published !== undefined;

export async function startLinear(script: Script = () => undefined): Promise<LinearService> {
  const workspace = createWorkspace();
  const refusals: string[] = [];
  const operations: string[] = [];
  const loopback = await startLoopback(async (request, response) => {
    const { query, variables } = documentOf(request);
    const operation = /^(?:query|mutation) (\w+)/.exec(query)?.[1] ?? "";
    const before = operations.length;
    operations.push(operation);
    const scripted = await script({ operation, isWrite: query.startsWith("mutation"), variables, before });
    if (scripted) return send(response, scripted);
    const { authorization: key = "" } = request.headers;
    if (![KEY, READ_KEY].includes(key)) return send(response, { status: 401, body: UNAUTHENTICATED });
    if (key === READ_KEY && query.startsWith("mutation")) {
      refusals.push(`${operation} with a key that may read alone`);
      return send(response, refused("Insufficient permissions", { type: "forbidden" }));
    }
    const faults = validate(openSchema(), parse(query)).map((error) => error.message);
    refusals.push(...faults);
    const result = await graphql({
      schema: openSchema(),
      source: query,
      variableValues: variables,
      rootValue: workspace.root,
    });
    refusals.push(...(result.errors ?? []).filter((error) => !error.extensions["type"]).map((error) => error.message));
    send(response, { body: result });
  });
  return { ...loopback, workspace, refusals, operations };
}

/** Answers any document with as much as it requests, and more: fifty of everything, and texts of 30 KB. */
export const flood: LoopbackHandler = (request, response) => {
  const [definition] = parse(documentOf(request).query).definitions;
  if (definition?.kind !== Kind.OPERATION_DEFINITION) return send(response, { status: 400 });
  send(response, { body: { data: flooded(definition.selectionSet) } });
};

/** The id of everything in the flood. */
export const FLOOD_ID = "11111111-1111-4111-8111-111111111111";

/** A refusal in the form of GraphQL. */
export function refused(message: string, extensions: JsonObject = {}, status = 200): Answer {
  return { status, body: { errors: [{ message, extensions }] } };
}

const UNAUTHENTICATED = {
  errors: [{ message: "Authentication required", extensions: { type: "authentication error" } }],
};

function openSchema(): GraphQLSchema {
  schema ??= buildSchema(published ?? "", { assumeValid: true });
  return schema;
}

function documentOf({ body }: LoopbackRequest): { query: string; variables: JsonObject } {
  return JSON.parse(body) as { query: string; variables: JsonObject };
}

function send(response: ServerResponse, { status = 200, body = {}, text, headers = {} }: Answer): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(text ?? JSON.stringify(body));
}

function flooded({ selections }: SelectionSetNode): JsonObject {
  const fields = selections.filter((selection): selection is FieldNode => selection.kind === Kind.FIELD);
  return Object.fromEntries(fields.map((field) => [field.alias?.value ?? field.name.value, floodedField(field)]));
}

function floodedField({ name, selectionSet }: FieldNode): Json {
  if (name.value === "nodes" && selectionSet) return Array.from({ length: 50 }, () => flooded(selectionSet));
  if (selectionSet) return flooded(selectionSet);
  if (name.value === "id") return FLOOD_ID;
  if (["isGroup", "isMe"].includes(name.value)) return false;
  if (["estimate", "progress"].includes(name.value)) return 0.5;
  if (name.value === "hasNextPage" || name.value === "success") return true;
  const long = ["body", "description"].includes(name.value) ? 30_000 : 250;
  return name.value.padEnd(long, ' é"\n');
}

export const vendor: Vendor = {
  start: startLinear,
  env: (url) => ({ LINEAR_API_KEY: KEY, LINEAR_API_URL: `${url}/graphql` }),
  secrets: [KEY],
  isPublished: hasSchema,
  isWrite: ({ body }) => /^\W*query\W+mutation\b/.test(body),
  asked: ["search_issues", { query: "checkout" }],
  questions: {
    "Is it known?": {
      asks: [
        ["search_issues", { query: "Checkout", status: "open" }],
        ["search_issues", { query: "Checkout", status: "closed" }],
      ],
      tells: ["OPS-7", "Checkout 5xx"],
    },
    "What was written about it?": {
      asks: [
        ["get_issue", { issue: "OPS-7" }],
        ["list_comments", { issue: "OPS-7" }],
      ],
      tells: ["Since 08:00."],
    },
    "Where to file it?": { asks: [["list_users", {}]], tells: ["ada@example.com"] },
  },
  inputs: {
    linear_update_issue: { issue: "OPS-1", state: "Done", title: "closed" },
    linear_add_comment: { issue: "OPS-1", parent_id: null },
  },
};
