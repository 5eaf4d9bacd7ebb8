import type { Dispatcher } from "undici";
import { SkillflowError } from "../../core/base/errors.ts";
import { lazy } from "../../core/base/values.ts";
import type { Environment } from "../../core/document/config.ts";

/** Returns the `fetch` for runs and calls: through a proxy, or with `--offline` limited to this machine. */
export function openFetch(env: Environment, offline: boolean | undefined): typeof fetch {
  return offline ? lazily(loopbackOnly) : proxiedFetch(env);
}

/** Returns a `fetch` that uses HTTP_PROXY, HTTPS_PROXY and NO_PROXY, which Node's own `fetch` ignores. */
export function proxiedFetch(env: Environment): typeof fetch {
  const proxy = proxyOf(env);
  if (!proxy) return fetch;
  return lazily(async () => {
    const { EnvHttpProxyAgent, fetch: fetchWith } = await import("undici");
    const noProxy = env.NO_PROXY ?? env.no_proxy ?? "localhost,127.0.0.1,::1";
    const proxied = through(fetchWith, new EnvHttpProxyAgent({ ...proxy, noProxy }));
    const direct: typeof fetch = (input, init) => (fetchWith as typeof fetch)(input, init);
    return (input, init) => {
      const url = new URL(input instanceof Request ? input.url : input);
      const isDirect = (url.protocol === "http:" && !proxy.httpProxy) || isExempt(url, noProxy);
      return isDirect && init && "dispatcher" in init ? direct(input, init) : proxied(input, init);
    };
  });
}

/** Returns whether NO_PROXY lists the host, as undici reads it. A request there keeps the caller's own connection, which may check addresses. */
function isExempt({ hostname, port, protocol }: URL, noProxy: string): boolean {
  const own = port || (protocol === "https:" ? "443" : "80");
  if (noProxy === "*") return true;
  return noProxy
    .toLowerCase()
    .split(/[,\s]+/)
    .some((entry) => {
      const [, name = "", only] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
      const listed = name.replace(/^\*?\./, "");
      return listed !== "" && (only ?? own) === own && (hostname === listed || hostname.endsWith(`.${listed}`));
    });
}

export function proxyOf(env: Environment) {
  const httpProxy = env.HTTP_PROXY ?? env.http_proxy;
  const httpsProxy = env.HTTPS_PROXY ?? env.https_proxy;
  return httpProxy || httpsProxy ? { httpProxy, httpsProxy } : undefined;
}

/** Opens a `fetch` on its first request, because undici takes long to load. */
function lazily(open: () => Promise<typeof fetch>): typeof fetch {
  const opened = lazy(open);
  return async (...asked) => (await opened())(...asked);
}

/** Checks every connection, not only the first URL, so that redirects cannot leave this machine. */
async function loopbackOnly(): Promise<typeof fetch> {
  const { Agent, buildConnector, fetch: fetchWith } = await import("undici");
  const connect = buildConnector({});
  const dispatcher = new Agent({
    connect: (options, done) =>
      isLoopback(options.hostname) ? connect(options, done) : done(refusal(options.hostname), null),
  });
  const fetchHere = through(fetchWith, dispatcher);
  return async (...asked) => {
    try {
      return await fetchHere(...asked);
    } catch (error) {
      const { cause } = error as Error;
      throw cause instanceof SkillflowError ? cause : error;
    }
  };
}

/** Adds a dispatcher to requests. The types of Node describe another version of undici. */
function through(fetchWith: typeof import("undici").fetch, dispatcher: Dispatcher): typeof fetch {
  return (input, init) => (fetchWith as typeof fetch)(input, Object.assign({}, init, { dispatcher }));
}

export function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[?::1\]?)$/.test(hostname);
}

export function refusal(hostname: string): SkillflowError {
  return new SkillflowError("offline.refused", `${hostname} was not contacted: the run is offline`);
}
