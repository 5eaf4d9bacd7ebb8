import { expect, it } from "vitest";
import { processSandbox } from "../../src/sandbox/process.ts";
import { describeSandbox } from "../contracts/sandbox.ts";
import { commandOf, nodeProgram } from "./command.ts";
import { sandboxHost } from "./host.ts";

describeSandbox("the process sandbox", () => processSandbox(sandboxHost));

it("has no place of its own to show a folder at", async () => {
  const mounts = [{ source: "/usr", target: "/elsewhere", writable: false }];
  const run = processSandbox(sandboxHost).run(commandOf({ argv: nodeProgram(""), mounts }));
  await expect(run).rejects.toMatchObject({ code: "sandbox.failed", message: expect.stringContaining("/elsewhere") });
});
