import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import type { Recheck } from "../../src/core/engine/recheck/answer.ts";
import { runHere } from "./in-process.ts";
import { makeProject, readEvents, runFile } from "./program.ts";

/** A run that found an incident in log files, rechecked after the files have changed. */

const WORKFLOW = `id: w
name: W
entry: look
model: script:replies.yml
nodes:
  look:
    name: Look
    instruction: Find the cause.
    skills: [logs]
    output: { type: object }
    eval: [{ name: shown, kind: evidence, on_unsupported: drop, rule: { claims: "claims[*]", min_supported: 0 } }]
edges: []
`;

const THEN = "2026-01-31T08";
const recently = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
const timeout = (at: string, id: number) => `${at} level=error msg="timeout of the payment provider" order=${id}`;
const paid = (at: string, id: number) => `${at} level=info msg="order paid" order=${id}`;

const OLD = [timeout(`${THEN}:10:00Z`, 4711), paid(`${THEN}:11:00Z`, 4712)];
const SEARCH = { files: "app.log", contains: "timeout", since: `${THEN}:00:00Z`, until: `${THEN}:30:00Z` };
const { since: _, until: __, ...UNTIMED } = SEARCH;
const CLAIM = { claim: "Payments time out", quote: "timeout of the payment provider" };

interface Asked {
  readonly calls: readonly { readonly tool: string; readonly input: object }[];
  readonly claims: readonly { readonly claim: string; readonly quote: string; readonly ref?: string }[];
}

let cwd = "";
const here = (...argv: string[]) => runHere(argv, { cwd });

async function investigate({ calls, claims }: Asked): Promise<void> {
  const data = { claims: claims.map(({ claim, quote, ref = "r1" }) => ({ claim, evidence: [{ ref, quote }] })) };
  writeFileSync(
    join(cwd, "replies.yml"),
    JSON.stringify({
      replies: [
        { node: "look", calls },
        { node: "look", data },
      ],
    }),
  );
  writeFileSync(join(cwd, "app.log"), `${OLD.join("\n")}\n`);
  const ended = await here("run", "w.yml", "--run-id", "one", "--json");
  expect([ended.code, ended.stderr]).toEqual([0, expect.any(String)]);
}

async function recheck(lines: readonly string[], ...flags: string[]): Promise<[number | null, Recheck]> {
  writeFileSync(join(cwd, "app.log"), `${[...OLD, ...lines].join("\n")}\n`);
  const ended = await here("recheck", "one", "--json", ...flags);
  expect(ended.stdout, ended.stderr).toContain("skillflow.recheck/1");
  return [ended.code, JSON.parse(ended.stdout) as Recheck];
}

beforeEach(() => {
  cwd = makeProject({ "w.yml": WORKFLOW });
});

describe("a recheck", () => {
  const found: Asked = { calls: [{ tool: "logs_search", input: SEARCH }], claims: [CLAIM] };

  it.each([
    ["held, if the symptom is gone and there is traffic", () => [paid(recently(5), 9)], 0, "held"],
    ["not held, if the symptom goes on with another id", () => [timeout(recently(5), 9)], 1, "not_held"],
    ["inconclusive without traffic", () => [], 8, "inconclusive"],
  ] as const)("answers %s", async (_name, lines, code, answer) => {
    await investigate(found);
    const [ended, told] = await recheck(lines());
    expect([ended, told]).toMatchObject([code, { of: "one", answer, claims: [{ claim: CLAIM.claim, answer }] }]);
    const events = readEvents(cwd, told.run);
    expect(events.filter(({ type }) => type.startsWith("model:"))).toEqual([]);
    const calls = events.filter(({ type }) => type === "tool:call");
    expect(calls.length).toBe(answer === "not_held" ? 1 : 2);
    const listed = JSON.parse((await here("runs", "list", "--json")).stdout) as {
      runs: { id: string; kind: string }[];
    };
    expect(listed.runs.find(({ id }) => id === told.run)).toMatchObject({ kind: "recheck" });
    expect(JSON.parse((await here("runs", "show", "latest", "--json")).stdout)).toMatchObject({ run: "one" });
  });

  it("is held if a call that returns more than its range shows the symptom only before it", async () => {
    const survey = { tool: "logs_survey", input: { files: "app.log", around: `${THEN}:10:00Z` } };
    await investigate({ calls: [survey], claims: [CLAIM] });
    const [code, told] = await recheck([paid(recently(5), 9)]);
    expect([code, told]).toMatchObject([0, { claims: [{ answer: "held" }] }]);
    expect((await recheck([timeout(recently(5), 9)]))[1].answer).toBe("not_held");
    const stats = JSON.parse((await here("stats", "--json")).stdout);
    expect([stats.rows, stats.skipped]).toMatchObject([[{ rechecks: { held: 1, not_held: 1, inconclusive: 0 } }], []]);
  });

  it("looks back as far as --window says", async () => {
    await investigate(found);
    const lines = [timeout(recently(45), 9), paid(recently(5), 10)];
    expect((await recheck(lines))[0]).toBe(0);
    expect((await recheck(lines, "--window", "60m"))[0]).toBe(1);
  });

  it("compares a quoted number with the middle between it and the value before", async () => {
    const input = { ...SEARCH, contains: "order", by: "level" };
    await investigate({
      calls: [{ tool: "logs_count_by", input }],
      claims: [{ claim: "One order failed", quote: '["error",1]' }],
    });
    expect((await recheck([timeout(recently(5), 9), paid(recently(4), 9)]))[1].answer).toBe("not_held");
  });

  it.each([
    ["a call has no time range", UNTIMED, "the call has no time range"],
    ["its files are gone", { ...SEARCH, files: "other/*.log" }, expect.stringContaining("source unavailable")],
  ])("is inconclusive if %s", async (_name, input, reason) => {
    mkdirSync(join(cwd, "other"));
    writeFileSync(join(cwd, "other", "app.log"), `${OLD.join("\n")}\n`);
    await investigate({ calls: [{ tool: "logs_search", input }], claims: [CLAIM] });
    rmSync(join(cwd, "other"), { recursive: true });
    const [code, told] = await recheck([paid(recently(5), 9)]);
    expect([code, told.claims]).toMatchObject([8, [{ answer: "inconclusive", reason }]]);
  });

  it("lets one claim that did not hold decide", async () => {
    const paidCall = { tool: "logs_search", input: UNTIMED };
    await investigate({
      calls: [...found.calls, paidCall],
      claims: [CLAIM, { ...CLAIM, claim: "The provider does not answer", ref: "r2" }],
    });
    const [code, told] = await recheck([timeout(recently(5), 9)]);
    expect([code, told.claims.map(({ answer }) => answer)]).toEqual([1, ["not_held", "inconclusive"]]);
  });

  it("is inconclusive if the run has no kept claim", async () => {
    await investigate({ ...found, claims: [] });
    expect(await recheck([])).toMatchObject([8, { answer: "inconclusive", claims: [] }]);
  });

  it("refuses a run that is unknown or altered, and a window that is none", async () => {
    await investigate(found);
    expect((await here("recheck", "none")).code).toBe(2);
    expect((await here("recheck", "one", "--window", "soon")).code).toBe(2);
    const text = readEvents(cwd, "one").length;
    expect(text).toBeGreaterThan(0);
    const { readFileSync } = await import("node:fs");
    const file = runFile(cwd, "one");
    writeFileSync(file, readFileSync(file, "utf8").replace("Payments time out", "Payments were fine"));
    expect((await here("recheck", "one")).code).toBe(4);
  });
});
