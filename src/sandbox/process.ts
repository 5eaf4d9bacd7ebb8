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
 * Creates a sandbox without isolation, for programs that the user allowed. They run as the user, with the command's
 * environment and limits. Without `prlimit` (not Linux), only wall time and output are limited.
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

/** Throws if a mount moves a file, because without isolation the program sees the user's files in place. */
function checkMounts({ argv: [program], mounts }: ForeignCommand): void {
  const moved = mounts.find(({ source, target }) => source !== target);
  if (!moved) return;
  throw new SkillflowError(
    "sandbox.failed",
    `${program} needs ${moved.source} mounted as ${moved.target}, which requires an isolating sandbox`,
    { hint: "install bubblewrap (apt-get install bubblewrap)" },
  );
}

/** Throws if the network is limited to some hosts, because that cannot be enforced here. */
function checkNetwork({ argv: [program], network }: ForeignCommand): void {
  if (typeof network === "boolean") return;
  throw new SkillflowError(
    "sandbox.failed",
    `${program} may only reach ${network.join(", ") || "no host"}, which requires an isolating sandbox`,
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
