import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import { SkillflowError } from "../core/errors.ts";
import type { JavaScriptCall, JavaScriptEnd } from "../core/ports.ts";

const DEFAULT_MEMORY_BYTES = 256 * 2 ** 20;

/**
 * Runs JavaScript in an interpreter that knows the language and nothing else: no files, no network, no environment, no
 * timers; what it logs goes nowhere. It needs nothing of the system, and so serves where no sandbox for programs works.
 * `undefined` is returned as null. A promise that never settles is an error.
 */
export async function runJavaScript({ module, name, input, limits, signal }: JavaScriptCall): Promise<JavaScriptEnd> {
  if (signal.aborted) return { ended: "aborted" };
  const memoryBytes = limits.memoryBytes ?? DEFAULT_MEMORY_BYTES;
  const library = createRequire(import.meta.url).resolve("quickjs-emscripten");
  const workerData = {
    library,
    module,
    name,
    input: JSON.stringify(input),
    memoryBytes,
    outputBytes: limits.outputBytes,
  };
  // In a thread of its own, which can be ended in the middle of a loop.
  const worker = new Worker(INTERPRETER, { eval: true, env: {}, execArgv: [], workerData });
  try {
    return await endOf(worker, limits.wallMs, signal);
  } finally {
    await worker.terminate();
  }
}

function endOf(worker: Worker, wallMs: number, signal: AbortSignal): Promise<JavaScriptEnd> {
  return new Promise((resolve, reject) => {
    const finish = (end: JavaScriptEnd) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      resolve(end);
    };
    const onAbort = () => finish({ ended: "aborted" });
    const timer = setTimeout(() => finish({ ended: "time" }), Math.min(wallMs, 2 ** 31 - 1));
    signal.addEventListener("abort", onAbort);
    worker.once("message", ({ text, ...end }) =>
      finish(text === undefined ? end : { ...end, value: JSON.parse(text) }),
    );
    worker.once("error", (cause) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      reject(new SkillflowError("sandbox.failed", `the JavaScript interpreter failed: ${cause.message}`, { cause }));
    });
  });
}

/** Inside the interpreter: calls the function and leaves what became of it, as text, in a variable. */
const CALL = `
  import * as handler from "handler";
  const said = (error) => String((error && error.message) || error);
  globalThis.outcome = new Promise((resolve) => resolve(handler[NAME](JSON.parse(INPUT)))).then(
    (value) => { const text = JSON.stringify(value); globalThis.outcome = JSON.stringify({ text: text === undefined ? "null" : text }); },
  ).catch((error) => { globalThis.outcome = JSON.stringify({ message: said(error) }); });
`;

/** The thread's program, as text because a bundle has no file for it. */
const INTERPRETER = `
const { parentPort, workerData } = require("node:worker_threads");
const { library, module: source, name, input, memoryBytes, outputBytes } = workerData;
const isMemory = (message) => message === "out of memory" || message.startsWith("memory access out of bounds");
const failed = (message) => (isMemory(message) ? { ended: "memory" } : { ended: "threw", message: message.slice(0, outputBytes) });
const QUIET = "const quiet = () => undefined; globalThis.console = { log: quiet, info: quiet, warn: quiet, error: quiet, debug: quiet };";

async function call() {
  const runtime = (await require(library).getQuickJS()).newRuntime();
  runtime.setMemoryLimit(memoryBytes);
  runtime.setMaxStackSize(512 * 1024);
  runtime.setModuleLoader((wanted) => (wanted === "handler" ? source : { error: new Error("a handler cannot import " + wanted) }));
  const context = runtime.newContext();
  const told = (handle) => { const error = context.dump(handle); return String((error && error.message) || error); };
  context.evalCode("(() => {" + QUIET + "})()");
  const text = ${JSON.stringify(CALL)};
  const code = text.replace("NAME", () => JSON.stringify(name)).replace("INPUT", () => JSON.stringify(input));
  const evaluated = context.evalCode(code, "call.js", { type: "module" });
  if (evaluated.error) return failed(told(evaluated.error));
  const jobs = runtime.executePendingJobs();
  if (jobs.error) return failed(told(jobs.error));
  if (context.typeof(evaluated.value) === "object") {
    const loaded = context.getPromiseState(evaluated.value);
    if (loaded.type === "rejected") return failed(told(loaded.error));
  }
  const outcome = context.dump(context.getProp(context.global, "outcome"));
  if (typeof outcome !== "string") return failed("its promise never settles");
  if (outcome.length > outputBytes + 100) return { ended: "output" };
  const { text: value, message } = JSON.parse(outcome);
  return value === undefined ? failed(String(message)) : { ended: "returned", text: value };
}

call().catch((error) => failed(String(error.message))).then((end) => parentPort.postMessage(end));
`;
