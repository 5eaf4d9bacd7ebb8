import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SkillflowError } from "../core/base/errors.ts";
import type { ForeignCommand, ForeignResult, Sandbox, Turn } from "../core/skill/sandbox.ts";
import { temporaryName } from "../files/temporary-name.ts";
import type { SandboxHost } from "./host.ts";
import { checkCommand } from "./isolation/command.ts";
import { needsKernel, PRLIMIT, withLimits, withoutLimits } from "./limits.ts";
import { runTree } from "./tree.ts";

/**
 * For programs that the operator allowed: they run as the user, with the command's environment, limits and end. Where
 * the system has no `prlimit` (not Linux), the wall clock and the output are the only limits.
 */
export function processSandbox(host: SandboxHost): Sandbox {
  return {
    name: "process",
    isolates: false,
    run: async (command, turn) => {
      checkCommand(command);
      checkMounts(command);
      checkNetwork(command);
      const temporary = mkdtempSync(join(tmpdir(), temporaryName("process", host.self)));
      try {
        return await runIn(host, { command, turn, temporary });
      } finally {
        rmSync(temporary, { recursive: true, force: true, maxRetries: 3 });
      }
    },
  };
}

/** Files are the user's here: a program cannot see one of them elsewhere. */
function checkMounts({ argv: [program], mounts }: ForeignCommand): void {
  const moved = mounts.find(({ source, target }) => source !== target);
  if (!moved) return;
  throw new SkillflowError(
    "sandbox.failed",
    `${program} wants to see ${moved.source} as ${moved.target}, which needs a sandbox that isolates`,
    { hint: "install bubblewrap (apt-get install bubblewrap)" },
  );
}

/** The network is the user's too: nothing here could keep a program to some hosts. */
function checkNetwork({ argv: [program], network }: ForeignCommand): void {
  if (typeof network === "boolean") return;
  throw new SkillflowError(
    "sandbox.failed",
    `${program} may reach ${network.join(", ") || "no host"} alone, which needs a sandbox that isolates`,
    { hint: "install bubblewrap (apt-get install bubblewrap)" },
  );
}

interface Starting {
  readonly command: ForeignCommand;
  readonly turn: Promise<Turn | undefined> | undefined;
  readonly temporary: string;
}

async function runIn(host: SandboxHost, { command, turn, temporary }: Starting): Promise<ForeignResult> {
  const { PATH = "/usr/local/bin:/usr/bin:/bin", HOME = "/", LANG = "C.UTF-8" } = host.env;
  const env = { PATH, HOME, LANG, ...command.env, TMPDIR: temporary };
  const limited = needsKernel(command.limits) && existsSync(PRLIMIT);
  const { argv, explain } = limited ? withLimits(command, []) : withoutLimits(command);
  const launch = { ...command, program: command.argv[0], argv, env, mark: `TMPDIR=${temporary}` };
  return explain(await runTree(host, launch, turn));
}
