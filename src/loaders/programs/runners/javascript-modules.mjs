import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A handler is an ES module, whatever the package.json above it says; so are the files beside it that look like one. */
let place = { handler: "", folder: "", code: [], workDir: "" };

export function initialize(data) {
  place = data;
}

/** Of the working directory only that is code which trust was given to: its other files are data. */
export function checkCode(file, { code, workDir } = place) {
  const isIn = (folder) => file === folder || file.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
  if (!isIn(workDir) || code.some(isIn)) return;
  throw new Error(`${file} is not run: it is no file of the skill, and none that its imports name in plain text`);
}

/** Serves Node's hooks of both kinds: it waits for nothing itself. */
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
