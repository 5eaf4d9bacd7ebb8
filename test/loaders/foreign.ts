import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import type { LoaderHost } from "../../src/loaders/folder/host.ts";
import { processSandbox } from "../../src/sandbox/process.ts";
import { runJavaScript } from "../../src/sandbox/quickjs.ts";
import { makeProject } from "../cli/program.ts";
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
  return realpathSync(makeProject(files));
}
