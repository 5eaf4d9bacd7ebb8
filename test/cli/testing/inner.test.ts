import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runHere } from "../in-process.ts";
import { boardProject, ISSUES } from "../inner-project.ts";

it("a case passes an approval with its scripted decision, and can check inner nodes", async () => {
  const cwd = boardProject();
  const inside = ["expert/think", "each[fp-1]/look", "each[fp-1]/decide"];
  const file = {
    workflow: "./board.yml",
    model: "script:board.json",
    cases: [
      {
        name: "waits where nothing is said",
        input: ISSUES,
        expect: { status: "waiting", path: ["each", "expert", "sure"] },
      },
      {
        name: "files what is approved",
        input: ISSUES,
        approvals: { sure: "approve" },
        expect: {
          path: ["each", "expert", "sure", "done"],
          data: { "each[fp-1]/look.kind": "bug", "expert/think.summary": { matches: "think" }, "sure.by": "test" },
        },
      },
      {
        name: "ends where it is denied",
        input: { issues: [{ id: "fp-1" }] },
        approvals: { sure: "deny" },
        expect: { path: ["each", inside[1], inside[2], "expert", inside[0], "sure"] },
      },
      {
        name: "is wrong of a node inside",
        input: { issues: [{ id: "fp-1" }] },
        approvals: { sure: "deny" },
        expect: { data: { "each[fp-1]/look.kind": "noise" } },
      },
    ],
  };
  writeFileSync(join(cwd, "board.test.yml"), JSON.stringify(file));
  const { stdout } = await runHere(["test", "--json"], { cwd });
  const [{ cases }] = JSON.parse(stdout).files;
  expect(cases.map(({ name, passed, failures }: { [key: string]: unknown }) => [name, passed, failures])).toEqual([
    ["waits where nothing is said", true, []],
    ["files what is approved", true, []],
    ["ends where it is denied", true, []],
    [
      "is wrong of a node inside",
      false,
      [expect.objectContaining({ path: "data.each[fp-1]/look.kind", expected: "noise", actual: "bug" })],
    ],
  ]);
});
