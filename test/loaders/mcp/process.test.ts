import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { createServerProcess } from "../../../src/loaders/mcp/process.ts";
import { livingProcess } from "../../../src/sandbox/processes.ts";

const folder = mkdtempSync(join(tmpdir(), "skillflow-test-"));
afterEach(() => rmSync(folder, { recursive: true }));

/** Without yielding to the event loop. */
function stayBusyUntil(isOver: () => boolean): void {
  while (!isOver());
}

it("a server's last message arrives before its exit is reported, even if the event loop was busy", async () => {
  const message = (method: string) => `echo '{"jsonrpc":"2.0","method":"${method}","params":{"pid":'$$'}}'`;
  const server = createServerProcess({
    command: "sh",
    args: ["-c", `${message("first")}; : > begun; while [ ! -e go ]; do :; done; ${message("last")}; echo why >&2`],
    env: { PATH: process.env.PATH ?? "" },
    cwd: folder,
    processes: {
      self: { pid: process.pid, host: "here", started: "1" },
      kill: () => undefined,
      isAlive: () => false,
      follow: () => () => [],
    },
  });
  const heard: string[] = [];
  const closed = new Promise<void>((resolve) => {
    server.onclose = resolve;
  });
  server.onmessage = (told) => {
    if (!("method" in told)) return;
    heard.push(told.method);
    if (told.method !== "first") return;
    writeFileSync(join(folder, "go"), "");
    stayBusyUntil(() => !livingProcess(Number(told.params?.pid)));
    const longAfter = Date.now() + 1100;
    setImmediate(() => stayBusyUntil(() => Date.now() > longAfter));
  };
  const started = server.start();
  // Node reports the ends of all processes together: with the end of this one, it reports the end of the server.
  const other = spawn("true");
  stayBusyUntil(() => existsSync(join(folder, "begun")) && !livingProcess(other.pid ?? 0));
  await started;
  await closed;
  expect(heard).toEqual(["first", "last"]);
  expect(server.describe()).toBe("it ended with exit code 0; its last output: why");
});
