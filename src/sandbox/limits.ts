import { SkillflowError } from "../core/base/errors.ts";
import { quoteTheirs } from "../core/base/voice.ts";
import type { ForeignCommand, ForeignResult, SandboxLimits } from "../core/skill/sandbox.ts";
import type { TreeEnd } from "./tree.ts";

/** Tool from util-linux that sets limits and then runs the program. */
export const PRLIMIT = "/usr/bin/prlimit";

interface LimitedCommand {
  readonly argv: readonly [program: string, ...args: string[]];
  /** Interprets the program's end. Throws `sandbox.failed` if the program never started. */
  readonly explain: (end: TreeEnd) => ForeignResult;
}

/** Wraps a program with kernel limits per process. `more` are extra prlimit flags. */
export function withLimits({ argv, limits }: Pick<ForeignCommand, "argv" | "limits">, more: string[]): LimitedCommand {
  return {
    argv: [PRLIMIT, ...more, ...limitFlags(limits), "--", ...argv],
    explain: (end) => {
      checkBegan(argv[0], end);
      return asResult(end, limits);
    },
  };
}

/** Leaves the program as it is, if no limit needs the kernel or prlimit is missing. */
export function withoutLimits({ argv, limits }: Pick<ForeignCommand, "argv" | "limits">): LimitedCommand {
  return { argv, explain: (end) => asResult(end, limits) };
}

export function needsKernel({ memoryBytes, cpuSeconds, fileBytes }: SandboxLimits): boolean {
  return memoryBytes !== undefined || cpuSeconds !== undefined || fileBytes !== undefined;
}

/**
 * Builds the prlimit flags. Memory is limited as writable data, because Node and WebAssembly reserve far more addresses
 * than they use.
 */
function limitFlags({ memoryBytes, cpuSeconds, fileBytes }: SandboxLimits): string[] {
  return [
    ...(memoryBytes === undefined ? [] : [`--data=${memoryBytes}`]),
    // The second number is the hard limit, for programs that ignore the first limit's signal.
    ...(cpuSeconds === undefined ? [] : [`--cpu=${cpuSeconds}:${cpuSeconds + 1}`]),
    ...(fileBytes === undefined ? [] : [`--fsize=${fileBytes}`]),
  ];
}

function checkBegan(program: string, { ended, code, stderr }: TreeEnd): void {
  // The message is localized, except for the names.
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

/** Messages for failed allocations in Python, Node, C and C++. */
const OUT_OF_MEMORY = /MemoryError|heap out of memory|Out of memory|Cannot allocate memory|std::bad_alloc/;
