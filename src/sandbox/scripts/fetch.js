// Preload for Node versions without proxy support. Loads undici on the first `fetch`.
if (!process.allowedNodeEnvironmentFlags.has("--use-env-proxy")) {
  const { fetch } = globalThis;
  let isReady = false;
  globalThis.fetch = (...args) => {
    const { EnvHttpProxyAgent, setGlobalDispatcher } = require("/etc/egress/undici");
    if (!isReady) setGlobalDispatcher(new EnvHttpProxyAgent());
    isReady = true;
    return fetch(...args);
  };
}
