import type { Environment } from "./core/config.ts";

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
