import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { processHost } from "../../src/entry/process-host.ts";

/** How the program recognizes whether the process that holds a lock still runs. */

const statOf = (pid: number) => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];

it.skipIf(process.platform !== "linux")("a killed process that its parent never waits for is not alive", async () => {
  const parent = spawn("sh", ["-c", "sleep 60 & echo $!; exec sleep 60"], { stdio: ["ignore", "pipe", "ignore"] });
  try {
    const [line] = await once(parent.stdout, "data");
    const pid = Number(String(line));
    const mark = { pid, host: hostname(), started: statOf(pid)[19] ?? "" };
    const { isAlive } = processHost();
    expect(isAlive(mark)).toBe(true);
    expect(isAlive({ ...mark, started: "1" })).toBe(false);
    process.kill(pid, "SIGKILL");
    while (statOf(pid)[0] !== "Z") await pause(10);
    expect(isAlive(mark)).toBe(false);
  } finally {
    parent.kill("SIGKILL");
  }
});
