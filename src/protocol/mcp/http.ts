import { randomUUID } from "node:crypto";
import { type HttpOptions, type HttpServer, openHttpServer } from "../http-server.ts";
import { DISCOVERY, discovery } from "../publishing/discovery.ts";
import type { McpService } from "./server.ts";

interface McpHttpOptions extends Pick<HttpOptions, "host" | "port" | "token"> {
  readonly onFault: (error: unknown) => void;
}

const MOST_BYTES = 32 * 1024 * 1024;
/** Maximum number of sessions. Beyond it, the least recently used session is closed. */
const MOST_SESSIONS = 100;

export async function openMcpHttp(service: McpService, options: McpHttpOptions): Promise<HttpServer> {
  const sdk = await import("@modelcontextprotocol/server");
  const limits = { maxRequestBodySize: MOST_BYTES };
  const stateless = sdk.createMcpHandler(() => service.createServer(), { ...limits, onerror: options.onFault });
  const sessions = createSessions(sdk, service);
  const handler = async (request: Request) => {
    const isSession = request.headers.has("mcp-session-id") || (await isInitialize(request));
    if (isSession && (await sdk.isLegacyRequest(request, undefined, limits))) return sessions.fetch(request);
    return stateless.fetch(request);
  };
  const server = await openHttpServer({
    ...options,
    mostBytes: MOST_BYTES,
    handlers: new Map([
      ["/mcp", handler],
      [DISCOVERY, async (request) => discovery((await service.offer).published)(request)],
    ]),
  });
  return {
    url: server.url,
    async close(graceMs) {
      await Promise.all([sessions.close(), stateless.close()]);
      await server.close(graceMs);
    },
  };
}

/** Detects `initialize`, with which clients up to revision 2025-11-25 start. */
async function isInitialize(request: Request): Promise<boolean> {
  if (request.method !== "POST") return false;
  const body: unknown = await request
    .clone()
    .json()
    .catch(() => undefined);
  return [body].flat().some((message) => (message as { method?: unknown } | undefined)?.method === "initialize");
}

type Sdk = typeof import("@modelcontextprotocol/server");
type Server = ReturnType<McpService["createServer"]>;
type Transport = InstanceType<Sdk["WebStandardStreamableHTTPServerTransport"]>;

/** Keeps sessions for those clients, so that a cancellation reaches the server that runs the call. */
function createSessions(sdk: Sdk, service: McpService) {
  const sessions = new Map<string, { readonly server: Server; readonly transport: Transport }>();
  const open = async (): Promise<Transport> => {
    const server = service.createServer();
    const transport: Transport = new sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      maxRequestBodySize: MOST_BYTES,
      async onsessioninitialized(id) {
        const [oldest] = sessions.keys();
        if (sessions.size >= MOST_SESSIONS && oldest !== undefined) {
          await sessions.get(oldest)?.server.close();
          sessions.delete(oldest);
        }
        sessions.set(id, { server, transport });
      },
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await server.connect(transport);
    return transport;
  };
  return {
    async fetch(request: Request): Promise<Response> {
      const id = request.headers.get("mcp-session-id");
      if (id === null) return (await open()).handleRequest(request);
      const session = sessions.get(id);
      if (!session) return Response.json(NO_SESSION, { status: 404 });
      sessions.delete(id);
      sessions.set(id, session);
      return session.transport.handleRequest(request);
    },
    async close() {
      await Promise.all([...sessions.values()].map(({ server }) => server.close()));
      sessions.clear();
    },
  };
}

const NO_SESSION = { jsonrpc: "2.0", id: null, error: { code: -32001, message: "there is no such session" } };
