import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { Client, Transport } from "@modelcontextprotocol/client";
import { hasCode, messageOf } from "../../core/base/errors.ts";
import { type JsonObject, LONGEST_TIMER_MS } from "../../core/base/values.ts";
import { BASE_VARIABLES } from "../../core/document/config.ts";
import type { McpServerConfig, ToolContext } from "../../core/skill/skill.ts";
import { unlessAborted } from "../text/bounded.ts";
import { capped } from "./capped.ts";
import type { Auth } from "./login/auth.ts";
import { challengeError } from "./login/auth-fetch.ts";
import { anyAnswer, type ListName, readPages } from "./offer/pages.ts";
import { isRefused, isUntouched, statusOf } from "./offer/results.ts";
import { type ListedTool, MOST_TOOLS, quote, readListedTools, saidOf } from "./offer/tools.ts";
import { createServerProcess, NotConnected } from "./process.ts";
import type { ServerOptions } from "./server-types.ts";
import { fillVariables, variablesIn } from "./variables.ts";

type Sdk = typeof import("@modelcontextprotocol/client");

interface SessionOptions extends ServerOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly auth?: Auth | undefined;
}

/** Connection to a server, from the handshake to its end. */
export type Session = ReturnType<typeof createSession>;

/** Connects, negotiates the protocol version and lists the tools. Throws an Error that describes the failure. */
export async function openSession(options: SessionOptions): Promise<Session> {
  options.check?.();
  const sdk = await import("@modelcontextprotocol/client");
  const routes = routesTo(options, sdk);
  const deadline = new AbortController();
  const seconds = options.timeoutMs / 1000;
  const limit = Math.min(options.timeoutMs, LONGEST_TIMER_MS);
  const late = () => {
    // The time limit does not apply while the user logs in.
    if (options.auth?.isAsking()) timer = setTimeout(late, limit);
    else deadline.abort(new Error(`it did not answer within ${seconds} s`));
  };
  let timer = setTimeout(late, limit);
  const signal = AbortSignal.any([options.signal, deadline.signal]);
  let first: { readonly message: string; readonly isRefusal: boolean } | undefined;
  try {
    // Takes the first route that the server accepts. If all fail, throws the first error.
    for (const route of routes) {
      const transport = route.open();
      try {
        return await connect(sdk, { route, transport, options, signal });
      } catch (error) {
        const message = explainFailure(options, signal.aborted ? signal.reason : error, transport.describe?.() ?? "");
        first ??= { message, isRefusal: isRefusal(sdk, error) };
        await closeTransport(transport);
        options.signal.throwIfAborted();
        if (signal.aborted || !first.isRefusal) break;
      }
    }
  } finally {
    clearTimeout(timer);
  }
  throw new Error(first?.message);
}

interface Route {
  open(): Transport & { describe?(): string; terminateSession?(): Promise<void> };
  /** True for the protocol 2026-07-28 and later, which has no handshake. */
  readonly modern?: true;
  /** True for HTTP+SSE, the transport before 2025, which uses a single stream. */
  readonly oneStream?: true;
}

const MODERN = "2026-07-28";

function routesTo(options: SessionOptions, sdk: Sdk): readonly Route[] {
  const { config } = options;
  if ((config.type ?? (config.command === undefined ? "http" : "stdio")) === "stdio") {
    if (config.command === undefined) throw new Error("its mcp has the type stdio and no command");
    const { command, args = [] } = config;
    const { cwd, processes } = options;
    const server = { command, args, env: serverEnvironment(options), cwd, processes };
    const open = () => createServerProcess(server);
    return [{ open }, { open, modern: true }];
  }
  const url = httpUrl(config.url);
  const settings = {
    fetch: async (address: string | URL, init?: RequestInit) => {
      const response = await options.fetch(address, init);
      const { status, headers } = response;
      // A valid token with too narrow a scope is renewed like a missing one.
      const wantsMore = status === 403 && challengeError(headers.get("www-authenticate")) === "insufficient_scope";
      if (options.auth && wantsMore) return new Response(null, { status: 401, headers });
      return capped(response, init?.method !== "POST");
    },
    requestInit: { headers: serverHeaders(options) },
    ...(options.auth ? { authProvider: options.auth.provider } : {}),
  };
  const open = () => new sdk.StreamableHTTPClientTransport(url, settings);
  const openStream = () => new sdk.SSEClientTransport(url, settings);
  return [{ open }, { open, modern: true }, { open: openStream, oneStream: true }];
}

/** Returns a minimal environment and the declared variables. The values in `mcp.env` are only descriptions. */
function serverEnvironment({ config, env, onWarning }: SessionOptions): Record<string, string> {
  const declared = Object.keys(config.env ?? {});
  for (const name of declared) if (!env[name]) onWarning(`starts without ${name}, which is not set`);
  const names = [...BASE_VARIABLES, ...declared];
  return Object.fromEntries(names.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
}

/** Fills in `${NAME}` with declared variables. Omits headers whose variables are not set. */
function serverHeaders({ config, env, onWarning }: SessionOptions): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [header, value] of Object.entries(config.headers ?? {})) {
    const names = variablesIn(value);
    const undeclared = names.find((name) => !Object.hasOwn(config.env ?? {}, name));
    const unset = names.find((name) => !env[name]);
    if (undeclared) onWarning(`is called without the header ${header}: its mcp.env does not declare ${undeclared}`);
    else if (unset) onWarning(`is called without the header ${header}: ${unset} is not set`);
    else headers[header] = fillVariables(value, env);
  }
  return headers;
}

export function httpUrl(text: string | undefined): URL {
  if (text === undefined) throw new Error("its mcp has the type http and no url");
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return url;
  throw new Error(`its url is not http or https: ${quote(text)}`);
}

function isRefusal(sdk: Sdk, error: unknown): boolean {
  if (error instanceof sdk.ProtocolError) return true;
  const status = statusOf(error);
  return status !== undefined && status >= 400 && status < 500 && status !== 401 && status !== 403;
}

interface Connecting {
  readonly route: Route;
  readonly transport: ReturnType<Route["open"]>;
  readonly options: SessionOptions;
  readonly signal: AbortSignal;
}

async function connect(sdk: Sdk, { route, transport, options, signal }: Connecting): Promise<Session> {
  const state: State = { open: true, changed: false, tools: [] };
  const onChanged = () => {
    state.changed = true;
  };
  const client = new sdk.Client(
    { name: "skillflow", version: "1" },
    {
      capabilities: { extensions: { "io.modelcontextprotocol/skills": {} } },
      listMaxPages: MOST_SKILL_PAGES,
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged } },
      ...(route.modern ? { versionNegotiation: { mode: { pin: MODERN } } } : {}),
    },
  );
  client.onclose = () => {
    state.open = false;
  };
  answerLostStreams(transport);
  const { auth } = options;
  await unlessAborted(client.connect(transport, { signal, timeout: LONGEST_TIMER_MS }), signal);
  if (auth) keepOut(transport, auth);
  if (route.oneStream) client.onerror = () => void client.close();
  const first = await listTools(client, signal, options.onWarning);
  // Some servers extend their list as soon as they know the client.
  const listed = state.changed ? await listTools(client, signal, options.onWarning) : first;
  state.changed = false;
  state.tools = readListedTools(listed, saidOf(options.config), options.onWarning);
  return createSession(sdk, { client, transport, state, options });
}

/** Maximum number of pages of a list of skills. The SDK holds all of them at once. */
const MOST_SKILL_PAGES = 8;

interface State {
  open: boolean;
  changed: boolean;
  tools: readonly ListedTool[];
}

interface Connected extends Pick<Connecting, "transport" | "options"> {
  readonly client: Client;
  readonly state: State;
}

function createSession(sdk: Sdk, { client, transport, state, options: opened }: Connected) {
  return {
    get tools() {
      return state.tools;
    },
    isOpen: () => state.open,
    /** Reloads the tools if the server reported that they changed. */
    async refresh({ logger, signal }: Pick<ToolContext, "logger" | "signal">) {
      if (!state.changed) return;
      state.changed = false;
      const warn = (message: string) => logger.warn(`the MCP server ${message}`);
      const tools = readListedTools(await listTools(client, signal, warn), saidOf(opened.config), warn);
      const known = new Set(state.tools.map((tool) => tool.name));
      const added = tools.filter((tool) => !known.has(tool.name)).map((tool) => quote(tool.name));
      if (added.length > 0) warn(`offers new tools, which only the next run can use: ${added.join(", ")}`);
      state.tools = tools;
    },
    call(tool: ListedTool, input: JsonObject, { signal, logger }: ToolContext) {
      const inputSchema = { ...tool.input_schema, type: "object" as const };
      const toolDefinition = { name: tool.name, inputSchema };
      const options = { signal, timeout: LONGEST_TIMER_MS, onprogress: progressTeller(logger), toolDefinition };
      if (!client.transport) return Promise.reject(new NotConnected("Not connected"));
      return client.callTool({ name: tool.name, arguments: { ...input } }, options);
    },
    has: (list: ListName) => client.getServerCapabilities()?.[list] !== undefined,
    list: (list: ListName, most: number, signal: AbortSignal) => readPages(client, list, { most, signal }),
    /** Sends any other request. The answer is not validated. */
    request: (method: string, params: JsonObject, signal: AbortSignal) =>
      unlessAborted(client.request({ method, params }, anyAnswer, { signal, timeout: LONGEST_TIMER_MS }), signal),
    /** Returns a reader of the server's skills. Undefined if the server does not declare the skills extension. */
    async skills() {
      const { SkillsClient } = await import("@modelcontextprotocol/client/ext/skills");
      const skills = new SkillsClient(client, { skipInvalid: true });
      return skills.supported ? skills : undefined;
    },
    /** Describes how the connection was lost, if the error of a call means that. */
    lossBy: (error: unknown) =>
      isLoss(sdk, error, state.open) ? explainFailure(opened, error, transport.describe?.() ?? "") : undefined,
    explain: (error: unknown) => explainFailure(opened, error, ""),
    isRefusal: (error: unknown) => isRefused(sdk, error),
    async close() {
      state.open = false;
      await closeTransport(transport);
    },
  };
}

/** Redacts tokens in the server's messages, in case it echoes them. */
function keepOut(transport: Transport, auth: Auth): void {
  const take = transport.onmessage;
  transport.onmessage = (message, extra) => take?.(auth.redactor().value(message as never) as typeof message, extra);
}

/** Answers requests whose response stream breaks off. Otherwise, they would wait forever. */
function answerLostStreams(transport: Transport): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) =>
    send(message, {
      ...options,
      onRequestStreamEnd() {
        options?.onRequestStreamEnd?.();
        if (!("method" in message) || !("id" in message)) return;
        const error = { code: STREAM_LOST, message: LOST, data: LOST_MARK };
        transport.onmessage?.({ jsonrpc: "2.0", id: message.id, error });
      },
    });
}

const STREAM_LOST = -32_000;
const LOST = "the connection broke off before the answer came";
/** Random value that distinguishes our error from those of a server. */
const LOST_MARK = randomUUID();

async function listTools(client: Client, signal: AbortSignal, warn: (message: string) => void) {
  if (!client.getServerCapabilities()?.tools) return [];
  const { listed, isCut } = await readPages(client, "tools", { most: MOST_TOOLS, signal });
  if (isCut) warn("lists its tools endlessly: the rest is left out");
  return listed;
}

const MOST_PROGRESS = 100;

function progressTeller(logger: ToolContext["logger"]) {
  let told = 0;
  return ({ progress, total, message }: { progress: number; total?: number; message?: string }) => {
    if (told++ >= MOST_PROGRESS) return;
    const text = message === undefined ? "" : ` ${message.slice(0, 200)}`;
    logger.info(`${progress}${total === undefined ? "" : ` of ${total}`}${text}`);
  };
}

const CLOSED = ["CONNECTION_CLOSED", "NOT_CONNECTED"];

function isLoss(sdk: Sdk, error: unknown, open: boolean): boolean {
  if (!open || error instanceof TypeError) return true;
  if (error instanceof sdk.ProtocolError) return error.data === LOST_MARK;
  return isUntouched(error) || hasCode(error, ...CLOSED);
}

/** Describes a failure as a clause about the server. `said` is what is known about its end. */
function explainFailure({ config, auth }: SessionOptions, error: unknown, said: string): string {
  const what = describeFailure(config, error, said);
  return auth ? auth.redactor().text(what) : what;
}

function describeFailure(config: McpServerConfig, error: unknown, said: string): string {
  const status = statusOf(error);
  if (status === 401 || status === 403) return explainDenial(config, status);
  if (hasCode(error, ...CLOSED) && said !== "") return said;
  const version = /protocol version is not supported: (.*)/.exec(messageOf(error))?.[1];
  if (version !== undefined) return `it speaks the protocol version ${quote(version)}, which is not supported`;
  const cause = error instanceof Error && error.cause !== undefined ? ` (${messageOf(error.cause)})` : "";
  const text = `${messageOf(error)}${cause}`.slice(0, 1000);
  return said === "" ? text : `${text}; ${said}`;
}

function explainDenial({ headers = {}, auth }: McpServerConfig, status: number): string {
  if (auth) return `it answers HTTP ${status} to the token that its authorization server issued`;
  const [name, value = ""] = Object.entries(headers).find(([key]) => /^authorization$|key|token/i.test(key)) ?? [];
  if (name === undefined) {
    return `it answers HTTP ${status}: add the header that it requires to its mcp, such as headers: { Authorization: "Bearer \${TOKEN}" } with TOKEN under env`;
  }
  const variables = variablesIn(value);
  return `it answers HTTP ${status}: check the header ${name}${variables.length > 0 ? ` (${variables.join(", ")})` : ""}`;
}

const PARTING_MS = 1000;

async function closeTransport(transport: ReturnType<Route["open"]>): Promise<void> {
  const parting = transport.terminateSession?.().catch(() => undefined);
  if (parting) await Promise.race([parting, pause(PARTING_MS, undefined, { ref: false })]);
  await transport.close();
}
