import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll } from "vitest";
import type { LoaderHost } from "../../src/loaders/folder/host.ts";
import { processSandbox } from "../../src/sandbox/process.ts";
import { runJavaScript } from "../../src/sandbox/quickjs.ts";
import { sandboxHost } from "../sandbox/host.ts";

/** Real children for the tests of loaders, and folders that they run in. */

/** Whether this machine has Python; tests that need it skip where it has none. */
export const hasPython = spawnSync("python3", ["--version"]).status === 0;

const { run } = processSandbox(sandboxHost);

export const foreignHost: LoaderHost = {
  env: {},
  cwd: tmpdir(),
  self: sandboxHost.self,
  options: { descriptor: "current", allowScripts: false },
  runProgram: run,
  runForeign: run,
  runJavaScript,
  nodePath: process.execPath,
  invoke: async () => {
    throw new Error("no other skill is there");
  },
};

/** A folder with these files, its path real; those that are no text are written as JSON. */
export function makeFolder(files: Readonly<Record<string, unknown>> = {}): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "folder-")));
  made.push(directory);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  return directory;
}

const made: string[] = [];
afterAll(() => {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true });
});
