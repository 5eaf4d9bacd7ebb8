import { realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ForeignCommand, SandboxLimits } from "../../core/skill/sandbox.ts";
import { ownPath } from "../../files/own-files.ts";
import type { SandboxHost } from "../host.ts";
import type { ViewStep } from "./view-step.ts";

/**
 * The route out of a sandbox without a network: a small program inside opens a port on the loopback network, where programs
 * look for proxies, and hands it to the proxy outside (egress.ts). It guards nothing; the proxy decides.
 */

/** The hosts of a command that may reach some and not others. */
export function hostsOf({ network }: Pick<ForeignCommand, "network">): readonly string[] | undefined {
  return typeof network === "boolean" ? undefined : network;
}

/** Shows what teaches the program's Node to use the proxy. */
export function showRelay(folder: string): readonly ViewStep[] {
  const teacher = join(folder, "fetch.cjs");
  writeFileSync(teacher, FETCH);
  const undici = realpathSync(ownPath("vendor/undici.cjs", "node_modules/undici"));
  const shown: readonly (readonly [string, string])[] = [
    [teacher, INNER_FETCH],
    [undici, INNER_UNDICI],
  ];
  return shown.map(([source, target]) => ({ kind: "show", mount: { source, target, writable: false } }));
}

const INNER_FETCH = "/etc/egress/fetch.cjs";
const INNER_UNDICI = "/etc/egress/undici";
const PORT = 3128;

/** For a Node that knows nothing of proxies: loads what does with the first `fetch`, and not before. */
const FETCH = `if (!process.allowedNodeEnvironmentFlags.has("--use-env-proxy")) {
  const { fetch } = globalThis;
  let isReady = false;
  globalThis.fetch = function (...args) {
    const { EnvHttpProxyAgent, setGlobalDispatcher } = require("${INNER_UNDICI}");
    if (!isReady) setGlobalDispatcher(new EnvHttpProxyAgent());
    isReady = true;
    return fetch(...args);
  };
}
`;

/** Precedes a program's command line so that it finds the proxy. Ends as the program does. */
export function relayPrefix({ execPath }: SandboxHost): readonly string[] {
  return [execPath, "-e", RELAY, "--", `${PORT}`];
}

/**
 * Starts the program once the port is the proxy's and the channel to us is closed. Its own streams are the program's:
 * touching them would change how those behave.
 */
const RELAY = `
const [port, program, ...args] = process.argv.slice(1);
const server = require("node:net").createServer();
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => undefined);
process.once("disconnect", () => {
  const child = require("node:child_process").spawn(program, args, { stdio: "inherit" });
  const number = (signal) => 128 + require("node:os").constants.signals[signal];
  child.on("exit", (code, signal) => process.exit(code ?? number(signal)));
});
server.listen(Number(port), "127.0.0.1", () => process.send("port", server, () => server.close()));
`;

/** Programs know these names in either case; Node its own since 22.21 and 24.5. */
export function proxyVariables({ env }: Pick<ForeignCommand, "env">): Record<string, string> {
  const address = `http://127.0.0.1:${PORT}`;
  const names = { HTTP_PROXY: address, HTTPS_PROXY: address, ALL_PROXY: address, NO_PROXY: "" };
  const options = `${env.NODE_OPTIONS ?? ""} --require=${INNER_FETCH}`;
  const lower = Object.entries(names).map(([name, value]) => [name.toLowerCase(), value]);
  return { ...names, ...Object.fromEntries(lower), NODE_USE_ENV_PROXY: "1", NODE_OPTIONS: options.trim() };
}

/** What the relay itself uses is not the program's to answer for. */
export function withRelay(limits: SandboxLimits): SandboxLimits {
  const { memoryBytes, processes } = limits;
  return {
    ...limits,
    ...(memoryBytes === undefined ? {} : { memoryBytes: memoryBytes + RELAY_BYTES }),
    ...(processes === undefined ? {} : { processes: processes + 1 }),
  };
}

const RELAY_BYTES = 64 * 2 ** 20;
