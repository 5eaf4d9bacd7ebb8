import { setTimeout as pause } from "node:timers/promises";
import type { CallToolResult, Server, ServerContext } from "@modelcontextprotocol/server";
import type { SkillsExtension } from "@modelcontextprotocol/server/ext/skills";
import { openBlobs } from "../../app/calls/execute.ts";
import type { Workspace } from "../../app/host.ts";
import type { Blobs } from "../../core/base/blobs.ts";
import type { Diagnostic } from "../../core/base/diagnostic.ts";
import { isNestedBeyond, type JsonObject, nearest } from "../../core/base/values.ts";
import type { Observer } from "../../core/engine/ports.ts";
import type { RunChoices } from "../../core/engine/settings/settings.ts";
import type { Logger } from "../../core/skill/skill.ts";
import { isBusy, type Offer, openOffer } from "./offer.ts";
import { describePrompts, type Readable, ReadRefused, readResource, TEMPLATES } from "./resources.ts";
import { skillSource } from "./skills.ts";
import { findWorkflows, loadWorkflows } from "./workflows.ts";

/** Options of the MCP service. Each connection gets its own server, and all share one offer. */

export interface McpOptions {
  readonly version: string;
  readonly choices: RunChoices;
  /** Files and folders as given. Empty means the project's workflows. */
  readonly workflows: readonly string[];
  readonly loggerFor: (skill: string) => Logger;
  /** Creates an observer that writes a run's progress in lines. */
  readonly narrate: (write: (line: string) => void) => Observer;
  readonly note: (line: string) => void;
  readonly refuse: (file: string, found: readonly Diagnostic[]) => void;
  /** Receives unexpected errors, whose details the client does not see. */
  readonly onFault: (error: unknown) => void;
}

export type McpService = Awaited<ReturnType<typeof openMcpService>>;

type Sdk = typeof import("@modelcontextprotocol/server");

/** Opens the service. Blobs live as long as it does. */
export async function openMcpService(workspace: Workspace, options: McpOptions) {
  const files = findWorkflows(workspace, options.workflows);
  const [sdk, { SkillsExtension }, { blobs, forget }] = await Promise.all([
    import("@modelcontextprotocol/server"),
    import("@modelcontextprotocol/server/ext/skills"),
    openBlobs(workspace.host, "offer"),
  ]);
  const stopping = new AbortController();
  const world = { ...options, workspace, blobs, signal: stopping.signal };
  const offer = loadWorkflows(workspace, files, options).then((workflows) => openOffer({ ...world, workflows }));
  const underWay = new Set<Promise<unknown>>();
  const skills = skillSource(async () => (await offer).published);
  const onWarning = ({ path, message }: { path: string; message: string }) => options.note(`${path}: ${message}`);
  const extension = new SkillsExtension({ source: skills, onWarning });
  const service: Serving = { sdk, options, offer, blobs, skills, extension, underWay };
  return {
    /** Collected once. If it rejects, every request fails. */
    offer,
    /** Creates a server for one connection, or for one request of a stateless client. */
    createServer: () => createServer(service),
    /** Resolves when no call is running, or after `graceMs`. Close the connections first. */
    async close(graceMs: number): Promise<void> {
      stopping.abort(new Error("interrupted (the server is stopping)"));
      await Promise.race([Promise.allSettled([offer, ...underWay]), pause(graceMs, undefined, { ref: false })]);
      await forget();
    },
  };
}

interface Serving {
  readonly sdk: Sdk;
  readonly options: McpOptions;
  readonly offer: Promise<Offer>;
  readonly blobs: Blobs;
  readonly skills: ReturnType<typeof skillSource>;
  readonly extension: SkillsExtension;
  readonly underWay: Set<Promise<unknown>>;
}

const INSTRUCTIONS =
  "Tools of skills, and workflows as tools whose names begin with run_. A skill's instruction, as a prompt or as skill://<id>/SKILL.md, explains how to use its tools. Runs are recorded: the result has the run's id.";

function createServer(service: Serving): Server {
  const { sdk, options, blobs, skills, extension, underWay } = service;
  const [name, fixed] = ["skillflow", { listChanged: false }];
  const mcp = new sdk.McpServer(
    { name, title: name, version: options.version },
    { capabilities: { tools: fixed, resources: fixed, prompts: fixed }, instructions: INSTRUCTIONS },
  );
  extension.attach(mcp);
  const { server } = mcp;
  const offered = async <Result>(answer: (offer: Offer) => Result | Promise<Result>): Promise<Result> =>
    answer(await service.offer);
  server.setRequestHandler("tools/list", () =>
    offered(({ tools }) => ({ tools: [...tools.values()].map(({ definition }) => definition) })),
  );
  server.setRequestHandler("tools/call", ({ params }, context) => {
    const call = offered((offer) => callTool(server, service, { offer, ...params, context }));
    const done = call.finally(() => underWay.delete(done));
    underWay.add(done);
    return done;
  });
  server.setRequestHandler("resources/list", async (_, context) => ({
    resources: await skills.listResources(context),
  }));
  server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: TEMPLATES }));
  server.setRequestHandler("resources/read", ({ params: { uri } }, context) =>
    offered(({ redactor }) => readOrRefuse(sdk, uri, { skills, blobs, redactor, context })),
  );
  server.setRequestHandler("prompts/list", () =>
    offered(({ skills }) => ({ prompts: describePrompts(skills.values()) })),
  );
  server.setRequestHandler("prompts/get", ({ params: { name } }) =>
    offered(({ skills }) => getPrompt(sdk, name, skills)),
  );
  return server;
}

const BUSY = -32_000;
/** Nesting limit for arguments, because JSON serializers may fail on deeper values. */
const MOST_DEPTH = 500;

interface ToolCall {
  readonly offer: Offer;
  readonly name: string;
  readonly arguments?: { readonly [key: string]: unknown } | undefined;
  readonly context: ServerContext;
}

async function callTool(server: Server, { sdk, options }: Serving, call: ToolCall): Promise<CallToolResult> {
  const { offer, name, context } = call;
  const tool = offer.tools.get(name);
  if (!tool) throw unknown(sdk, "tool", { name, known: offer.tools.keys() });
  const input = (call.arguments ?? {}) as JsonObject;
  if (isNestedBeyond(MOST_DEPTH, input)) {
    const message = `the arguments are nested more than ${MOST_DEPTH} levels deep`;
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, message);
  }
  const interrupt = interrupted(context.mcpReq.signal);
  try {
    const observers = progressTellers(options, context);
    const result = redactResult(await tool.call(input, { signal: interrupt, observers }), offer.redactor);
    // Older revisions accept only objects as results and schemas.
    return server.projectCallToolResult(result, tool.definition.outputSchema);
  } catch (error) {
    if (isBusy(error)) throw new sdk.ProtocolError(BUSY, error.message);
    if (!interrupt.aborted) options.onFault(error);
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InternalError, `${name} failed with an internal error`);
  }
}

/** Redacts a tool's output. Titles and descriptions are their author's text and stay unchanged. */
function redactResult(result: CallToolResult, { text, value }: Offer["redactor"]): CallToolResult {
  const { structuredContent } = result;
  return {
    ...result,
    content: result.content.map((item) => (item.type === "text" ? { ...item, text: text(item.text) } : item)),
    ...(structuredContent === undefined ? {} : { structuredContent: value(structuredContent as JsonObject) }),
  };
}

/** Aborts with a readable reason, which is recorded with the run. */
function interrupted(signal: AbortSignal): AbortSignal {
  const interrupt = new AbortController();
  const stop = () => interrupt.abort("interrupted (its MCP client cancelled it, or the connection ended)");
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  return interrupt.signal;
}

function progressTellers({ narrate }: McpOptions, { mcpReq }: ServerContext): Observer[] {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return [];
  let progress = 0;
  const isGone = () => undefined;
  const tell = (line: string) => {
    progress += 1;
    const params = { progressToken, progress, message: line.trimEnd() };
    mcpReq.notify({ method: "notifications/progress", params }).catch(isGone);
  };
  return [narrate(tell)];
}

async function readOrRefuse(sdk: Sdk, uri: string, from: Readable) {
  try {
    const found = await readResource(uri, from);
    if (found) return found;
  } catch (error) {
    if (!(error instanceof ReadRefused)) throw error;
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, `${uri} is not read: ${error.message}`);
  }
  throw new sdk.ResourceNotFoundError(uri, `there is no resource ${uri}`);
}

function getPrompt(sdk: Sdk, name: string, skills: Offer["skills"]) {
  const skill = skills.get(name)?.skill;
  if (!skill) throw unknown(sdk, "prompt", { name, known: skills.keys() });
  const text = skill.instruction ?? "";
  return {
    description: skill.description,
    messages: [{ role: "user" as const, content: { type: "text" as const, text } }],
  };
}

function unknown(
  sdk: Sdk,
  what: string,
  { name, known }: { readonly name: string; readonly known: Iterable<string> },
): Error {
  const near = nearest(name.slice(0, 100), known);
  const hint = near === undefined ? "" : `; did you mean ${near}?`;
  const message = `there is no ${what} ${name.slice(0, 100)}${hint}`;
  return new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, message);
}
