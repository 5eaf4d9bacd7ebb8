import { SkillflowError } from "../core/base/errors.ts";
import { quoteTheirs } from "../core/base/voice.ts";
import type { ForeignCommand, ForeignResult, SandboxLimits } from "../core/skill/sandbox.ts";
import type { TreeEnd } from "./tree.ts";

/** Of util-linux: sets limits and becomes the program. */
export const PRLIMIT = "/usr/bin/prlimit";

interface LimitedCommand {
  readonly argv: readonly [program: string, ...args: string[]];
  /** What the end of it means. Throws `sandbox.failed` if the program itself never began. */
  readonly explain: (end: TreeEnd) => ForeignResult;
}

/** The program under the limits that the kernel keeps for each process; `more` are prlimit's own flags. */
export function withLimits({ argv, limits }: Pick<ForeignCommand, "argv" | "limits">, more: string[]): LimitedCommand {
  return {
    argv: [PRLIMIT, ...more, ...limitFlags(limits), "--", ...argv],
    explain: (end) => {
      checkBegan(argv[0], end);
      return asResult(end, limits);
    },
  };
}

/** The program as it is, where nothing of its limits needs the kernel or the kernel cannot be asked. */
export function withoutLimits({ argv, limits }: Pick<ForeignCommand, "argv" | "limits">): LimitedCommand {
  return { argv, explain: (end) => asResult(end, limits) };
}

export function needsKernel({ memoryBytes, cpuSeconds, fileBytes }: SandboxLimits): boolean {
  return memoryBytes !== undefined || cpuSeconds !== undefined || fileBytes !== undefined;
}

/**
 * Memory is limited as the data that a process may write to: Node and WebAssembly reserve far more addresses than they
 * ever use.
 */
function limitFlags({ memoryBytes, cpuSeconds, fileBytes }: SandboxLimits): string[] {
  return [
    ...(memoryBytes === undefined ? [] : [`--data=${memoryBytes}`]),
    // The second number is for those that do not heed the warning of the first.
    ...(cpuSeconds === undefined ? [] : [`--cpu=${cpuSeconds}:${cpuSeconds + 1}`]),
    ...(fileBytes === undefined ? [] : [`--fsize=${fileBytes}`]),
  ];
}

function checkBegan(program: string, { ended, code, stderr }: TreeEnd): void {
  // In words of the user's language, but for the names.
  const says = stderr.startsWith("prlimit: ") && stderr.includes(program);
  if (ended !== "exit" || (code !== 126 && code !== 127) || !says) return;
  throw new SkillflowError("sandbox.failed", `${program} could not be started: ${stderr.slice(9).trim()}`, {
    hint: "check that the program is installed and may be run, and that the sandbox shows its folder",
  });
}

function asResult({ signalled, ...end }: TreeEnd, limits: SandboxLimits): ForeignResult {
  const result = { ...end, stderr: quoteTheirs(end.stderr) };
  if (result.ended !== "exit") return { ...result, code: undefined };
  if (signalled === "SIGXCPU") return { ...result, ended: "time" };
  const failed = result.code !== 0;
  const starved = failed && limits.memoryBytes !== undefined && OUT_OF_MEMORY.test(result.stderr);
  return starved ? { ...result, ended: "memory" } : result;
}

/** How programs say that the kernel gave them no more: Python, Node, C and its relatives. */
const OUT_OF_MEMORY = /MemoryError|heap out of memory|Out of memory|Cannot allocate memory|std::bad_alloc/;
