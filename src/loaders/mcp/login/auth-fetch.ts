import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { FetchLike } from "@modelcontextprotocol/client";
import { isLocalName, isRefusedAddress } from "../../../core/base/address/address.ts";
import { isObject, parseJson } from "../../../core/base/values.ts";
import { readCapped } from "../../text/bounded.ts";
import { quote } from "../offer/tools.ts";

/** Limits of the requests that a server's metadata may cause. */
export interface AuthEgress {
  readonly fetch: typeof fetch;
  /** MCP server. Like the issuer, the user chose it. */
  readonly server: URL;
  readonly issuer: string | undefined;
  readonly signal: AbortSignal;
}

const MOST_BYTES = 1024 * 1024;
const ANSWER_MS = 15_000;

/**
 * Creates the fetch function for metadata, registrations and tokens. Refusals are plain Errors, because the SDK prints
 * OAuth errors to the console. Redirects are left to the SDK.
 */
export function authFetch(egress: AuthEgress): FetchLike {
  return async (address, init = {}) => {
    const url = new URL(address);
    await checkAuthAddress(url, egress);
    const signal = AbortSignal.any([egress.signal, AbortSignal.timeout(ANSWER_MS)]);
    const response = await egress.fetch(url, { ...init, redirect: init.redirect ?? "manual", signal });
    const text = await readCapped(response.body, MOST_BYTES);
    if (text === undefined) throw new Error(`${url.origin} sent an authorization response that is too large`);
    const { status, headers } = response;
    if (init.method === "POST" && !response.ok) throw new Error(refusal(url, status, text));
    return new Response(text === "" ? null : text, { status, headers });
  };
}

/**
 * Throws if a URL could expose a secret, or lead into a private network without the user's choice. DNS rebinding fails
 * too: over TLS, the other server cannot prove its identity.
 */
export async function checkAuthAddress(url: URL, { server, issuer }: Pick<AuthEgress, "server" | "issuer">) {
  const isHere = isLoopback(url) && isLoopback(server);
  if (url.username !== "" || url.password !== "") throw refused(url, "it carries a user name or password");
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isHere)) throw refused(url, "it is not https");
  if (isHere || url.origin === server.origin || url.origin === (issuer && new URL(issuer).origin)) return;
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const found = isIP(host) ? [{ address: host }] : await lookup(host, { all: true }).catch(() => []);
  if (isLocalName(host) || found.some(({ address }) => isRefusedAddress(address))) {
    throw refused(url, "it is at a private address; if that is right, set auth.issuer to it");
  }
}

function isLoopback({ hostname }: URL): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

function refused({ origin }: URL, why: string): Error {
  return new Error(`its authorization leads to ${quote(origin)}, which is not contacted: ${why}`);
}

function refusal({ origin }: URL, status: number, text: string): string {
  const answer = parseJson(text);
  const { error, error_description: description } = isObject(answer) ? answer : {};
  const said = [error, description].filter((part) => typeof part === "string").join(": ");
  return `the authorization server ${origin} answers HTTP ${status}${said === "" ? "" : ` (${said.slice(0, 300)})`}`;
}

/** Returns the `error` parameter of a `WWW-Authenticate` header (RFC 9110, 11.6.1), from the first such challenge. */
export function challengeError(header: string | null): string | undefined {
  for (const [, name, quoted, plain] of (header ?? "").matchAll(PIECE)) {
    const value = quoted?.replace(/\\(.)/g, "$1") ?? plain;
    if (name?.toLowerCase() === "error" && value !== undefined) return value;
  }
  return undefined;
}

/** Name with an optional value, or a quoted string. Every piece is consumed, so that no part is read twice. */
const PIECE = /([^\s,="]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"?|([^\s,"]+)))?|"(?:[^"\\]|\\.)*"?/g;
