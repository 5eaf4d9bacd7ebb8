import { readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import type { ForeignCommand, SandboxLimits } from "../../core/skill/sandbox.ts";
import { ownPath } from "../../files/own-files.ts";
import type { SandboxHost } from "../host.ts";
import proxiedFetch from "../scripts/fetch.js?raw" with { type: "text" };
import relay from "../scripts/relay.js?raw" with { type: "text" };
import type { ViewStep } from "./command.ts";

/**
 * Network route out of a sandbox that has no network. A small program inside listens on the loopback port where
 * programs expect a proxy. It hands the port to the proxy outside (egress.ts), which decides what is allowed.
 */

/** Returns the hosts of a command whose network is limited to some hosts. */
export function hostsOf({ network }: Pick<ForeignCommand, "network">): readonly string[] | undefined {
  return typeof network === "boolean" ? undefined : network;
}

/** Shows the files that make the program's Node use the proxy. */
export function showRelay(folder: string): readonly ViewStep[] {
  const teacher = join(folder, "fetch.cjs");
  writeFileSync(teacher, proxiedFetch);
  const own = ownPath("vendor/undici.cjs.br", "node_modules/undici");
  const undici = own.endsWith(".br") ? join(folder, "undici.cjs") : realpathSync(own);
  if (own.endsWith(".br")) writeFileSync(undici, brotliDecompressSync(readFileSync(own)));
  return [
    ["--ro-bind", teacher, INNER_FETCH],
    ["--ro-bind", undici, INNER_UNDICI],
  ];
}

const INNER_FETCH = "/etc/egress/fetch.cjs";
/** Required by scripts/fetch.js. */
const INNER_UNDICI = "/etc/egress/undici";
const PORT = 3128;

/** Returns the prefix that connects a program to the proxy. It exits with the program's exit code. */
export function relayPrefix({ execPath }: SandboxHost): readonly string[] {
  return [execPath, "-e", relay, "--", `${PORT}`];
}

/** Returns the proxy variables, in both cases. Node has supported them since 22.21 and 24.5. */
export function proxyVariables({ env }: Pick<ForeignCommand, "env">): Record<string, string> {
  const address = `http://127.0.0.1:${PORT}`;
  const names = { HTTP_PROXY: address, HTTPS_PROXY: address, ALL_PROXY: address, NO_PROXY: "" };
  const options = `${env.NODE_OPTIONS ?? ""} --require=${INNER_FETCH}`;
  const lower = Object.entries(names).map(([name, value]) => [name.toLowerCase(), value]);
  return { ...names, ...Object.fromEntries(lower), NODE_USE_ENV_PROXY: "1", NODE_OPTIONS: options.trim() };
}

/** Raises the limits by what the relay itself uses. */
export function withRelay(limits: SandboxLimits): SandboxLimits {
  const { memoryBytes, processes } = limits;
  return {
    ...limits,
    ...(memoryBytes === undefined ? {} : { memoryBytes: memoryBytes + RELAY_BYTES }),
    ...(processes === undefined ? {} : { processes: processes + 1 }),
  };
}

const RELAY_BYTES = 64 * 2 ** 20;
