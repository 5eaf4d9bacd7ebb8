import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Sandbox } from "../../core/skill/sandbox.ts";
import type { SandboxHost } from "../host.ts";
import { livingProcesses } from "../processes.ts";
import buildView from "../scripts/build-view.sh?raw" with { type: "text" };
import { type EncloseParts, type Enclosure, isolatingSandbox } from "./isolating.ts";
import { hostsOf } from "./relay.ts";
import { filterLoader, seccompFilter } from "./seccomp.ts";
import { INNER_ID, innerEnvironment, SHM_BYTES } from "./view.ts";

/**
 * Creates a sandbox with util-linux tools, which every Linux has. It is slower than bubblewrap. Perl or Python loads
 * the system call filter. Its own loopback network is up, as with bubblewrap, if a program for that is installed.
 */
export function unshareSandbox(host: SandboxHost): Sandbox {
  return isolatingSandbox(host, "unshare", (parts) => enclose(host, parts));
}

/** Forbids further user namespaces from within the program's own one, before it loses its rights there. */
const CLOSE = 'echo 0 > /proc/self/fd/7/max_user_namespaces; exec 7<&-; exec "$@"';

function enclose(host: SandboxHost, { command, view, folder }: EncloseParts): Enclosure {
  const root = join(folder, "root");
  mkdirSync(root);
  let status = "";
  const filter = seccompFilter();
  const loopback = command.network === true ? [] : [hostsOf(command) ? "loopback" : "own-loopback"];
  const steps = [...loopback, ...view.flat()];
  const entries = Object.entries(innerEnvironment(host, command)).map(([name, value]) => `${name}=${value}`);
  const spaces = ["--mount", "--propagation=private", "--ipc", "--uts", "--cgroup"];
  if (command.network !== true) spaces.push("--net");
  return {
    argv: [
      ...(["/usr/bin/unshare", "--user", "--map-root-user", ...spaces, "--"] as const),
      ...["/usr/bin/setpriv", "--pdeathsig=KILL", "--"],
      ...["/usr/bin/unshare", "--pid", "--fork", "--kill-child", "--"],
      ...["/bin/sh", "-c", buildView, "build", root, `${SHM_BYTES}`, ...steps, "-", command.cwd],
      ...["/usr/bin/unshare", "--user", `--map-user=${INNER_ID}`, `--map-group=${INNER_ID}`, "--keep-caps", "--"],
      ...["/bin/sh", "-ec", CLOSE, "close"],
      ...["/usr/bin/setpriv", "--no-new-privs", "--inh-caps=-all", "--ambient-caps=-all", "--"],
      ...(filter ? filterLoader(filter) : []),
      ...["/usr/bin/setsid", "--wait", "/bin/sh", "-c", becomeWith(entries.length), "become"],
    ],
    // Wrap the variables under neutral names, so that LD_PRELOAD affects only the program, not the launcher.
    env: Object.fromEntries(entries.map((entry, i) => [entryName(i), entry])),
    channels: [
      {
        onText: (text, launched) => {
          if (status === "") for (const pid of childrenOf(launched.pid)) launched.adopt(pid);
          if (status === "") launched.answer(0, "go\n");
          status = text;
        },
      },
    ],
    hasBegun: () => status.includes("begun"),
  };
}

/** Returns a script that unwraps the variables, removes those that shells add, and runs the program. */
function becomeWith(count: number): string {
  const names = Array.from({ length: count }, (_, i) => entryName(i));
  const exports = names.map((name) => `"$${name}"`).join(" ");
  return `export ${exports}; unset ${names.join(" ")}; exec /usr/bin/env -u PWD -u OLDPWD -u SHLVL -u _ "$@"`;
}

function entryName(place: number): string {
  return `SKILLFLOW_ENTRY_${place}`;
}

function childrenOf(parent: number): number[] {
  return livingProcesses().flatMap((each) => (each.parent === parent ? [each.pid] : []));
}
