import { chmodSync, mkdtempSync, readdirSync, rmdirSync, unlinkSync } from "node:fs";
import { constants, release, tmpdir } from "node:os";
import { join } from "node:path";
import { SkillflowError } from "../../core/base/errors.ts";
import type { ForeignCommand, ForeignResult, Sandbox, Turn } from "../../core/skill/sandbox.ts";
import { temporaryName } from "../../files/temporary-name.ts";
import type { SandboxHost } from "../host.ts";
import { asResult, checkBegan, withLimits } from "../limits.ts";
import { type Channel, type Launch, runTree, type TreeEnd } from "../tree.ts";
import { checkCommand, type ViewStep } from "./command.ts";
import { watchDisk } from "./disk.ts";
import { type Egress, openEgress } from "./egress.ts";
import { chooseKernelUser, giveDisposable, prefixFor } from "./kernel-user.ts";
import { protectNames } from "./protection.ts";
import { hostsOf, relayPrefix, withRelay } from "./relay.ts";
import { describeView } from "./view.ts";

/** Launcher command that sets up a view and then runs the arguments that follow it. */
export interface Enclosure {
  readonly argv: readonly [launcher: string, ...args: string[]];
  /** Environment of the launcher. Nothing from our own process. */
  readonly env: Readonly<Record<string, string>>;
  readonly channels: readonly Channel[];
  /** Returns true once the view was set up, so that later failures are the program's own. */
  readonly hasBegun: () => boolean;
}

export interface EncloseParts {
  readonly command: ForeignCommand;
  readonly view: readonly ViewStep[];
  /** Private folder of this run, empty except for files that the view shows. */
  readonly folder: string;
}

/** Creates a Linux sandbox from a launcher. Adds the view, the kernel user, the limits and the cleanup. */
export function isolatingSandbox(
  host: SandboxHost,
  name: string,
  enclose: (parts: EncloseParts) => Enclosure,
): Sandbox {
  return {
    name,
    isolates: true,
    run: async (asked, turn) => {
      checkCommand(asked);
      const hosts = hostsOf(asked);
      const network = hosts?.length === 0 ? false : asked.network;
      const command = { ...asked, network, limits: { ...DEFAULT_LIMITS, ...asked.limits } };
      // If we are root, another user must be able to reach the folder, so use /tmp.
      const folder = mkdtempSync(join(host.uid === 0 ? "/tmp" : tmpdir(), temporaryName("box", host.self)));
      try {
        chmodSync(folder, 0o755);
        // Protected names stay read-only until the program is gone.
        const { mounts, release } = protectNames(host, command, folder);
        const egress = hosts && network ? openEgress({ hosts }) : undefined;
        try {
          const view = describeView(host, { ...command, mounts: [...command.mounts, ...mounts] }, folder);
          return await runIn({ host, command, turn, egress, view, folder, enclose });
        } finally {
          release();
          await egress?.close();
        }
      } finally {
        removeFolder(folder);
      }
    },
  };
}

interface Launching extends EncloseParts {
  readonly host: SandboxHost;
  readonly turn: Promise<Turn | undefined> | undefined;
  /** Proxy for a command that names hosts. */
  readonly egress: Egress | undefined;
  readonly enclose: (parts: EncloseParts) => Enclosure;
}

async function runIn({ host, command, turn, egress, view, folder, enclose }: Launching): Promise<ForeignResult> {
  const user = chooseKernelUser(host, command);
  if (user) giveDisposable(user, command);
  const prefix = user ? prefixFor(user, view, folder) : { argv: [], view };
  const enclosure = enclose({ command, view: prefix.view, folder });
  const limited = withLimits(command, ["--core=0", ...processLimit(command, user?.uid ?? host.uid)]);
  const relay = egress ? relayPrefix(host) : [];
  const [launcher, ...rest] = [...prefix.argv, ...enclosure.argv, ...relay, ...limited];
  const [program] = command.argv;
  const written = command.mounts.filter(({ writable }) => writable).map(({ source }) => source);
  const launch: Launch = {
    ...command,
    watchDisk: () => watchDisk(written, command.limits.diskBytes ?? DEFAULT_LIMITS.diskBytes),
    limits: egress ? withRelay(command.limits) : command.limits,
    ...(egress ? { onServer: egress.accept } : {}),
    program,
    argv: [launcher ?? program, ...rest],
    env: enclosure.env,
    cwd: "/",
    channels: enclosure.channels,
    contained: true,
  };
  const end = await runTree(host, launch, turn);
  if (end.ended === "exit" && !enclosure.hasBegun()) throw notBegun(program, end);
  checkBegan(command, end);
  const result = asResult(fromInside(end), command.limits);
  const report = egress?.report() ?? "";
  const between = result.stderr === "" || result.stderr.endsWith("\n") ? "" : "\n";
  return report === "" ? result : { ...result, stderr: `${result.stderr}${between}${report}` };
}

/** Default limits for foreign code: enough for normal work, too little to exhaust the machine. */
const DEFAULT_LIMITS = { memoryBytes: 2 * 2 ** 30, processes: 256, diskBytes: 4 * 2 ** 30 };

/** Threads per allowed process. The kernel counts threads, and a Node program has a dozen. */
const THREADS = 16;

/** Returns a coarse process limit. It does not bind root, and old kernels count all processes of the user. */
function processLimit({ limits: { processes } }: ForeignCommand, uid: number | undefined): string[] {
  const [major = 0, minor = 0] = release().split(".").map(Number);
  const countsInside = major > 5 || (major === 5 && minor >= 14);
  return processes === undefined || uid === 0 || !countsInside ? [] : [`--nproc=${(processes + 1) * THREADS}`];
}

function notBegun(program: string, { stderr, code, signalled }: TreeEnd): SkillflowError {
  const why = stderr.trim() || `the launcher ended with ${signalled ?? code}`;
  return new SkillflowError("sandbox.failed", `${program} could not be started in a sandbox: ${why}`, {
    hint: "check its mounts and its folder; in a container, allow user namespaces",
  });
}

/** Decodes an exit code of 128 plus a signal number, as launchers and shells report signals. */
function fromInside(end: TreeEnd): TreeEnd {
  const number = (end.code ?? 0) - 128;
  const [name] = Object.entries(constants.signals).find(([, each]) => each === number) ?? [];
  return name === undefined ? end : { ...end, code: undefined, signalled: name as NodeJS.Signals };
}

/** Deletes entries one by one instead of recursively, so that a leftover mount is never emptied. */
function removeFolder(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) rmdirSync(path);
    else unlinkSync(path);
  }
  rmdirSync(folder);
}
