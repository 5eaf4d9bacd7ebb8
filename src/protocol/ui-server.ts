import { randomBytes } from "node:crypto";
import type { ListView, RunList, Site, SiteRun, Stats } from "../app/views/site.ts";
import { exitCodeOf, SkillflowError, usageError } from "../core/base/errors.ts";
import { clip } from "../core/base/preview.ts";
import { percentDecoded } from "../core/base/values.ts";
import { RUN_STATUSES } from "../core/engine/event/end.ts";
import { bearerOf, isSame, openHttpServer, page, pagePolicy, SAFE_HEADERS } from "./http-server.ts";

/** Read-only local web page over all runs. Only this machine can reach it, and it requires a token. */

/** Functions that render the pages. Scripts in a page carry the nonce. */
export interface Pages {
  runs(list: RunList, view: ListView): (nonce: string) => string;
  run(run: SiteRun): (nonce: string) => string;
  stats(stats: Stats, days: number): string;
  problem(title: string, message: string): string;
}

export async function openUi(site: Site, pages: Pages, port: number) {
  const token = randomBytes(24).toString("base64url");
  const server = await openHttpServer({
    host: "127.0.0.1",
    port,
    mostBytes: 0,
    site: (request, { host }) => guarded(request, { host, token, site, pages }),
  });
  // The address signs the browser in for its session.
  return { address: `${server.url}/?token=${token}`, close: server.close };
}

interface Door {
  /** Expected Host header. Any other name was made to resolve to this machine. */
  readonly host: string;
  readonly token: string;
  readonly site: Site;
  readonly pages: Pages;
}

async function guarded(request: Request, door: Door): Promise<Response> {
  const { pages, host, token } = door;
  const url = new URL(request.url);
  if (request.headers.get("host") !== host) return plain(421, "this server answers only at 127.0.0.1");
  if (request.method !== "GET") return plain(405, "GET only", { allow: "GET" });
  const given = url.searchParams.get("token");
  if (given !== null && isSame(given, token) && !url.pathname.startsWith("/api/")) return welcome(url, door);
  if (!isSame(given ?? tokenOf(request, host), token)) {
    const message = "Open the address that skillflow ui printed when it started.";
    return page(401, pages.problem("The token is missing or wrong", message));
  }
  try {
    return await answer(url, request, door);
  } catch (error) {
    if (!(error instanceof SkillflowError)) throw error;
    const isMissing = error.code === "run.unknown" || exitCodeOf(error.code) === 2;
    const status = error.code === "input.invalid" ? 400 : isMissing ? 404 : 500;
    if (url.pathname.startsWith("/api/")) return json(status, { error: { code: error.code, message: error.message } });
    return page(status, pages.problem(PROBLEMS[status], error.message));
  }
}

const PROBLEMS = { 400: "The address is not valid", 404: "There is no such run", 500: "Cannot show the run" } as const;

/** Moves the token from the URL, where it could be seen or stored, to a cookie that scripts cannot read. */
function welcome(url: URL, { token, host }: Door): Response {
  const place = /^\/(?:runs\/[^/]+|stats)$/.test(url.pathname) ? url.pathname : "/";
  const cookie = `${cookieName(host)}=${token}; HttpOnly; SameSite=Strict; Path=/`;
  return new Response(null, {
    status: 303,
    headers: { ...SAFE_HEADERS, location: place, "set-cookie": cookie },
  });
}

/** Returns a cookie name per port, because cookies are shared between ports. */
function cookieName(host: string): string {
  return `skillflow-${host.split(":")[1]}`;
}

function tokenOf({ headers }: Request, host: string): string {
  const lead = `${cookieName(host)}=`;
  const cookie = (headers.get("cookie") ?? "").split("; ").find((each) => each.startsWith(lead));
  return bearerOf(headers.get("authorization")) ?? cookie?.slice(lead.length) ?? "";
}

async function answer(url: URL, request: Request, { site, pages }: Door): Promise<Response> {
  const { pathname, searchParams } = url;
  const [, id, rest] = /^\/(?:api\/)?runs\/([^/]+)(\/events)?$/.exec(pathname) ?? [];
  checkQuery(searchParams);
  const view = viewIn(searchParams);
  if (pathname === "/") return drawn(pages.runs(await site.list(view), view));
  if (pathname === "/api/runs") return json(200, { schema: "skillflow.runs/1", ...(await site.list(view)) });
  if (pathname === "/stats" || pathname === "/api/stats") {
    const days = daysIn(searchParams);
    const stats = await site.stats(days);
    return pathname === "/stats" ? page(200, pages.stats(stats, days)) : json(200, stats);
  }
  if (id === undefined && pathname.startsWith("/api/")) throw usageError(`there is no ${pathname}`);
  if (id === undefined || (rest && !pathname.startsWith("/api/")))
    return page(404, pages.problem("Page not found", pathname));
  const run = percentDecoded(id);
  if (rest) return stream(site, run, request, afterOf(request, searchParams));
  if (pathname.startsWith("/api/")) return json(200, await site.result(run));
  return drawn(pages.run(await site.run(run)));
}

const STATES = [...RUN_STATUSES, "degraded", "running"];

/** Forms of the parameters of an address, in words. Any text can be searched for. */
const FORMS: readonly (readonly [name: string, form: RegExp, words: string])[] = [
  ["page", /^[1-9]\d{0,8}$/, "a whole number from 1"],
  ["days", /^[1-9]\d{0,4}$/, "a whole number from 1 to 99999"],
  ["after", /^(?:-1|\d{1,9})$/, "the number of an event, or -1"],
  ["state", new RegExp(`^(?:${STATES.join("|")})$`), `one of ${STATES.join(", ")}`],
];

function checkQuery(search: URLSearchParams): void {
  for (const [name, form, words] of FORMS) {
    const given = (search.get(name) ?? "").trim();
    if (given === "" || form.test(given)) continue;
    throw new SkillflowError("input.invalid", `${name} must be ${words}, not ${clip(given, 100)}`);
  }
}

const MOST_SOUGHT = 200;

function viewIn(search: URLSearchParams): ListView {
  const [state = "", text = ""] = ["state", "q"].map((name) => (search.get(name) ?? "").trim().slice(0, MOST_SOUGHT));
  return { page: Number(search.get("page")?.trim() || 1), state, text };
}

function daysIn(search: URLSearchParams): number {
  return Number(search.get("days")?.trim() || 30);
}

function afterOf({ headers }: Request, search: URLSearchParams): number {
  const given = headers.get("last-event-id") ?? search.get("after") ?? "";
  return /^\d{1,9}$/.test(given) ? Number(given) : -1;
}

const KEEP_ALIVE_MS = 15_000;

/** Streams server-sent events. A browser that reconnects after the end gets 204, so that it stops. */
async function stream(site: Site, run: string, { signal }: Request, after: number): Promise<Response> {
  const events = site.follow(run, after, signal);
  const first = await events.next();
  if (first.done) return new Response(null, { status: 204, headers: SAFE_HEADERS });
  const text = (event: { readonly seq: number }) => `id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`;
  const encoder = new TextEncoder();
  let alive: NodeJS.Timeout | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(encoder.encode(`retry: 1000\n\n${text(first.value)}`));
      alive = setInterval(() => controller.enqueue(encoder.encode(": keep-alive\n\n")), KEEP_ALIVE_MS);
    },
    async pull(controller) {
      const { done, value } = await events.next().catch((error: unknown) => {
        clearInterval(alive);
        throw error;
      });
      if (!done) return controller.enqueue(encoder.encode(text(value)));
      clearInterval(alive);
      controller.close();
    },
    async cancel() {
      clearInterval(alive);
      await events.return(undefined);
    },
  });
  return new Response(body, { headers: { ...SAFE_HEADERS, "content-type": "text/event-stream; charset=utf-8" } });
}

function drawn(draw: (nonce: string) => string): Response {
  const nonce = randomBytes(16).toString("base64url");
  return page(200, draw(nonce), { "content-security-policy": pagePolicy({ nonce, forms: "'self'" }) });
}

function json(status: number, value: unknown): Response {
  const headers = { ...SAFE_HEADERS, "content-type": "application/json; charset=utf-8" };
  return new Response(JSON.stringify(value), { status, headers });
}

function plain(status: number, message: string, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(`${message}\n`, {
    status,
    headers: { ...SAFE_HEADERS, "content-type": "text/plain; charset=utf-8", ...headers },
  });
}
