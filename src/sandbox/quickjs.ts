import { Worker } from "node:worker_threads";
import { SkillflowError } from "../core/base/errors.ts";
import { LONGEST_TIMER_MS, parseJson } from "../core/base/values.ts";
import type { JavaScriptCall, JavaScriptEnd } from "../core/skill/sandbox.ts";
import { ownPath } from "../files/own-files.ts";

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
  const worker = new Worker(INTERPRETER, { eval: true, env: {}, execArgv: [], workerData });
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

/** Source of the worker, inline because the bundle has no file for it. Captures what foreign code could replace. */
const INTERPRETER = `
const { parentPort, workerData } = require("node:worker_threads");
const { library, module: source, name, input, memoryBytes, outputBytes } = workerData;
const isMemory = (message) => message === "out of memory" || message.startsWith("memory access out of bounds");
const failed = (message) => (isMemory(message) ? { ended: "memory" } : { ended: "threw", message: message.slice(0, outputBytes) });
const QUIET = "const quiet = () => undefined; globalThis.console = { log: quiet, info: quiet, warn: quiet, error: quiet, debug: quiet };";
const CALL = "import * as handler from 'handler'; export const outcome = (async () => handler[NAME](JSON.parse(INPUT)))();";

async function call() {
  const runtime = (await require(library).getQuickJS()).newRuntime();
  runtime.setMemoryLimit(memoryBytes);
  runtime.setMaxStackSize(512 * 1024);
  runtime.setModuleLoader((wanted) => (wanted === "handler" ? source : { error: new Error("a handler cannot import " + wanted) }));
  const context = runtime.newContext();
  const told = (handle) => { const error = context.dump(handle); return String((error && error.message) || error); };
  const stringify = context.unwrapResult(context.evalCode("(() => {" + QUIET + "})(); JSON.stringify"));
  const code = CALL.replace("NAME", () => JSON.stringify(name)).replace("INPUT", () => JSON.stringify(input));
  const evaluated = context.evalCode(code, "call.js", { type: "module" });
  if (evaluated.error) return failed(told(evaluated.error));
  const jobs = runtime.executePendingJobs();
  if (jobs.error) return failed(told(jobs.error));
  const settled = (handle) => context.getPromiseState(handle);
  let exported = evaluated.value;
  const loaded = settled(exported);
  if (loaded.type === "rejected") return failed(told(loaded.error));
  if (loaded.type === "pending") return failed("its promise never settles");
  if (!loaded.notAPromise) exported = loaded.value;
  const outcome = settled(context.getProp(exported, "outcome"));
  if (outcome.type === "rejected") return failed(told(outcome.error));
  if (outcome.type === "pending") return failed("its promise never settles");
  const written = context.callFunction(stringify, context.undefined, outcome.value);
  if (written.error) return failed(told(written.error));
  const text = context.typeof(written.value) === "string" ? context.getString(written.value) : "null";
  return text.length > outputBytes ? { ended: "output" } : { ended: "returned", text };
}

call().catch((error) => failed(String(error && error.message))).then((end) => parentPort.postMessage(end));
`;
