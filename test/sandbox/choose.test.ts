import { expect, it } from "vitest";
import type { Sandbox } from "../../src/core/skill/sandbox.ts";
import { firstThatWorks, openSandbox } from "../../src/sandbox/choose.ts";
import { commandOf } from "./command.ts";
import { sandboxHost } from "./host.ts";

const fine = { ended: "exit", code: 0, stdout: "", stderr: "", truncated: false } as const;

function sandboxThat(name: string, run: Sandbox["run"]): Sandbox {
  return { name, isolates: true, run };
}

const refused = sandboxThat("refused", () => Promise.reject(new Error("no user namespaces here")));
const ended = sandboxThat("ended", async () => ({ ...fine, code: 1, stderr: "bad view\n" }));
const works = sandboxThat("works", async () => fine);

it("takes the first sandbox whose trial succeeds", async () => {
  expect((await firstThatWorks([refused, ended, works])).name).toBe("works");
});

it("refuses every program if none works, and names the package and the reasons", async () => {
  const sandbox = await firstThatWorks([refused, ended]);
  await expect(sandbox.run(commandOf({ argv: ["tidy"] }))).rejects.toMatchObject({
    code: "sandbox.missing",
    message: expect.stringMatching(/tidy was not run.*refused: no user namespaces here; ended: .*1 bad view/),
    hint: expect.stringContaining("apt-get install bubblewrap"),
  });
});

it("tries once per host, and never returns a sandbox that does not isolate", async () => {
  const [one, two] = await Promise.all([openSandbox(sandboxHost), openSandbox(sandboxHost)]);
  expect(one).toBe(two);
  expect(one.isolates).toBe(true);
});
