import { Worker } from "node:worker_threads";
import { SkillflowError } from "../core/base/errors.ts";
import { LONGEST_TIMER_MS, parseJson } from "../core/base/values.ts";
import type { JavaScriptCall, JavaScriptEnd } from "../core/skill/sandbox.ts";
import { ownPath } from "../files/own-files.ts";
import interpreter from "./scripts/interpreter.js?raw" with { type: "text" };

const DEFAULT_MEMORY_BYTES = 256 * 2 ** 20;

/**
 * Runs JavaScript in an interpreter without files, network, environment or timers. Discards console output. It needs no
 * system support, so it works where no sandbox for programs does. Returns `undefined` as null. A promise that never
 * settles is an error.
 */
export async function runJavaScript({ module, name, input, limits, signal }: JavaScriptCall): Promise<JavaScriptEnd> {
  if (signal.aborted) return { ended: "aborted" };
  const memoryBytes = limits.memoryBytes ?? DEFAULT_MEMORY_BYTES;
  const library = ownPath("vendor/quickjs.cjs", "node_modules/quickjs-emscripten");
  const workerData = {
    library,
    module,
    name,
    input: JSON.stringify(input),
    memoryBytes,
    outputBytes: limits.outputBytes,
  };
  // A worker thread can be terminated in the middle of a loop.
  const worker = new Worker(interpreter, { eval: true, env: {}, execArgv: [], workerData });
  try {
    return await endOf(worker, limits.wallMs, signal);
  } finally {
    await worker.terminate();
  }
}

function endOf(worker: Worker, wallMs: number, signal: AbortSignal): Promise<JavaScriptEnd> {
  return new Promise((resolve, reject) => {
    const stopWatching = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    };
    const finish = (end: JavaScriptEnd) => {
      stopWatching();
      resolve(end);
    };
    const onAbort = () => finish({ ended: "aborted" });
    const timer = setTimeout(() => finish({ ended: "time" }), Math.min(wallMs, LONGEST_TIMER_MS));
    signal.addEventListener("abort", onAbort);
    const refuse = (cause: Error) => {
      stopWatching();
      reject(new SkillflowError("sandbox.failed", `the JavaScript interpreter failed: ${cause.message}`, { cause }));
    };
    worker.once("message", (told: JavaScriptEnd | { readonly ended: "returned"; readonly text: string }) => {
      if (!("text" in told)) return finish(told);
      const value = parseJson(told.text);
      finish(value === undefined ? { ended: "threw", message: "it returned no JSON" } : { ended: "returned", value });
    });
    worker.once("error", refuse);
    worker.once("exit", () => refuse(new Error("it ended without a result")));
  });
}
