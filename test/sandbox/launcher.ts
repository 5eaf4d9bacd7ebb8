import { spawnSync } from "node:child_process";
import { commandOf } from "./command.ts";
import { isolatingSandboxes } from "./isolating.ts";

/** A process that runs a line of shell as itself and in the sandbox of this name, and prints both outputs. */

const [name, line = ""] = process.argv.slice(2);
const [, sandbox] = isolatingSandboxes.find(([each]) => each === name) ?? [];
const stdio = ["ignore", "pipe", "inherit", ...Array(6).fill("ignore"), 9];
const outside = spawnSync("sh", ["-c", line], { stdio, encoding: "utf8" }).stdout;
const inside = await sandbox?.run(commandOf({ argv: ["sh", "-c", line] }));
process.stdout.write(JSON.stringify([outside, inside?.stdout]));
