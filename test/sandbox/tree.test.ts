import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { livingProcess } from "../../src/sandbox/processes.ts";
import { runTree } from "../../src/sandbox/tree.ts";
import { commandOf } from "./command.ts";
import { sandboxHost } from "./host.ts";

const folder = mkdtempSync(join(tmpdir(), "skillflow-test-"));
afterEach(() => rmSync(folder, { recursive: true }));

/** Without yielding to the event loop. */
function stayBusyUntil(isOver: () => boolean): void {
  while (!isOver());
}

it("the last output of a program is kept, even if the event loop is busy when it ends", async () => {
  const begun = join(folder, "begun");
  const said = 'echo ready >&3; : > begun; read go <&3; echo "its result"; echo "its complaint" >&2; exit 3';
  const running = runTree(sandboxHost, {
    ...commandOf({ argv: ["sh", "-c", said], cwd: folder }),
    env: { PATH: process.env.PATH ?? "" },
    program: "sh",
    channels: [
      {
        onText: (_, launched) => {
          launched.answer(0, "go\n");
          stayBusyUntil(() => !livingProcess(launched.pid));
          const longAfter = Date.now() + 600;
          setImmediate(() => stayBusyUntil(() => Date.now() > longAfter));
        },
      },
    ],
  });
  // Node reports the ends of all processes together: with the end of this one, it reports the end of the program.
  const other = spawn("true");
  stayBusyUntil(() => existsSync(begun) && !livingProcess(other.pid ?? 0));
  expect(await running).toMatchObject({ ended: "exit", code: 3, stdout: "its result\n", stderr: "its complaint\n" });
});
