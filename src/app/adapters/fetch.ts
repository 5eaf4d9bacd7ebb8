import type { Dispatcher } from "undici";
import { SkillflowError } from "../../core/base/errors.ts";
import type { Environment } from "../../core/document/config.ts";

/** The `fetch` of runs and calls: through a proxy, or with `--offline` to this machine alone. */
export async function openFetch(env: Environment, offline: boolean): Promise<typeof fetch> {
  return offline ? loopbackOnly() : proxiedFetch(env);
}

/** `fetch` through the proxy that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name; Node's own fetch knows none. */
export async function proxiedFetch(env: Environment): Promise<typeof fetch> {
  const httpProxy = env.HTTP_PROXY ?? env.http_proxy;
  const httpsProxy = env.HTTPS_PROXY ?? env.https_proxy;
  if (!httpProxy && !httpsProxy) return fetch;
  const { EnvHttpProxyAgent, fetch: fetchWith } = await import("undici");
  const noProxy = env.NO_PROXY ?? env.no_proxy ?? "localhost,127.0.0.1,::1";
  const dispatcher = new EnvHttpProxyAgent({ httpProxy, httpsProxy, noProxy });
  return through(fetchWith, dispatcher);
}

/** `--offline`: nobody but this machine is contacted, also where a redirect leads: each connection is looked at. */
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

/** undici's own fetch is Node's in all but its types. */
function through(fetchWith: typeof import("undici").fetch, dispatcher: Dispatcher): typeof fetch {
  return ((input: never, init?: object) => fetchWith(input, { ...init, dispatcher })) as unknown as typeof fetch;
}

function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[?::1\]?)$/.test(hostname);
}

function refusal(hostname: string): SkillflowError {
  return new SkillflowError("offline.refused", `${hostname} was not contacted: the run is offline`);
}
