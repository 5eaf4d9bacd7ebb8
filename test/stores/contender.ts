import { SkillflowError } from "../../src/core/base/errors.ts";
import type { ProcessMark } from "../../src/core/engine/ports.ts";
import { fileStore } from "../../src/stores/file/store.ts";

/** A process that opens each run that it receives, reports whether it could, and keeps the lock. */

const [directory = ""] = process.argv.slice(2);
const store = fileStore({ directory, self: { pid: process.pid, host: "here", started: "" }, isAlive });

process.on("message", async (run: string) => {
  const answer = await store.open(run).then(
    () => "won",
    (error: unknown) => (error instanceof SkillflowError ? error.code : String(error)),
  );
  process.send?.(answer);
});
process.send?.("ready");

function isAlive({ pid }: ProcessMark): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
