import { commandOf, nodeProgram } from "./command.ts";
import { isolatingSandboxes } from "./isolating.ts";

/** A process that is killed while a program in the sandbox of this name has the pipe in this folder open. */

const [name, folder = ""] = process.argv.slice(2);
const [, sandbox] = isolatingSandboxes.find(([each]) => each === name) ?? [];
const code = `const held = require("node:fs").openSync("fifo", "w"); require("node:fs").writeSync(held, "up");
  process.on("SIGTERM", () => undefined); setInterval(() => undefined, 1000);`;
const mounts = [{ source: folder, target: "/workspace", writable: true, disposable: true }];
await sandbox?.run(commandOf({ argv: nodeProgram(code), mounts, cwd: "/workspace" }));
