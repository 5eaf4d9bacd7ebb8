import { SkillflowError, type ToolContext } from "skillflow";
import { clip } from "skillflow/internal";
import { type Admitted, admit, GuardedAddress } from "./hosts.ts";

/** Result of a request, after redirects within the listed hosts. */
export interface Page {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
  /** Why not all of the body was read. */
  readonly cut: string | undefined;
  readonly milliseconds: number;
  /** Redirect targets in order. The last one may be on a host that is not listed. */
  readonly redirects: readonly string[];
  readonly notFollowed?: string;
}

const MOST_REDIRECTS = 5;
const MOST_BYTES = 1_000_000;
const LONGEST_MS = 20_000;

/** Fetches a page, whatever its status. Throws an Error with a readable message if there is no response. */
export async function getPage(text: string, context: ToolContext): Promise<Page> {
  const began = Date.now();
  const redirects: string[] = [];
  for (let admitted = await admit(text, context); ; ) {
    const { url } = admitted;
    const { response, body, cut } = await ask(admitted, context);
    const told = { url: shown(url), status: response.status, headers: response.headers, body, cut, redirects };
    const done = (more: object = {}): Page => ({ ...told, milliseconds: Date.now() - began, ...more });
    const location = response.status >= 300 && response.status < 400 ? response.headers.get("location") : null;
    if (location === null || !URL.canParse(location, url.href)) return done();
    const next = new URL(location, url);
    redirects.push(shown(next));
    if (redirects.length > MOST_REDIRECTS)
      return done({ notFollowed: `it redirects more than ${MOST_REDIRECTS} times` });
    try {
      admitted = await admit(next.href, context);
    } catch (error) {
      return done({ notFollowed: error instanceof Error ? error.message : String(error) });
    }
  }
}

/** Returns a URL for display, without its query, which may contain a one-time key. */
function shown({ origin, pathname, search }: URL): string {
  return clip(`${origin}${pathname}${search ? "?…" : ""}`, 300);
}

async function ask({ url, dispatcher }: Admitted, context: ToolContext) {
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort(), LONGEST_MS);
  const signal = AbortSignal.any([context.signal, ending.signal]);
  try {
    const headers = { accept: "*/*", "user-agent": "skillflow" };
    const init: object = { method: "GET", redirect: "manual", credentials: "omit", headers, signal, dispatcher };
    const response = await context.fetch(url, init);
    return { response, ...(await readSome(response, ending.signal)) };
  } catch (error) {
    context.signal.throwIfAborted();
    if (error instanceof SkillflowError) throw error;
    if (ending.signal.aborted) throw new Error(`${url.host} did not respond within ${LONGEST_MS / 1000} seconds.`);
    throw new Error(silence(url, error));
  } finally {
    clearTimeout(timer);
  }
}

/** Reads the beginning of a body. A stream that never ends is an answer too. */
async function readSome(response: Response, ending: AbortSignal) {
  const chunks: Uint8Array[] = [];
  let size = 0;
  let cut: string | undefined;
  try {
    for await (const chunk of response.body ?? []) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MOST_BYTES) break;
    }
  } catch (error) {
    if (!ending.aborted) throw error;
    cut = `The body did not end within ${LONGEST_MS / 1000} seconds.`;
  }
  if (size > MOST_BYTES) cut = "The page is larger than 1 MB. The rest was not read.";
  return { body: Buffer.concat(chunks).subarray(0, MOST_BYTES), cut };
}

const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ENOTFOUND: "host not found",
  EAI_AGAIN: "DNS lookup failed",
  ECONNRESET: "the connection was reset",
  UND_ERR_SOCKET: "the connection was closed during the response",
  CERT_HAS_EXPIRED: "its certificate has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is self-signed",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate is not from a trusted authority",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is not from a trusted authority",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another name",
};

function silence(url: URL, error: unknown): string {
  const { message, cause } = error instanceof Error ? error : new Error(String(error));
  if (cause instanceof GuardedAddress) return cause.message;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  return `${url.host} did not respond: ${CAUSES[code] ?? message}${code ? ` (${code})` : ""}.`;
}
