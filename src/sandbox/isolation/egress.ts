import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { connect, isIPv6, type Server as ListeningServer, type LookupFunction, type Socket } from "node:net";
import { pipeline } from "node:stream";
import { isLocalName, isRefusedAddress } from "../../core/base/address/address.ts";
import {
  type DeclaredHost,
  declarationOf,
  type Endpoint,
  isDeclared,
  parseDeclaredHost,
  parseEndpoint,
} from "../../core/base/address/declared-host.ts";
import { VOICE } from "../../core/base/voice.ts";

/** Proxy that serves one foreign program. */
export type Egress = ReturnType<typeof openEgress>;

export interface EgressParts {
  readonly hosts: readonly string[];
  readonly lookup?: Lookup;
  readonly bounds?: Partial<typeof BOUNDS>;
}

/** Resolver that returns every address of a name. Defaults to the system's resolver. */
type Lookup = (host: string) => Promise<readonly string[]>;

/**
 * Further connections at once are closed. The time limits are for a request's head, for connecting to a host, and without
 * a byte in either direction.
 */
const BOUNDS = { connections: 128, headMs: 10_000, connectMs: 15_000, idleMs: 300_000 };
const HEAD_BYTES = 16 * 1024;

/**
 * Opens an HTTP proxy that reaches only the declared hosts, by CONNECT or by absolute http addresses.
 *
 * - Each name is resolved once, here. The connection goes to the address that was checked.
 * - Private, local and metadata addresses are refused, unless declared as an address or a name of this machine.
 * - A refusal is a 403 that says what to declare. An unreachable host is a 502.
 */
export function openEgress({ hosts, ...parts }: EgressParts) {
  const bounds = { ...BOUNDS, ...parts.bounds };
  const refusals = new Map<string, string>();
  const ending = new AbortController();
  const door: Door = {
    ...bounds,
    declared: hosts.flatMap((host) => parseDeclaredHost(host) ?? []),
    lookup: parts.lookup ?? systemLookup,
    signal: ending.signal,
    sockets: new Set(),
    note: (place, line) => {
      if (refusals.size < MOST_REFUSALS) refusals.set(place, line);
    },
  };
  const server = createDoor(door);
  return {
    /** Takes over the port of a listening server, in any network namespace. */
    accept: (listening: ListeningServer) => void server.listen(listening),
    /** Lists refused connections, one line per destination, up to a limit. */
    report: () => [...refusals.values()].map((line) => `${VOICE}${line}\n`).join(""),
    close: async () => {
      const closed = once(server, "close");
      server.close();
      ending.abort();
      for (const each of door.sockets) each.destroy();
      await closed;
    },
  };
}

const MOST_REFUSALS = 10;

function createDoor(door: Door): Server {
  const server = createServer({
    maxHeaderSize: HEAD_BYTES,
    headersTimeout: door.headMs,
    requestTimeout: 0, // long uploads are fine, and silent ones hit the idle limit
    connectionsCheckingInterval: Math.min(1000, door.headMs),
  });
  server.maxConnections = door.connections;
  server.timeout = door.idleMs;
  server.on("connection", (near: Socket) => keep(door, near));
  server.on("drop", () => door.note("", `more than ${door.connections} connections at once were closed`));
  server.on("request", (asked, answer) => void forward(door, asked, answer));
  server.on("connect", (asked, near, head) => void tunnel(door, asked, { near: near as Socket, head }));
  return server;
}

/** Tracks a socket until it closes, so that no connection outlives the proxy. */
function keep({ sockets }: Door, socket: Socket): void {
  sockets.add(socket);
  socket.on("close", () => sockets.delete(socket));
}

type Bounds = Readonly<typeof BOUNDS>;

interface Door extends Bounds {
  readonly declared: readonly DeclaredHost[];
  readonly lookup: Lookup;
  /** Aborts when the proxy closes. */
  readonly signal: AbortSignal;
  readonly sockets: Set<Socket>;
  note(place: string, line: string): void;
}

/** Reason for a refused connection, worded for the program. */
interface Refusal {
  readonly status: 400 | 403 | 502;
  /** HTTP reason phrase. Some programs show nothing else. */
  readonly reason: string;
  readonly message: string;
}

async function tunnel(
  door: Door,
  asked: IncomingMessage,
  { near, head }: { near: Socket; head: Buffer },
): Promise<void> {
  near.on("error", () => undefined);
  const endpoint = parseEndpoint(asked.url ?? "");
  const far = endpoint?.port === undefined ? NO_ENDPOINT : await reach(door, endpoint);
  if ("status" in far) {
    const headers = Object.entries(headersOf(far)).map(([name, value]) => `${name}: ${value}\r\n`);
    near.write(`HTTP/1.1 ${far.status} ${far.reason}\r\n${headers.join("")}\r\n${bodyOf(far)}`);
    near.destroySoon();
    return;
  }
  near.write("HTTP/1.1 200 Connection established\r\n\r\n");
  far.write(head);
  join(near, far);
}

const NO_ENDPOINT: Refusal = {
  status: 400,
  reason: "Bad Request",
  message: "send CONNECT host:port or an absolute http address to this proxy",
};

function bodyOf({ message }: Refusal): string {
  return `${message}\n`;
}

function headersOf(refusal: Refusal): Record<string, string> {
  const length = `${Buffer.byteLength(bodyOf(refusal))}`;
  return { "content-type": "text/plain; charset=utf-8", "content-length": length, connection: "close" };
}

/** Pipes both ways. Data sent before one side closes still reaches the other. */
function join(near: Socket, far: Socket): void {
  const leave = (other: Socket) => (failed: boolean) => (failed ? other.destroy() : other.destroySoon());
  near.on("close", leave(far)).pipe(far);
  far.on("close", leave(near)).pipe(near);
  if (near.destroyed) far.destroy();
}

async function forward(door: Door, asked: IncomingMessage, answer: ServerResponse): Promise<void> {
  answer.on("error", () => undefined);
  const refuse = (refusal: Refusal) => {
    if (answer.headersSent) answer.destroy();
    else answer.writeHead(refusal.status, refusal.reason, headersOf(refusal)).end(bodyOf(refusal));
  };
  const url = URL.canParse(asked.url ?? "") ? new URL(asked.url ?? "") : undefined;
  const endpoint = url?.protocol === "http:" ? parseEndpoint(url.host) : undefined;
  if (!url || !endpoint) return refuse(NO_ENDPOINT);
  const far = await reach(door, { ...endpoint, port: endpoint.port ?? 80 });
  if ("status" in far) return refuse(far);
  const sent = request({
    createConnection: () => far,
    method: asked.method,
    path: `${url.pathname}${url.search}`,
    headers: { ...endToEnd(asked), host: url.host, connection: "close" },
  });
  answer.on("close", () => sent.destroy());
  sent.on("error", () => refuse(unreachable(endpoint.host)));
  sent.on("close", () => answer.headersSent || refuse(unreachable(endpoint.host)));
  sent.on("response", (received) => {
    const { statusCode = 0 } = received;
    if (statusCode < 200) return refuse(unreachable(endpoint.host));
    answer.writeHead(statusCode, endToEnd(received));
    pipeline(received, answer, () => undefined);
  });
  pipeline(asked, sent, () => undefined);
}

/** Drops hop-by-hop headers. Keeps chunked encoding for bodies of unknown length. */
function endToEnd({ headers, headersDistinct }: IncomingMessage): Record<string, string[]> {
  const named = (headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase());
  const kept = Object.entries(headersDistinct).filter(([name]) => !HOP_BY_HOP.has(name) && !named.includes(name));
  const chunked = headers["transfer-encoding"] === undefined ? [] : [["transfer-encoding", ["chunked"]]];
  return Object.fromEntries([...kept, ...chunked]);
}

const HOP_BY_HOP = new Set([
  ...["connection", "proxy-connection", "keep-alive", "proxy-authenticate", "proxy-authorization"],
  ...["te", "trailer", "transfer-encoding", "upgrade", "host"],
]);

/** Connects to a declared host, or returns the refusal. */
async function reach(door: Door, endpoint: Endpoint): Promise<Socket | Refusal> {
  const place = `${endpoint.host}:${endpoint.port}`;
  const refuse = (reason: string, why: string): Refusal => {
    const message = `${place} was refused: ${why}`;
    door.note(place, message);
    return { status: 403, reason: `${reason}: ${place}`, message };
  };
  if (!isDeclared(door.declared, endpoint)) {
    const what = declarationOf(endpoint);
    return refuse("Host not declared", `the skill does not declare this host; add "${what}" to its network`);
  }
  const signal = AbortSignal.any([door.signal, AbortSignal.timeout(door.connectMs)]);
  try {
    // A DNS lookup cannot be cancelled, so that waiting for it must end at the signal.
    const late = once(signal, "abort").then(() => Promise.reject(signal.reason));
    const addresses = await Promise.race([addressesOf(door, endpoint), late]);
    const mayBeAny = endpoint.isAddress || isLocalName(endpoint.host);
    if (mayBeAny || !addresses.some(isRefusedAddress))
      return await open(door, { addresses, port: endpoint.port ?? 0 }, signal);
    const why = "it leads to a private, local or metadata address: declare that address itself";
    return refuse("Private address", why);
  } catch {
    // The program does not learn why the connection failed.
    return unreachable(endpoint.host);
  }
}

async function addressesOf({ lookup }: Door, { host, isAddress }: Endpoint): Promise<readonly string[]> {
  if (isAddress) return [host];
  return isLocalName(host) ? ["127.0.0.1", "::1"] : lookup(host);
}

const systemLookup: Lookup = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

async function open(
  door: Door,
  { addresses, port }: { addresses: readonly string[]; port: number },
  signal: AbortSignal,
): Promise<Socket> {
  const answers = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  // Pin lookups to the checked addresses, so that the socket cannot connect anywhere else.
  const pinned: LookupFunction = (_host, _options, answer) => answer(null, answers);
  const far = connect({ host: "pinned.invalid", port, lookup: pinned, autoSelectFamily: true, allowHalfOpen: true });
  keep(door, far);
  far.on("error", () => undefined).setTimeout(door.idleMs, () => far.destroy());
  try {
    await once(far, "connect", { signal });
    return far;
  } catch (error) {
    far.destroy();
    throw error;
  }
}

function unreachable(host: string): Refusal {
  return { status: 502, reason: "Bad Gateway", message: `${host} cannot be reached` };
}
