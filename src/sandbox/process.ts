import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SkillflowError } from "../core/base/errors.ts";
import type { ForeignCommand, Sandbox } from "../core/skill/sandbox.ts";
import { temporaryName } from "../files/temporary-name.ts";
import type { SandboxHost } from "./host.ts";
import { checkCommand } from "./isolation/command.ts";
import { asResult, checkBegan, needsKernel, PRLIMIT, withLimits } from "./limits.ts";
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
      checkNeeds(command);
      const temporary = mkdtempSync(join(tmpdir(), temporaryName("process", host.self)));
      const { PATH = "/usr/local/bin:/usr/bin:/bin", HOME = "/", LANG = "C.UTF-8" } = host.env;
      const env = { PATH, HOME, LANG, ...command.env, TMPDIR: temporary };
      const limited = needsKernel(command.limits) && existsSync(PRLIMIT);
      const argv = limited ? withLimits(command) : command.argv;
      const launch = { ...command, program: command.argv[0], argv, env, mark: `TMPDIR=${temporary}` };
      try {
        const end = await runTree(host, launch, turn);
        if (limited) checkBegan(command, end);
        return asResult(end, command.limits);
      } finally {
        rmSync(temporary, { recursive: true, force: true, maxRetries: 3 });
      }
    },
  };
}

/** Throws if the command needs isolation: without it, files stay in their places, and hosts cannot be limited. */
function checkNeeds({ argv: [program], mounts, network }: ForeignCommand): void {
  const moved = mounts.find(({ source, target }) => source !== target);
  if (!moved && typeof network === "boolean") return;
  const hosts = typeof network === "boolean" ? [] : network;
  const need = moved
    ? `needs ${moved.source} mounted as ${moved.target}`
    : `may only reach ${hosts.join(", ") || "no host"}`;
  throw new SkillflowError("sandbox.failed", `${program} ${need}, which requires an isolating sandbox`, {
    hint: "install bubblewrap (apt-get install bubblewrap)",
  });
}
