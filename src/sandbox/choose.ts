import { platform } from "node:os";
import { isAbsolute, join } from "node:path";
import { messageOf, SkillflowError } from "../core/base/errors.ts";
import type { Sandbox } from "../core/skill/sandbox.ts";
import { isProgram } from "../files/files.ts";
import type { SandboxHost } from "./host.ts";
import { bubblewrapSandbox } from "./isolation/bubblewrap.ts";
import { unshareSandbox } from "./isolation/unshare.ts";

/**
 * Chooses the sandbox for untrusted code: the first that runs a trial program on this machine. If none works, returns
 * one that refuses every program with `sandbox.missing`. Untrusted code never runs without a sandbox.
 */
export function openSandbox(host: SandboxHost): Promise<Sandbox> {
  const opened = known.get(host) ?? firstThatWorks(candidates(host));
  known.set(host, opened);
  return opened;
}

/** Cached results, because each trial starts a program and its outcome does not change. */
const known = new WeakMap<SandboxHost, Promise<Sandbox>>();

function candidates(host: SandboxHost): readonly Sandbox[] {
  if (platform() !== "linux") return [];
  const places = (host.env.PATH ?? "/usr/bin:/bin").split(":").filter((folder) => isAbsolute(folder));
  const bwrap = places.map((folder) => join(folder, "bwrap")).find((file) => isProgram(file));
  return [...(bwrap === undefined ? [] : [bubblewrapSandbox(host, bwrap)]), unshareSandbox(host)];
}

/** Returns the first sandbox that completes a trial. Exported for the test in which none does. */
export async function firstThatWorks(sandboxes: readonly Sandbox[]): Promise<Sandbox> {
  const reasons: string[] = [];
  for (const sandbox of sandboxes) {
    const reason = await whyNot(sandbox);
    if (reason === undefined) return sandbox;
    reasons.push(`${sandbox.name}: ${reason}`);
  }
  return missingSandbox(reasons);
}

const TRIAL_MS = 15_000;

async function whyNot(sandbox: Sandbox): Promise<string | undefined> {
  try {
    const { ended, code, stderr } = await sandbox.run({
      argv: ["true"],
      stdin: "",
      env: {},
      mounts: [],
      cwd: "/",
      network: false,
      limits: { wallMs: TRIAL_MS, outputBytes: 10_000, memoryBytes: 2 ** 28, processes: 4 },
      signal: new AbortController().signal,
    });
    return ended === "exit" && code === 0 ? undefined : `a trial ended with ${code ?? ended} ${stderr.trim()}`.trim();
  } catch (error) {
    return messageOf(error);
  }
}

function missingSandbox(reasons: readonly string[]): Sandbox {
  const isLinux = platform() === "linux";
  return {
    name: "missing",
    isolates: true,
    run: async ({ argv: [program] }) => {
      const why = reasons.length === 0 ? "" : ` (${reasons.join("; ")})`;
      throw new SkillflowError(
        "sandbox.missing",
        `${program} was not run: this machine has no sandbox that works${why}`,
        {
          hint: isLinux
            ? "install bubblewrap (apt-get install bubblewrap); in a container, allow user namespaces"
            : "run skillflow on Linux with bubblewrap (apt-get install bubblewrap), for example in a virtual machine",
        },
      );
    },
  };
}
