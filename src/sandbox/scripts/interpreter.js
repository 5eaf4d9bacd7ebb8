// Worker that runs foreign JavaScript. Captures what that code could replace.
const { parentPort, workerData } = require("node:worker_threads");
const { library, module: source, name, input, memoryBytes, outputBytes } = workerData;
const isMemory = (message) => message === "out of memory" || message.startsWith("memory access out of bounds");
const failed = (message) =>
  isMemory(message) ? { ended: "memory" } : { ended: "threw", message: message.slice(0, outputBytes) };
const QUIET =
  "const quiet = () => undefined; globalThis.console = { log: quiet, info: quiet, warn: quiet, error: quiet, debug: quiet };";
const CALL =
  "import * as handler from 'handler'; export const outcome = (async () => handler[NAME](JSON.parse(INPUT)))();";

async function call() {
  const runtime = (await require(library).getQuickJS()).newRuntime();
  runtime.setMemoryLimit(memoryBytes);
  runtime.setMaxStackSize(512 * 1024);
  runtime.setModuleLoader((wanted) =>
    wanted === "handler" ? source : { error: new Error(`a handler cannot import ${wanted}`) },
  );
  const context = runtime.newContext();
  const told = (handle) => {
    const error = context.dump(handle);
    return String(error?.message || error);
  };
  const stringify = context.unwrapResult(context.evalCode(`(() => {${QUIET}})(); JSON.stringify`));
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

call()
  .catch((error) => failed(String(error?.message)))
  .then((end) => parentPort.postMessage(end));
