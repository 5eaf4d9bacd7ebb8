import type { Environment } from "./core/config.ts";
import { SkillflowError } from "./core/errors.ts";

/** The `fetch` of runs and calls: through a proxy, or with `--offline` to this machine alone. */
export async function openFetch(env: Environment, offline: boolean): Promise<typeof fetch> {
  return offline ? loopbackOnly(fetch) : proxiedFetch(env);
}

/** `fetch` through the proxy that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name; Node's own fetch knows none. */
export async function proxiedFetch(env: Environment): Promise<typeof fetch> {
  const httpProxy = env.HTTP_PROXY ?? env.http_proxy;
  const httpsProxy = env.HTTPS_PROXY ?? env.https_proxy;
  if (!httpProxy && !httpsProxy) return fetch;
  const { EnvHttpProxyAgent, fetch: fetchWith } = await import("undici");
  const noProxy = env.NO_PROXY ?? env.no_proxy ?? "localhost,127.0.0.1,::1";
  const dispatcher = new EnvHttpProxyAgent({ httpProxy, httpsProxy, noProxy });
  return ((input: never, init?: object) => fetchWith(input, { ...init, dispatcher })) as unknown as typeof fetch;
}

/** `--offline`: nobody but this machine is contacted. */
function loopbackOnly(real: typeof fetch): typeof fetch {
  return async (input, init) => {
    const { hostname } = new URL(input instanceof Request ? input.url : String(input));
    if (/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)) return real(input, init);
    throw new SkillflowError("offline.refused", `${hostname} was not contacted: the run is offline`);
  };
}
