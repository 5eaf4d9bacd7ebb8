import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHere } from "./in-process.ts";
import { makeProject } from "./program.ts";

/** A run that ends because no edge applied says so in every output. */

const FLOW = `id: flow
name: Flow
entry: look
nodes:
  look:
    name: Look
    instruction: Look.
    output: { type: object, properties: { kind: { type: string }, note: { type: string } } }
  sure: { name: May it go out?, approval: { ask: "Really?" } }
  send: { name: Send, instruction: Send. }
edges:
  - { from: look, to: sure, if: look.kind = bug }
  - { from: sure, to: send, if: EDGE }
`;
const script = (kind: string) => JSON.stringify({ replies: [{ node: "look", data: { kind } }] });

function project(edge: string, kind = "bug") {
  return makeProject({ "flow.yml": FLOW.replace("EDGE", edge), "s.json": script(kind) });
}

const RUN = ["run", "flow.yml", "--model", "script:s.json", "--run-id", "r"];

describe("a run that ends because no edge applied", () => {
  it("is reported in the terminal, the result, the reports and the list", async () => {
    const cwd = project("look.note = aproved");
    await runHere(RUN, { cwd });
    const answered = await runHere(["signal", "r", "sure", "--approve", "--out", "out"], { cwd, isTerminal: true });
    expect(answered.code).toBe(0);
    expect(answered.stderr + answered.stdout).toContain(
      "▲ The run ended at May it go out?: its only edge did not apply",
    );
    expect(answered.stderr + answered.stdout).toContain("to send: look.note is missing");
    const { unrouted } = JSON.parse(readFileSync(join(cwd, "out/result.json"), "utf8"));
    expect(unrouted).toEqual({ node: "sure", edges: [{ to: "send", reason: "look.note is missing" }] });
    const reports = ["html", "md", "postmortem", "sarif"];
    const kinds = reports.flatMap((kind) => ["--report", `${kind}=out/r.${kind}`]);
    await runHere(["report", "r", ...kinds], { cwd });
    for (const kind of reports) {
      expect([kind, readFileSync(join(cwd, `out/r.${kind}`), "utf8")]).toEqual([
        kind,
        expect.stringContaining("its only edge did not apply"),
      ]);
    }
    expect((await runHere(["runs", "list"], { cwd })).stdout).toContain("no edge applied after sure");
    const { runs } = JSON.parse((await runHere(["runs", "list", "--json"], { cwd })).stdout);
    expect(runs).toMatchObject([{ status: "succeeded", unrouted: "sure" }]);
  });

  it("is reported if a value does not match, too", async () => {
    const cwd = project("sure.approved = true", "noise");
    const { stderr, stdout } = await runHere(RUN, { cwd });
    expect(stderr + stdout).toContain('to sure: look.kind is "noise", not "bug"');
  });

  it.each([
    ["was denied", ["--deny"]],
    ["followed its last edge", ["--approve"]],
  ])("is not reported if it %s", async (_, answer) => {
    const cwd = project("sure.approved = true");
    await runHere(RUN, { cwd });
    const ended = await runHere(["signal", "r", "sure", ...answer], { cwd });
    expect(ended.stderr + ended.stdout).not.toContain("▲ ended");
    const { runs } = JSON.parse((await runHere(["runs", "list", "--json"], { cwd })).stdout);
    expect(runs).toMatchObject([{ unrouted: null }]);
  });
});
