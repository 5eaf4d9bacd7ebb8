import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Handlers load as ES modules, whatever their package.json says. So do `.js` files next to them with module syntax. */
let place = { handler: "", folder: "", code: [], workDir: "" };

export function initialize(data) {
  place = data;
}

/** Throws for a file in the working directory that the user did not trust as code. */
export function checkCode(file, { code, workDir } = place) {
  const isIn = (folder) => file === folder || file.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
  if (!isIn(workDir) || code.some(isIn)) return;
  throw new Error(`${file} is not run: it is not a file of the skill, and no import names it in plain text`);
}

/** Loads a module. Synchronous, so that it works with both kinds of Node hooks. */
export function load(url, context, nextLoad) {
  if (url.startsWith("file:")) checkCode(fileURLToPath(url));
  if (isHandler(url)) return nextLoad(url, { ...context, format: "module" });
  if (context.format !== "commonjs" || !isBeside(url)) return nextLoad(url, context);
  const isModule = MODULE_SYNTAX.test(readFileSync(fileURLToPath(url), "utf8"));
  return nextLoad(url, isModule ? { ...context, format: "module" } : context);
}

function isHandler(url) {
  return url === place.handler;
}

function isBeside(url) {
  return url.startsWith(place.folder) && url.endsWith(".js") && !url.includes("/node_modules/");
}

const MODULE_SYNTAX = /^\s*(?:import\s*[\w{*"']|export\s*[\w{*])/m;
