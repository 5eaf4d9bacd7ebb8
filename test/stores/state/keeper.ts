import type { ProcessMark, StateStore } from "../../../src/core/engine/ports.ts";
import { folderState } from "../../../src/stores/state/folder.ts";
import { gitState } from "../../../src/stores/state/git.ts";
import { deltaOf, putOf } from "../../contracts/deltas.ts";

/** A process that applies deltas to a state, each with a unique id, and prints the applied ones. */

const [kind = "", place = "", name = "", count = ""] = process.argv.slice(2);

function isAlive({ pid }: ProcessMark): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

const store: StateStore =
  kind === "git"
    ? gitState({ directory: place, branch: "memory", env: process.env })
    : folderState({ directory: place, self: { pid: process.pid, host: "here", started: "" }, isAlive });

for (let index = 0; index < Number(count); index++) {
  const id = `${name}-${index}`;
  const done = await store.apply(deltaOf(id, [putOf("shared"), putOf(id)])).then(
    () => true,
    () => false,
  );
  if (done) process.stdout.write(`${id}\n`);
}
