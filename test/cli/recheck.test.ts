import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { type Recheck, recheckSchema } from "../../src/core/engine/recheck/answer.ts";
import { unansweredSchema } from "../../src/core/engine/result/refusal.ts";
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
    skills: [logs, git]
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
  const ended = await here("run", "w.yml", "--run-id", "one", "--input", '{"alert":"Payments are slow"}');
  expect([ended.code, ended.code === 0 ? "" : ended.stderr]).toEqual([0, ""]);
}

async function recheck(lines: readonly string[], ...flags: string[]): Promise<[number | null, Recheck]> {
  writeFileSync(join(cwd, "app.log"), `${[...OLD, ...lines].join("\n")}\n`);
  const ended = await here("recheck", "one", "--json", ...flags);
  expect(ended.stdout, ended.stderr).toContain("skillflow.recheck/1");
  return [ended.code, recheckSchema().strict().parse(JSON.parse(ended.stdout))];
}

beforeEach(() => {
  cwd = makeProject({ "w.yml": WORKFLOW });
});

describe("a recheck", () => {
  const found: Asked = { calls: [{ tool: "logs_search", input: SEARCH }], claims: [CLAIM] };

  it.each([
    ["held, if the symptom is gone and there is traffic", () => [paid(recently(5), 9)], 0, "held"],
    ["not held, if the symptom goes on with another id", () => [timeout(recently(5), 9)], 1, "not_held"],
    ["not held, if another user has it", () => [`${timeout(recently(5), 9)} user=kim`], 1, "not_held"],
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
      runs: { id: string }[];
    };
    const verdict = { kind: "recheck", status: "succeeded", verdict: answer, exitCode: code };
    expect(listed.runs.find(({ id }) => id === told.run)).toMatchObject(verdict);
    expect(JSON.parse((await here("runs", "show", "latest", "--json")).stdout)).toMatchObject({ run: "one" });
  });

  it("answers held if a call that returns more than its range shows the symptom only before it", async () => {
    const survey = { tool: "logs_survey", input: { files: "app.log", around: `${THEN}:10:00Z` } };
    await investigate({ calls: [survey], claims: [CLAIM] });
    const [code, told] = await recheck([paid(recently(5), 9)]);
    expect([code, told]).toMatchObject([0, { claims: [{ answer: "held" }] }]);
    expect((await recheck([timeout(recently(5), 9)]))[1].answer).toBe("not_held");
    const stats = JSON.parse((await here("stats", "--json")).stdout);
    expect([stats.rows, stats.skipped]).toMatchObject([[{ rechecks: { held: 1, not_held: 1, inconclusive: 0 } }], []]);
  });

  it("is in its reports, with each claim and the reason", async () => {
    await investigate(found);
    const reports = ["md", "junit", "html"].flatMap((kind) => ["--report", `${kind}=r.${kind}`]);
    const [, { run }] = await recheck([timeout(recently(5), 9)], ...reports);
    const [md, junit, html] = ["r.md", "r.junit", "r.html"].map((name) => readFileSync(join(cwd, name), "utf8"));
    expect(md).toContain(`Not held: ${CLAIM.claim} (recheck of run one)`);
    expect(html).toContain("the quoted record occurs again");
    expect(junit).toMatch(
      /failures="1"[\s\S]*name="Payments time out"[\s\S]*<failure message="the quoted record occurs again"/,
    );
    expect((await here("runs", "show", run)).stdout).toContain("verdict: not_held");
    expect((await here("recheck", "one", "--quiet")).stderr).toBe("not held: recheck of run one\n");
  });

  it("lets claims that show no symptom decide only if there is no other", async () => {
    const alert = { claim: "The alert says so", quote: "Payments are slow", ref: "input" };
    const git = (...argv: string[]) =>
      execFileSync("git", ["-c", "user.name=Ada", "-c", "user.email=a@b.test", ...argv], { cwd });
    git("init", "--quiet");
    git("commit", "--quiet", "--allow-empty", "--message", "Lower the timeout");
    const commit = { claim: "A commit lowered the timeout", quote: "Lower the timeout", ref: "r2" };
    const log = { tool: "git_log", input: { since: "2026-01-01" } };
    await investigate({ calls: [...found.calls, log], claims: [commit, alert, CLAIM] });
    const [code, { claims, run }] = await recheck([paid(recently(5), 9)]);
    expect([code, claims.map(({ answer }) => answer)]).toEqual([0, ["inconclusive", "inconclusive", "held"]]);
    expect(readEvents(cwd, run).filter((event) => event.type === "tool:call" && event.tool === "git_log")).toEqual([]);
    expect((await recheck([]))[0]).toBe(8);
    const listed = (await here("runs", "list")).stdout;
    expect(listed).toMatch(/▲ degraded [^\n]* · inconclusive\n {2}[^\n]* · \$0\n/);
    expect(listed).toContain(" · script:replies.yml\n");
    cwd = makeProject({ "w.yml": WORKFLOW });
    await investigate({ ...found, claims: [alert] });
    expect((await recheck([paid(recently(5), 9)]))[0]).toBe(8);
  });

  it("makes calls whose ranges become the same one once", async () => {
    const later = { ...SEARCH, until: `${THEN}:20:00Z` };
    await investigate({
      calls: [...found.calls, { tool: "logs_search", input: later }],
      claims: [CLAIM, { ...CLAIM, claim: "They time out for long", ref: "r2" }],
    });
    const [, { run, claims }] = await recheck([timeout(recently(5), 9)]);
    expect(claims.map(({ answer }) => answer)).toEqual(["not_held", "not_held"]);
    expect(readEvents(cwd, run).filter(({ type }) => type === "tool:call")).toHaveLength(1);
  });

  it("does not reach back into the incident if the range had no end", async () => {
    const { until: _end, ...open } = SEARCH;
    await investigate({ calls: [{ tool: "logs_search", input: open }], claims: [CLAIM] });
    expect((await recheck([paid(recently(5), 9)]))[0]).toBe(0);
  });

  it("that a limit ended before its second search is inconclusive, with the limit's exit code and reason", async () => {
    await investigate(found);
    writeFileSync(join(cwd, ".skillflow.yml"), "limits: { max_steps: 1 }\n");
    const ended = await here("recheck", "one", "--json");
    expect([ended.code, JSON.parse(ended.stdout).answer]).toEqual([5, "inconclusive"]);
    expect(ended.stderr).toContain("the recheck ended before the call without filters was made");
  });

  it("looks back as far as --window states", async () => {
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
    ["rise to 0.82", "The error ratio rose from 0.01 to 0.82", 0.02, "held"],
    ["stay high", "The error ratio rose from 0.01 to 0.82", 0.9, "not_held"],
    ["be one of several numbers", "The error ratio is bad", 0.02, "inconclusive"],
  ])("compares the number that the claim names: values that %s", async (_name, claim, value, answer) => {
    const at = (time: string, ratio: number) => `${time} level=info error_ratio=${ratio}`;
    const then = Array.from({ length: 9 }, (_, n) => at(`${THEN}:1${n}:00Z`, n < 4 ? 0.01 : 0.82));
    OLD.push(...then);
    const { contains: _, ...input } = SEARCH;
    const series = { tool: "logs_series", input: { ...input, fields: ["error_ratio"] } };
    await investigate({ calls: [series], claims: [{ claim, quote: "0.01,0.82" }] });
    expect((await recheck(Array.from({ length: 9 }, (_, n) => at(recently(n + 1), value)).reverse()))[1].answer).toBe(
      answer,
    );
    OLD.splice(-9);
  });

  it.each([
    ["stays worse", [0, 0], "not_held"],
    ["falls for a moment", [119, 30], "not_held"],
    ["is high again", [119, 119], "held"],
    ["is gone among others", [], "not_held"],
    ["is gone with all others", undefined, "inconclusive"],
  ])("compares a row by the name of its series: one that fell and %s", async (_name, values, answer) => {
    const at = (time: string, numbers: string) => `${time} level=info ${numbers}`;
    OLD.push(...Array.from({ length: 9 }, (_, n) => at(`${THEN}:1${n}:00Z`, `orders=${n < 4 ? 120 : 3} cpu=1`)));
    const { contains: _contains, ...input } = SEARCH;
    const series = { tool: "logs_series", input: { ...input, fields: ["orders", "cpu"] } };
    await investigate({
      calls: [series],
      claims: [{ claim: "Orders fell from 120 to 3", quote: '"orders",9,"1m",3,120' }],
    });
    OLD.splice(-9);
    const lines = values?.map((value, n) => at(recently(9 - n), `orders=${value} cpu=1`)) ?? [];
    expect((await recheck(values ? [...lines, at(recently(2), "cpu=1")] : [paid(recently(2), 9)]))[1].answer).toBe(
      answer,
    );
  });

  it("answers held if only groups other than the quoted one are counted", async () => {
    const input = { ...UNTIMED, since: SEARCH.since, until: SEARCH.until, by: "level" };
    const { contains: _, ...call } = input;
    await investigate({
      calls: [{ tool: "logs_count_by", input: call }],
      claims: [{ claim: "One order failed", quote: '["error",1]' }],
    });
    expect((await recheck([paid(recently(5), 9)]))[1].answer).toBe("held");
  });

  it("is inconclusive if the repeated call returns only a part that lacks the symptom", async () => {
    const input = { ...UNTIMED, contains: "order", since: SEARCH.since, until: SEARCH.until };
    await investigate({ calls: [{ tool: "logs_search", input }], claims: [CLAIM] });
    const many = Array.from({ length: 300 }, (_, n) => paid(recently(9), n));
    expect((await recheck([...many, timeout(recently(5), 9)]))[1].answer).toBe("inconclusive");
  });

  it.each([
    ["inconclusive, if the symptom occurs only in the recorded range", 20, "inconclusive"],
    ["not held, if it occurs after it", 2, "not_held"],
  ])("is %s, which the window overlaps", async (_name, minutes, answer) => {
    OLD.push(timeout(recently(28), 1));
    const input = { files: "app.log", contains: "timeout of", since: recently(30), until: recently(10) };
    await investigate({ calls: [{ tool: "logs_search", input }], claims: [CLAIM] });
    expect((await recheck([timeout(recently(minutes), 9)]))[1].answer).toBe(answer);
    OLD.pop();
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

  it("repeats the calls that claims of inner runs cite", async () => {
    const inline = WORKFLOW.replace(/^[\s\S]*?(?=nodes:)/, "entry: look\n").trimEnd();
    const called = `id: c\nname: C\nentry: each
nodes:
  each:
    name: Each
    map: { over: input.orders, as: order, key: order }
${inline.replaceAll(/^/gm, "    ")}
edges: []
`;
    const outer = `id: w\nname: W\nentry: all\nmodel: script:replies.yml
nodes: { all: { name: All, call: ./called.yml, with: { orders: "{{input.orders}}" } } }
edges: []
`;
    cwd = makeProject({ "w.yml": outer, "called.yml": called });
    const item = (name: string, contains: string, quote: string, ref: string) => [
      { node: "look", item: name, calls: [{ tool: "logs_search", input: { ...SEARCH, contains } }] },
      { node: "look", item: name, data: { claims: [{ claim: `About ${name}`, evidence: [{ ref, quote }] }] } },
    ];
    const replies = [...item("a", "4711", CLAIM.quote, "r1"), ...item("b", "4712", "order paid", "r2")];
    writeFileSync(join(cwd, "replies.yml"), JSON.stringify({ replies }));
    writeFileSync(join(cwd, "app.log"), `${OLD.join("\n")}\n`);
    const ended = await here("run", "w.yml", "--run-id", "one", "--input", '{"orders":["a","b"]}');
    expect(ended.code, ended.stderr).toBe(0);
    const answers = async (lines: readonly string[]) => {
      const [code, { claims }] = await recheck(lines);
      return [code, claims.map(({ claim, answer }) => `${claim}: ${answer}`)];
    };
    expect(await answers([paid(recently(5), 4712)])).toEqual([1, ["About a: held", "About b: not_held"]]);
  });

  it("is inconclusive if the run has no claim", async () => {
    await investigate({ ...found, claims: [] });
    const [code, answer] = await recheck([], "--report", "junit=r.xml");
    expect([code, answer]).toMatchObject([8, { answer: "inconclusive", claims: [] }]);
    expect(readFileSync(join(cwd, "r.xml"), "utf8")).toMatch(
      /skipped="1"[\s\S]*<skipped message="the run has no kept claim"/,
    );
    const judged = await here("feedback", answer.run, "right");
    expect([judged.code, judged.stderr]).toEqual([2, expect.stringContaining("skillflow feedback one right")]);
  });

  it("refuses a run that is unknown or altered, and an invalid window", async () => {
    await investigate(found);
    const unknown = await here("recheck", "none", "--json");
    expect([unknown.code, unansweredSchema("recheck").strict().parse(JSON.parse(unknown.stdout))]).toMatchObject([
      2,
      { run: null, of: "none", exitCode: 2, error: { code: "run.unknown" } },
    ]);
    expect((await here("recheck", "one", "--window", "soon")).code).toBe(2);
    const text = readEvents(cwd, "one").length;
    expect(text).toBeGreaterThan(0);
    const file = runFile(cwd, "one");
    writeFileSync(file, readFileSync(file, "utf8").replace("Payments time out", "Payments were fine"));
    expect((await here("recheck", "one")).code).toBe(4);
  });
});
