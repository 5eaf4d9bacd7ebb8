import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import type { Mount, Sandbox } from "../../src/core/skill/sandbox.ts";
import type { LoaderHost } from "../../src/loaders/folder/host.ts";
import { processSandbox } from "../../src/sandbox/process.ts";
import { runJavaScript } from "../../src/sandbox/quickjs.ts";
import { makeProject } from "../cli/program.ts";
import { sandboxHost } from "../sandbox/host.ts";

/** Real children for the tests of loaders, and folders that they run in. */

/** Whether this machine has Python. Tests that need it are skipped without it. */
export const hasPython = spawnSync("python3", ["--version"]).status === 0;

const plain = processSandbox(sandboxHost);

/** Without isolation, no private copy can be mounted for a program: it runs the file itself. */
const run: Sandbox["run"] = (command, turn) => {
  const isCopy = ({ source }: Mount) => source.includes("/skillflow-trusted-");
  const mounts = command.mounts.map((mount) => (isCopy(mount) ? { ...mount, source: mount.target } : mount));
  return plain.run({ ...command, mounts }, turn);
};

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

/** Makes a folder with these files and returns its real path. Values that are not text are written as JSON. */
export function makeFolder(files: Readonly<Record<string, unknown>> = {}): string {
  return realpathSync(makeProject(files));
}
