import { realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ForeignCommand, SandboxLimits } from "../../core/sandbox.ts";
import { ownPath } from "../../own-files.ts";
import type { SandboxHost } from "../host.ts";
import type { ViewStep } from "./view-step.ts";

/**
 * The way out of a sandbox without a network: a socket of the proxy (egress.ts), and inside a small program that offers
 * it on the loopback network, where programs look for proxies. It guards nothing; the proxy decides.
 */

/** The hosts of a command that may reach some and not others. */
export function hostsOf({ network }: Pick<ForeignCommand, "network">): readonly string[] | undefined {
  return typeof network === "boolean" ? undefined : network;
}

/** Where the proxy listens, on this machine. */
export function socketIn(folder: string): string {
  return join(folder, "egress.sock");
}

/** The socket as the program sees it, and what teaches its Node to use the proxy. */
export function showRelay(folder: string): readonly ViewStep[] {
  const teacher = join(folder, "fetch.cjs");
  writeFileSync(teacher, FETCH);
  const undici = ownPath("vendor/undici.cjs", "node_modules/undici");
  const sources = [socketIn(folder), teacher, realpathSync(undici)];
  const targets = [INNER_SOCKET, INNER_FETCH, INNER_UNDICI];
  return sources.map((source, i) => ({ kind: "show", mount: { source, target: targets[i] ?? "", writable: false } }));
}

const INNER_SOCKET = "/etc/egress/socket";
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

/** What stands before a program so that it finds the proxy. It ends as the program does. */
export function relayPrefix({ execPath }: SandboxHost): readonly string[] {
  return [execPath, "-e", RELAY, "--", `${PORT}`, INNER_SOCKET];
}

/** Its own streams are the program's: touching them would change how those behave. It leaves with the program alone. */
const RELAY = `
const { createServer, connect } = require("node:net");
const [port, path, program, ...args] = process.argv.slice(1);
const server = createServer({ allowHalfOpen: true }, (near) => {
  const far = connect({ path, allowHalfOpen: true });
  for (const [one, other] of [[near, far], [far, near]]) {
    one.on("error", () => undefined);
    one.on("close", (failed) => (failed ? other.destroy() : other.destroySoon()));
    one.pipe(other);
  }
});
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => undefined);
server.listen(Number(port), "127.0.0.1", () => {
  const child = require("node:child_process").spawn(program, args, { stdio: "inherit" });
  const number = (signal) => 128 + require("node:os").constants.signals[signal];
  child.on("exit", (code, signal) => process.exit(code ?? number(signal)));
});
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
