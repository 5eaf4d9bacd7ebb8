import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ForeignCommand, SandboxLimits } from "../../src/core/skill/sandbox.ts";
import { processSandbox } from "../../src/sandbox/process.ts";
import { describeSandbox } from "../contracts/sandbox.ts";
import { commandOf, nodeProgram } from "./command.ts";
import { sandboxHost } from "./host.ts";

describeSandbox("the process sandbox", () => processSandbox(sandboxHost));

it("refuses to mount a folder at another path", async () => {
  const mounts = [{ source: "/usr", target: "/elsewhere", writable: false }];
  const run = processSandbox(sandboxHost).run(commandOf({ argv: nodeProgram(""), mounts }));
  await expect(run).rejects.toMatchObject({ code: "sandbox.failed", message: expect.stringContaining("/elsewhere") });
});

it.each([[["api.example.com"]], [[]]])("cannot limit a program to the hosts %j, and runs nothing", async (network) => {
  const run = processSandbox(sandboxHost).run(commandOf({ argv: nodeProgram(""), network }));
  const message = expect.stringContaining("an isolating sandbox");
  await expect(run).rejects.toMatchObject({ code: "sandbox.failed", message });
});

describe.skipIf(!existsSync("/usr/bin/prlimit"))(
  "the limits of the process sandbox, where the system can keep them",
  () => {
    const run = (argv: ForeignCommand["argv"], limits: Partial<SandboxLimits>, parts: Partial<ForeignCommand> = {}) =>
      processSandbox(sandboxHost).run(
        commandOf({ argv, ...parts, limits: { wallMs: 25_000, outputBytes: 10_000, ...limits } }),
      );

    it("stop a program that uses too much memory", async () => {
      const code = "const all = []; for (;;) all.push(Buffer.alloc(1e7, 1));";
      expect(await run(nodeProgram(code), { memoryBytes: 300e6 })).toMatchObject({ ended: "memory" });
    });

    it("stop a program that uses too much processor time", async () => {
      expect(await run(["sh", "-c", "while :; do :; done"], { cpuSeconds: 1 })).toMatchObject({ ended: "time" });
    });

    it("stop a program that starts too many processes", async () => {
      const many = "i=0; while [ $i -lt 30 ]; do (sleep 30; :) & i=$((i+1)); done; wait";
      expect(await run(["sh", "-c", many], { processes: 10 })).toMatchObject({ ended: "processes" });
    });

    it("apply to the size of a file", async () => {
      const cwd = mkdtempSync(join(tmpdir(), "skillflow-test-"));
      const code = `process.on("SIGXFSZ", () => undefined);
      try { require("node:fs").writeFileSync("big", Buffer.alloc(3e6)) } catch (error) { console.log(error.code) }`;
      try {
        expect((await run(nodeProgram(code), { fileBytes: 1_000_000 }, { cwd })).stdout).toBe("EFBIG\n");
        expect(statSync(join(cwd, "big")).size).toBe(1_000_000);
      } finally {
        rmSync(cwd, { recursive: true });
      }
    });
  },
);
