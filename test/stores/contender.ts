import { SkillflowError } from "../../src/core/errors.ts";
import type { Journal } from "../../src/core/ports.ts";
import { fileStore } from "../../src/stores/file.ts";

/** A process that opens the runs it is told and says of each whether it got it; it keeps what it got. */

const [directory = "", host = ""] = process.argv.slice(2);
const living = new Set(process.argv.slice(4).map(Number));
const store = fileStore({
  directory,
  self: { pid: process.pid, host, started: "" },
  isAlive: ({ pid }) => pid === process.pid || pid === process.ppid || living.has(pid) || isProcess(pid),
});
const held: Journal[] = [];

process.on("message", async (run: string) => {
  try {
    const { journal } = await store.open(run);
    held.push(journal);
    process.send?.("won");
  } catch (error) {
    process.send?.(error instanceof SkillflowError ? error.code : String(error));
  }
});
process.send?.("ready");

function isProcess(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
