import { SkillflowError } from "../core/base/errors.ts";
import { quoteTheirs } from "../core/base/voice.ts";
import type { ForeignCommand, ForeignResult, SandboxLimits } from "../core/skill/sandbox.ts";
import type { TreeEnd } from "./tree.ts";

/** Tool from util-linux that sets limits and then runs the program. */
export const PRLIMIT = "/usr/bin/prlimit";

/**
 * Wraps a program with kernel limits per process. `more` are extra prlimit flags. Memory is limited as writable data,
 * because Node and WebAssembly reserve far more addresses than they use.
 */
export function withLimits({ argv, limits }: Limited, more: readonly string[] = []): ForeignCommand["argv"] {
  const { memoryBytes, cpuSeconds, fileBytes } = limits;
  return [
    PRLIMIT,
    ...more,
    ...(memoryBytes === undefined ? [] : [`--data=${memoryBytes}`]),
    // The second number is the hard limit, for programs that ignore the first limit's signal.
    ...(cpuSeconds === undefined ? [] : [`--cpu=${cpuSeconds}:${cpuSeconds + 1}`]),
    ...(fileBytes === undefined ? [] : [`--fsize=${fileBytes}`]),
    "--",
    ...argv,
  ];
}

type Limited = Pick<ForeignCommand, "argv" | "limits">;

export function needsKernel({ memoryBytes, cpuSeconds, fileBytes }: SandboxLimits): boolean {
  return memoryBytes !== undefined || cpuSeconds !== undefined || fileBytes !== undefined;
}

/** Throws `sandbox.failed` if prlimit could not start the program. */
export function checkBegan({ argv: [program] }: Limited, { ended, code, stderr }: TreeEnd): void {
  // The message is localized, except for the names.
  const says = stderr.startsWith("prlimit: ") && stderr.includes(program);
  if (ended !== "exit" || (code !== 126 && code !== 127) || !says) return;
  throw new SkillflowError("sandbox.failed", `${program} could not be started: ${stderr.slice(9).trim()}`, {
    hint: "check that the program is installed and may be run, and that the sandbox shows its folder",
  });
}

export function asResult({ signalled, ...end }: TreeEnd, limits: SandboxLimits): ForeignResult {
  const result = { ...end, stderr: quoteTheirs(end.stderr) };
  if (result.ended !== "exit") return { ...result, code: undefined };
  if (signalled === "SIGXCPU") return { ...result, ended: "time" };
  const failed = result.code !== 0;
  const starved = failed && limits.memoryBytes !== undefined && OUT_OF_MEMORY.test(result.stderr);
  return starved ? { ...result, ended: "memory" } : result;
}

/** Messages for failed allocations in Python, Node, C and C++. */
const OUT_OF_MEMORY = /MemoryError|heap out of memory|Out of memory|Cannot allocate memory|std::bad_alloc/;
