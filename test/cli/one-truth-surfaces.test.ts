import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RunResult } from "../../src/core/engine/result/result.ts";
import { runHere } from "./in-process.ts";
import { makeProject, runProgram } from "./program.ts";
import { ENV, SINK, scriptOf, type Wanted } from "./sink.ts";

/** Every surface reports the same state of a run. */

const { SINK_TOKEN: _token, ...WITHOUT_TOKEN } = ENV;
const say = (...texts: string[]) => texts.map((text) => ({ text }));
const desk = (tool: string, text: string) => ({ calls: [{ tool: `desk_${tool}`, input: { text } }] });
const filing = (...wanted: Wanted[]) => scriptOf(wanted).replies;

const node = (id: string, more: string) => `  ${id}: { name: ${id}, instruction: Do it., ${more} }`;
const flow = (nodes: readonly string[], edges = "[]") => `
id: w
name: W
entry: a
nodes:
${nodes.join("\n")}
edges: ${edges}
`;
const THEN_B = "[{ from: a, to: b }]";
const DROPS =
  "output: { type: object }, eval: [{ name: shown, kind: evidence, on_unsupported: drop, rule: { claims: 'claims[*]', min_supported: 0 } }]";
const CLAIM = JSON.stringify({
  headline: "out of disk",
  claims: [{ claim: "full", evidence: [{ ref: "r1", quote: "no space left" }] }],
});

interface Case {
  readonly workflow: string;
  readonly replies: readonly object[];
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  /** A command after the run has ended or died, before the comparison. */
  readonly after?: { readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> };
  readonly expected: { readonly state: string; readonly exitCode: number };
  readonly degraded?: readonly object[];
}

const CASES: Readonly<Record<string, Case>> = {
  succeeded: {
    workflow: flow([node("a", "skills: [desk]")]),
    replies: [desk("look", "x"), ...say("done")],
    expected: { state: "succeeded", exitCode: 0 },
  },
  "degraded at the start": {
    workflow: flow([node("a", "skills: [sink]"), node("b", "skills: [desk]")], THEN_B),
    replies: [...say("none"), desk("look", "x"), ...say("done")],
    env: WITHOUT_TOKEN,
    expected: { state: "degraded", exitCode: 0 },
  },
  "degraded since it was resumed": {
    workflow: flow(
      ["  a: { name: a, approval: { ask: Go on? } }", node("b", "skills: [sink]"), node("c", "max_turns: 2")],
      "[{ from: a, to: b }, { from: b, to: c }]",
    ),
    replies: say("none", "done"),
    after: { args: ["signal", "r", "a", "--approve"], env: WITHOUT_TOKEN },
    expected: { state: "degraded", exitCode: 0 },
  },
  "without any skill since it was resumed": {
    workflow: flow(["  a: { name: a, approval: { ask: Go on? } }", node("b", "skills: [sink]")], THEN_B),
    replies: say("none"),
    after: { args: ["signal", "r", "a", "--approve"], env: WITHOUT_TOKEN },
    expected: { state: "failed", exitCode: 3 },
  },
  failed: {
    workflow: flow([node("a", "requires: { output_required: [input.owner] }")]),
    replies: [],
    expected: { state: "failed", exitCode: 1 },
  },
  "stopped by a limit": {
    workflow: flow([node("a", "max_turns: 2"), node("b", "max_turns: 2")], THEN_B),
    replies: say("one", "two"),
    args: ["--max-steps", "1"],
    expected: { state: "stopped", exitCode: 5 },
  },
  "interrupted by a crash": {
    workflow: flow([node("a", "skills: [sink]")]),
    replies: filing({ title: "die first" }),
    expected: { state: "interrupted", exitCode: 130 },
  },
  waiting: {
    workflow: flow(["  a: { name: a, approval: { ask: Go on? } }"]),
    replies: [],
    expected: { state: "waiting", exitCode: 7 },
  },
  "waiting after a failure inside": {
    workflow: flow(["  a: { name: a, call: inner.yml }", "  b: { name: b, approval: { ask: Go on? } }"], THEN_B),
    replies: [desk("fail", "401: bad credentials"), ...say("none")],
    expected: { state: "waiting", exitCode: 7 },
    degraded: [{ node: "a", ref: "r1" }],
  },
  "with planned writes": {
    workflow: flow([node("a", "skills: [sink]")]),
    replies: filing({ title: "one" }),
    args: ["--writes", "plan"],
    expected: { state: "succeeded", exitCode: 0 },
  },
  "with a dropped claim": {
    workflow: flow([node("a", `skills: [desk], ${DROPS}`)]),
    replies: [desk("look", "x"), ...say(CLAIM, CLAIM)],
    expected: { state: "degraded", exitCode: 0 },
  },
  "without an edge that applies": {
    workflow: flow(
      [node("a", "output: { type: object, properties: { on: { type: boolean } } }"), node("b", "max_turns: 2")],
      "[{ from: a, to: b, if: a.on = true }]",
    ),
    replies: say('{"on": false}'),
    expected: { state: "succeeded", exitCode: 0 },
  },
  "whose every call failed": {
    workflow: flow([node("a", "skills: [desk]")]),
    replies: [desk("fail", "401: bad credentials"), ...say("done")],
    expected: { state: "degraded", exitCode: 0 },
  },
};

const MARKS: Readonly<Record<string, string>> = { succeeded: "✔", degraded: "▲", failed: "✘", waiting: "◆" };

async function carryOut({ workflow, replies, env = ENV, args = [], after }: Case) {
  const inner = flow([node("look", "skills: [desk]")])
    .replace("entry: a", "entry: look")
    .replace("id: w", "id: inner");
  const files = { "w.yml": workflow, "inner.yml": inner, "s.json": { replies }, "skills/sink/skill.ts": SINK };
  const cwd = makeProject(files);
  const run = ["run", "w.yml", "--model", "script:s.json", "--run-id", "r", ...args];
  const isKilled = JSON.stringify(replies).includes("die first");
  const ended = await (isKilled ? runProgram : runHere)([...run, "--json"], { cwd, env });
  if (!after) return { cwd, code: ended.code, stdout: ended.stdout, stderr: ended.stderr };
  return { cwd, ...(await runHere([...after.args, "--json"], { cwd, env: after.env })) };
}

const read = (cwd: string, file: string) => readFileSync(join(cwd, file), "utf8");

describe("every surface agrees on a run", () => {
  it.each(Object.entries(CASES))("that is %s", async (_name, each) => {
    const { cwd, code, stdout, stderr } = await carryOut(each);
    const { state, exitCode } = each.expected;
    const mark = `${MARKS[state] ?? "■"} ${state}`;
    const shown = JSON.parse((await runHere(["runs", "show", "r", "--json"], { cwd })).stdout) as RunResult;
    const status = state === "degraded" ? "succeeded" : state;
    expect(shown).toMatchObject({ status, exitCode });
    expect(shown.degraded.length > 0 && status === "succeeded").toBe(state === "degraded");
    if (each.degraded) expect(shown.degraded).toMatchObject(each.degraded);
    if (stdout !== "") {
      expect(JSON.parse(stdout)).toEqual(shown);
      expect(code).toBe(exitCode);
      expect(stderr).toContain(mark);
    }
    const listed = await runHere(["runs", "list", "--json"], { cwd });
    const { degraded, verdict = null } = shown;
    expect(JSON.parse(listed.stdout).runs[0]).toMatchObject({ status, exitCode, degraded, verdict });
    expect((await runHere(["runs", "list"], { cwd })).stdout).toContain(mark);
    expect((await runHere(["runs", "show", "r"], { cwd })).stdout).toContain(mark);
    const kinds = ["json=o.json", "html=o.html", "md=o.md", "junit=o.xml", "sarif=o.sarif"];
    await runHere(["report", "r", ...kinds.flatMap((kind) => ["--report", kind])], { cwd });
    expect(JSON.parse(read(cwd, "o.json"))).toEqual(shown);
    expect(read(cwd, "o.html")).toContain(`<span class="badge ${state}">`);
    expect(read(cwd, "o.html")).toContain(`<dt>Exit code</dt><dd>${exitCode}</dd>`);
    expect(read(cwd, "o.md")).toContain(`W: ${state}`);
    expect(read(cwd, "o.md")).toContain(`exit ${exitCode}`);
    expect(read(cwd, "o.xml")).toContain(`<property name="state" value="${state}"/>`);
    expect(read(cwd, "o.xml")).toContain(`<property name="exitCode" value="${exitCode}"/>`);
    const found = JSON.parse(read(cwd, "o.sarif")).runs[0].results.map(
      ({ message }: { message: { text: string } }) => message.text,
    );
    for (const { reason } of degraded) {
      for (const file of ["o.xml", "o.html"]) expect(read(cwd, file)).toContain(reason.split("'")[0]);
      expect(found.join("\n")).toContain(reason);
    }
  });

  it("that replays another with changed prompts", async () => {
    const { cwd } = await carryOut(CASES.succeeded as Case);
    writeFileSync(join(cwd, "w.yml"), read(cwd, "w.yml").replace("Do it.", "Do it well."));
    const ended = await runHere(["replay", "r", "--run-id", "again", "--json"], { cwd });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain("✘ failed");
    const shown = await runHere(["runs", "show", "again", "--json"], { cwd });
    expect(JSON.parse(shown.stdout)).toEqual(JSON.parse(ended.stdout));
    expect(JSON.parse(shown.stdout)).toMatchObject({
      status: "failed",
      exitCode: 1,
      error: { code: "replay.changed" },
    });
  });
});
