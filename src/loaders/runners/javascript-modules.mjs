import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A handler is an ES module, whatever the package.json above it says; so are the files beside it that look like one. */
let place = { handler: "", folder: "" };

export function initialize(data) {
  place = data;
}

/** Serves Node's hooks of both kinds: it waits for nothing itself. */
export function load(url, context, nextLoad) {
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
