/**
 * Runs the entrypoint of a JavaScript package once. Reads a request as JSON from stdin. Writes the mark and one line of
 * JSON with the result or the error to stdout.
 *
 * argv: the mark.
 */
import { readFileSync, writeSync } from "node:fs";
import { pathToFileURL } from "node:url";

const mark = process.argv[2];

/** Writes the whole outcome, even if the pipe accepts only part of it at a time. */
function answer(outcome) {
  const bytes = Buffer.from(`\n${mark}${JSON.stringify(outcome)}\n`);
  for (let sent = 0; sent < bytes.length; ) {
    try {
      sent += writeSync(1, bytes, sent);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}

function describe(error) {
  const isError = error instanceof Error;
  if (isError) process.stderr.write(`${ownStack(error)}\n`);
  const acted = error?.acted === "no" ? { acted: "no" } : {};
  return { type: isError ? error.name : "Error", message: isError ? error.message : String(error), ...acted };
}

/** Removes our own frames and Node's from the stack. */
function ownStack({ stack = "" }) {
  const isForeign = (line) => !/^ +at .*(?:node:internal|\/runtime\/package\.mjs)/.test(line);
  return stack.split("\n").filter(isForeign).join("\n");
}

try {
  const { packages, target, entrypoint, args } = JSON.parse(readFileSync(0, "utf8"));
  const module = await import(pathToFileURL(packages[target]).href);
  const run = module[entrypoint];
  if (typeof run !== "function") throw new TypeError(`there is no function ${entrypoint} to call`);
  answer({ output: (await run(args)) ?? null });
} catch (error) {
  answer({ error: describe(error) });
}
process.exit(0);
