import * as modules from "node:module";
import { dirname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/**
 * Runs the handler of a JavaScript or TypeScript file once. Reads the arguments as JSON from stdin. Writes the mark and
 * one line of JSON with the result or the error to stdout. The handler's own output goes to stderr.
 *
 * argv: the file, the export, the mark, the skill's folder, a JSON list of other code paths, and for TypeScript the
 * loader's module.
 */
const [file, name, mark, folder, more, typescript] = process.argv.splice(2);
/** Includes the TypeScript loader, which may be installed inside the working directory. */
const code = [folder, dirname(file), ...JSON.parse(more), ...(typescript ? [dirname(dirname(typescript))] : [])];
const workDir = process.cwd();
let ended = false;
const tell = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr);

process.on("uncaughtException", fail);
process.once("beforeExit", () => end({ error: "it waits for something that never happens" }));

const input = await readInput();
try {
  const result = await (await loadHandler())(input);
  end({ result: toJsonText(result) });
} catch (error) {
  fail(error);
}

function fail(error) {
  const code = typeof error?.code === "string" ? error.code : undefined;
  end({ error: describe(error), code, acted: error?.acted === "no" ? "no" : undefined });
}

async function readInput() {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString("utf8"));
}

async function loadHandler() {
  const exports = await load();
  const handler = exports[name];
  if (typeof handler === "function") return handler;
  const what = name === "default" ? "no default export that is a function" : `no function "${name}" among its exports`;
  throw new Error(`it has ${what} (it exports: ${Object.keys(exports).join(", ") || "nothing"})`);
}

async function load() {
  if (typescript) {
    const { createJiti } = await import(pathToFileURL(typescript).href);
    const { checkCode } = await guardRequire();
    const options = { fsCache: false, moduleCache: false };
    const { transform: transpile } = createJiti(pathToFileURL(file).href, options);
    const transform = (given) => {
      checkCode(given.filename.startsWith("file:") ? fileURLToPath(given.filename) : given.filename, { code, workDir });
      return { code: transpile(given) };
    };
    return createJiti(pathToFileURL(file).href, { ...options, transform }).import(file);
  }
  const handler = pathToFileURL(file).href;
  await hook({ handler, folder: `${pathToFileURL(folder).href}/`, code, workDir });
  return import(handler);
}

/** Checks `require` calls too: the module hooks of older Node versions do not see them. */
async function guardRequire() {
  const hooks = await import(new URL("javascript-modules.mjs", import.meta.url));
  const { prototype } = modules.Module;
  const compile = prototype._compile;
  prototype._compile = function (content, filename, ...rest) {
    hooks.checkCode(filename, { code, workDir });
    return compile.call(this, content, filename, ...rest);
  };
  return hooks;
}

/** Installs the hooks, in this thread if Node can. A separate thread costs time and memory. */
async function hook(data) {
  await guardRequire();
  const hooks = new URL("javascript-modules.mjs", import.meta.url);
  if (!modules.registerHooks) return modules.register(hooks, { data });
  const { initialize, load } = await import(hooks);
  initialize(data);
  modules.registerHooks({ load });
}

/** Throws for values that JSON would silently drop, except undefined. */
function toJsonText(result) {
  try {
    return JSON.stringify(result ?? null, (key, value) => {
      const type = typeof value;
      if (type !== "function" && type !== "symbol" && type !== "bigint") return value;
      throw new TypeError(`a ${type}${key === "" ? "" : ` at ${JSON.stringify(key)}`} is not JSON`);
    });
  } catch (error) {
    const why = /circular/i.test(error?.message) ? "it refers to itself" : describe(error);
    throw new TypeError(`the result is not JSON: ${why}`);
  }
}

function describe(error) {
  try {
    const message = error?.message;
    // Node's "fetch failed" explains nothing without its cause.
    if (message === "fetch failed" && error.cause) return `${message}: ${error.cause.message || error.cause.code}`;
    if (typeof message === "string" && message !== "") return message;
    if (error instanceof Error) return error.stack || error.name;
    return typeof error === "string" && error !== "" ? error : `it threw ${JSON.stringify(error)}`;
  } catch {
    return "it threw something that cannot be shown";
  }
}

/** Writes the first outcome and exits the process, even if the handler left timers or sockets open. */
function end({ result, ...failure }) {
  if (ended) return;
  ended = true;
  const json = failure.error === undefined ? `{"result":${result}}` : JSON.stringify(failure);
  tell(`\n${mark}${json}\n`, () => process.exit(0));
}
