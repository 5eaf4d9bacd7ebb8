import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { connect, isIP, isIPv6, type LookupFunction } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectSecurely } from "node:tls";
import { isLocalName, isRefusedAddress } from "../../core/base/address/address.ts";
import type { SourceProblem } from "../../core/document/check/sources.ts";
import { readCapped, unlessAborted } from "../text/bounded.ts";

export interface Network {
  lookup(host: string): Promise<readonly string[]>;
  /** Connects to one of the target's addresses only. */
  connect(target: Target): Promise<Duplex>;
}

export interface Target {
  readonly addresses: readonly string[];
  readonly port: number;
  /** Set for TLS: name or address that the certificate must contain. */
  readonly holder: string | undefined;
  readonly signal: AbortSignal;
}

export interface EgressOptions {
  /** Tokens by host, or by host:port for a non-default port. Empty if the token's variable is not set. */
  readonly auth: Readonly<Record<string, string | undefined>>;
  /** Token for listed hosts without one of their own. */
  readonly fetchToken?: string | undefined;
  /** Defaults to the system's resolver and real sockets. */
  readonly network?: Network | undefined;
  /** Time limit for all redirects together. Defaults to 10 s. */
  readonly deadlineMs?: number | undefined;
}

export type Fetched = { readonly content: string } | { readonly problem: SourceProblem };

/**
 * Fetches text from an http or https URL. For each redirect, the host is resolved once. If any address is refused, the
 * request is; otherwise the connection uses a checked address. Tokens are sent only to listed hosts and only over
 * https.
 */
export async function fetchText(address: string, options: EgressOptions): Promise<Fetched> {
  const { network = internet, deadlineMs = 10_000 } = options;
  const trip: Trip = { ...options, network, deadlineMs, signal: AbortSignal.timeout(deadlineMs) };
  let next = address;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const hop = await visit(next, trip).catch((error: unknown) => unreachable(next, error, trip));
    if (!("location" in hop)) return redirects > 0 ? withStart(hop, address) : hop;
    next = hop.location;
  }
  const message = `${shown(address)} was redirected more than ${MAX_REDIRECTS} times`;
  return { problem: { code: "SOURCE_URL_HTTP_ERROR", message, hint: "Use the address at the end of the redirects." } };
}

const MAX_REDIRECTS = 5;
const MAX_BYTES = 5 * 1024 * 1024;

interface Trip extends EgressOptions {
  readonly network: Network;
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

type Hop = Fetched | { readonly location: string };

async function visit(address: string, trip: Trip): Promise<Hop> {
  if (!URL.canParse(address)) return blocked(`${shown(address)} is not an address that can be fetched`);
  const url = new URL(address);
  if (url.protocol !== "http:" && url.protocol !== "https:") return blocked(`${shown(address)} is not http or https`);
  if (url.username !== "" || url.password !== "") return blocked(`${shown(address)} carries a user name or password`);
  const checked = await checkAddresses(url, trip);
  return "problem" in checked ? checked : exchange(url, checked.addresses, trip);
}

/** Resolves a host once. A single refused address refuses the whole request. */
async function checkAddresses(url: URL, trip: Trip) {
  const host = bareHost(url);
  if (isLocalName(host)) return blocked(`${shown(url.href)} is an address of this machine`);
  const addresses = isIP(host) ? [host] : await unlessAborted(trip.network.lookup(host), trip.signal);
  const refused = addresses.find((address) => isIP(address) === 0 || isRefusedAddress(address));
  if (refused !== undefined) {
    const way = refused === host ? "is" : `leads to ${refused},`;
    return blocked(`${shown(url.href)} ${way} a private, local or metadata address`);
  }
  if (addresses.length > 0) return { addresses };
  return problem("SOURCE_URL_UNREACHABLE", `${host} has no address`, REACH_HINT);
}

function bareHost(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1");
}

async function exchange(url: URL, addresses: readonly string[], trip: Trip): Promise<Hop> {
  const token = tokenFor(url, trip);
  if (token !== undefined && !/^[!-~]+$/.test(token)) {
    const message = `the token of ${url.host} contains characters that a header cannot carry`;
    return problem("SOURCE_URL_AUTH_REQUIRED", message, authHint(url, true));
  }
  const isSecure = url.protocol === "https:";
  const connection = await trip.network.connect({
    addresses,
    port: Number(url.port) || (isSecure ? 443 : 80),
    holder: isSecure ? bareHost(url).replace(/\.$/, "") : undefined,
    signal: trip.signal,
  });
  const sent = request({
    createConnection: () => connection,
    path: `${url.pathname}${url.search}`,
    headers: {
      host: url.host,
      accept: "*/*",
      "accept-encoding": "identity",
      "user-agent": "skillflow",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    signal: trip.signal,
  });
  try {
    return await readAnswer(url, await answerTo(sent), token !== undefined);
  } finally {
    sent.destroy();
  }
}

function tokenFor(url: URL, { auth, fetchToken }: EgressOptions): string | undefined {
  if (url.protocol !== "https:" || !Object.hasOwn(auth, url.host)) return undefined;
  return (auth[url.host] || fetchToken)?.trim() || undefined;
}

function answerTo(sent: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    sent.on("response", resolve);
    sent.on("error", reject);
    sent.on("close", () => reject(Object.assign(new Error("closed without an answer"), { code: "ECONNRESET" })));
    sent.end();
  });
}

async function readAnswer(url: URL, answer: IncomingMessage, hadToken: boolean): Promise<Hop> {
  const { statusCode: status = 0, headers } = answer;
  const place = shown(url.href);
  if (REDIRECTS.has(status) && headers.location !== undefined) return { location: joined(headers.location, url) };
  if (status === 401 || status === 403) {
    return problem("SOURCE_URL_AUTH_REQUIRED", `${place} answered ${status}`, authHint(url, hadToken));
  }
  if (status < 200 || status > 299) {
    return problem("SOURCE_URL_HTTP_ERROR", `${place} answered ${status}`, "Open the address to see its response.");
  }
  const encoding = headers["content-encoding"] ?? "identity";
  if (encoding !== "identity") {
    const what = `${place} sent a compressed answer (${encoding}) that was not requested`;
    return problem("SOURCE_URL_HTTP_ERROR", what, "Serve the text without content-encoding.");
  }
  const content = Number(headers["content-length"]) > MAX_BYTES ? undefined : await readCapped(answer, MAX_BYTES);
  if (content !== undefined) return { content };
  return problem("SOURCE_URL_TOO_LARGE", `${place} is larger than 5 MiB`, "Point to the part that the model needs.");
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

function joined(location: string, base: URL): string {
  return URL.canParse(location, base.href) ? new URL(location, base.href).href : location;
}

function authHint(url: URL, hadToken: boolean): string {
  if (hadToken) return `The token of ${url.host} was not accepted: check its variable under fetch.auth.`;
  const clear = url.protocol === "http:" ? " Tokens are sent only over https." : "";
  return `Under fetch.auth in your own config file, name the variable that holds a token for ${url.host}.${clear}`;
}

const REACH_HINT = "Check the address and the network, or keep a copy as a file.";

function unreachable(address: string, error: unknown, { signal, deadlineMs }: Trip): Fetched {
  if (signal.aborted) {
    return problem("SOURCE_URL_UNREACHABLE", `${shown(address)} did not answer fully in ${deadlineMs} ms`, REACH_HINT);
  }
  if (!(error instanceof Error) || !("code" in error) || error instanceof TypeError) throw error;
  const reason = error.message || String(error.code);
  return problem("SOURCE_URL_UNREACHABLE", `${shown(address)} cannot be reached: ${reason}`, REACH_HINT);
}

function withStart(hop: Fetched, start: string): Fetched {
  if ("content" in hop) return hop;
  return { problem: { ...hop.problem, message: `${hop.problem.message} (redirected from ${shown(start)})` } };
}

function blocked(message: string) {
  const hint = "Only public http and https addresses are fetched; use a file instead.";
  return problem("SOURCE_URL_BLOCKED", message, hint);
}

function problem(code: SourceProblem["code"], message: string, hint: string): { readonly problem: SourceProblem } {
  return { problem: { code, message, hint } };
}

/** Removes credentials from a URL for use in messages. */
function shown(address: string): string {
  return address.replace(/^([^/?#]*\/\/)[^/?#]*@/, "$1");
}

export const internet: Network = {
  lookup: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
  connect: async ({ addresses, port, holder, signal }) => {
    const pinned = { host: "pinned.invalid", lookup: pinnedTo(addresses), autoSelectFamily: true };
    const socket = connect({ ...pinned, port, signal });
    await once(socket, "connect");
    if (holder === undefined) return socket;
    const secured = connectSecurely({ socket, host: holder, servername: isIP(holder) ? "" : holder });
    await once(secured, "secureConnect");
    return secured;
  },
};

/** Answers every lookup with the checked addresses, so that the socket cannot connect elsewhere. */
function pinnedTo(addresses: readonly string[]): LookupFunction {
  const answers = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_host, _options, answer) => answer(null, answers);
}
