import { copyFileSync, cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it, test } from "vitest";
import type { Verification } from "../../src/app/runs/afterwards/verify.ts";
import { startLoopback } from "../../src/testing.ts";
import { FLOW, scriptOf, WORKING } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { type Ended, makeProject, readEvents, resultOf, runFile } from "./program.ts";

const MODEL = ["--model", "script:script.json"];
const RUN = ["run", "flow.yml", ...MODEL, "--run-id", "r"];

/** A run that has ended, to be changed. */
const made = makeProject({ "flow.yml": FLOW, "script.json": WORKING });
let lines: readonly string[];
beforeAll(async () => {
  await runHere([...RUN, "--out", "out"], { cwd: made });
  lines = readFileSync(runFile(made, "r"), "utf8").trimEnd().split("\n");
});

function changedRun(change: (lines: readonly string[]) => readonly string[] = (same) => same): string {
  const cwd = makeProject();
  cpSync(made, cwd, { recursive: true });
  writeFileSync(
    runFile(cwd, "r"),
    change(lines)
      .map((line) => `${line}\n`)
      .join(""),
  );
  return cwd;
}

const verified = ({ stdout }: Ended) => JSON.parse(stdout) as Verification;
const verify = (cwd: string, ...args: string[]) => runHere(["runs", "verify", "r", ...args], { cwd });
const bare = (all: readonly string[]) =>
  all.map((line) => line.replace(/(?:,"record":"\w{64}")?(?:,"seal":"\w{64}")?\}$/, "}"));

describe("runs verify", () => {
  it("ends with 0 for an unaltered run, and prints its last digest", async () => {
    const ended = await verify(made, "--json");
    expect(ended.code).toBe(0);
    const digest = readEvents(made, "r").at(-1)?.seal;
    const records = 1 + readEvents(made, "r").filter(({ more }) => !more).length;
    expect(verified(ended)).toEqual({ run: "r", ok: true, ended: true, records, digest, problems: [] });
    const told = await verify(made, "--digest", String(digest));
    expect(told.code).toBe(0);
    expect(told.stdout).toContain(`unaltered: run r, ${records} records`);
    expect(told.stdout).toContain(String(digest));
  });

  it("ends with 4 for a run that was altered, and names the first bad record and line", async () => {
    const cwd = changedRun((all) => all.with(4, (all[4] ?? "").replace(/"time":"2/, '"time":"3')));
    const ended = await verify(cwd, "--json");
    expect(ended.code).toBe(4);
    expect(verified(ended)).toMatchObject({ ok: false, ended: true, problems: [{ line: 5 }] });
    expect((await verify(cwd)).stdout).toMatch(/altered: run r\n {2}line 5 \(record \d+\): it was changed/);
  });

  it("ends with 4 if a line is no longer an event, was removed, or was appended after the end", async () => {
    const last = (all: readonly string[]) => JSON.parse(all.at(-1) ?? "") as { seq: number };
    for (const [change, line] of [
      [(all: readonly string[]) => all.with(3, "garbage"), 4],
      [(all: readonly string[]) => all.toSpliced(3, 1), 4],
      [
        (all: readonly string[]) => [...all, JSON.stringify({ ...last(all), seq: last(all).seq + 1 })],
        lines.length + 1,
      ],
    ] as const) {
      const ended = await verify(changedRun(change), "--json");
      expect(ended.code).toBe(4);
      expect(verified(ended).problems[0]).toMatchObject({ line });
    }
  });

  it.each<[string, (all: readonly string[]) => readonly string[], string]>([
    ["is empty", () => [], "it is not a run's record"],
    ["is overwritten", () => ["garbage"], "it is not a run's record"],
    ["is another run's", (all) => all, "it is the record of run r"],
  ])("ends with 4 for a file that %s, which no other command reads", async (_, change, what) => {
    const cwd = changedRun();
    writeFileSync(runFile(cwd, "x"), `${change(lines).join("\n")}\n`);
    const ended = await runHere(["runs", "verify", "x", "--json"], { cwd });
    expect(ended.code).toBe(4);
    expect(verified(ended)).toMatchObject({ run: "x", ok: false, problems: [{ record: 1, line: 1, what }] });
    for (const command of ["resume", "replay", "apply", "ask"]) {
      const refused = await runHere([command, "x", ...(command === "ask" ? ["why?"] : [])], { cwd });
      expect([command, refused.code]).toEqual([command, what.includes("of run") ? 4 : 2]);
    }
    const { stdout } = await runHere(["runs", "list", "--json"], { cwd });
    expect(JSON.parse(stdout).runs).toMatchObject([{ id: "r" }]);
    expect(resultOf(await runHere(["runs", "show", "latest", "--json"], { cwd })).run).toBe("r");
  });

  it("ends with 1 for a run without an end, as after truncation, also in the middle of a line", async () => {
    const whole = changedRun((all) => all.slice(0, -1));
    const torn = changedRun();
    writeFileSync(runFile(torn, "r"), readFileSync(runFile(torn, "r")).subarray(0, -20));
    for (const cwd of [whole, torn]) {
      const ended = await verify(cwd, "--json");
      expect(ended.code).toBe(1);
      expect(verified(ended)).toMatchObject({ ok: false, ended: false, problems: [{ line: lines.length - 1 }] });
      expect((await verify(cwd)).stdout).toMatch(/unfinished: .*\n.*\n.*skillflow resume r/);
    }
  });

  it("ignores a torn line after an end, which is not an alteration", async () => {
    const cwd = changedRun();
    writeFileSync(runFile(cwd, "r"), '{"seq":', { flag: "a" });
    expect(await verify(cwd)).toMatchObject({ code: 0 });
  });

  it("ends with 1 for a run without digests, and reports it as unchained", async () => {
    const ended = await verify(changedRun(bare), "--json");
    expect(ended.code).toBe(1);
    expect(verified(ended)).toMatchObject({ ok: false, ended: true, digest: null });
    expect(verified(ended).problems).toEqual([{ record: 1, line: 1, what: expect.stringContaining("unchained") }]);
  });

  it("shows by a separately stored digest that a record was rewritten, cut or continued", async () => {
    const kept = verified(await verify(made, "--json")).digest ?? "";
    const cwd = makeProject({ "flow.yml": FLOW, "script.json": WORKING });
    await runHere(RUN, { cwd });
    expect(await verify(cwd)).toMatchObject({ code: 0 });
    const anew = await verify(cwd, "--json", "--digest", kept);
    expect(anew.code).toBe(4);
    expect(verified(anew).problems[0]?.what).toContain(`not ${kept}: the record was rewritten`);
    for (const change of [bare, (all: readonly string[]) => all.slice(0, -1)]) {
      expect(await verify(changedRun(change), "--digest", kept)).toMatchObject({ code: 4 });
    }
    const earlier = readEvents(made, "r").at(3)?.seal ?? "";
    const on = await verify(made, "--json", "--digest", earlier.toUpperCase());
    expect(on.code).toBe(4);
    expect(verified(on).problems[0]?.what).toContain("is the digest of line 5, and the run was continued");
    expect(await verify(made, "--digest", "")).toMatchObject({ code: 2 });
  });

  it("accepts a copy of a record by its path, such as the trace of --out", async () => {
    expect(await runHere(["runs", "verify", "out/trace.jsonl"], { cwd: made })).toMatchObject({ code: 0 });
    const cwd = makeProject();
    copyFileSync(join(made, "out/trace.jsonl"), join(cwd, "copy.jsonl"));
    expect(await runHere(["runs", "verify", "copy.jsonl"], { cwd })).toMatchObject({ code: 0 });
    writeFileSync(join(cwd, "other.jsonl"), "{}\n");
    expect(await runHere(["runs", "verify", "other.jsonl"], { cwd })).toMatchObject({ code: 2 });
    expect(await runHere(["runs", "verify", "nobody"], { cwd })).toMatchObject({ code: 2 });
  });

  it("checks blobs against their ids", async () => {
    const service = await startLoopback((_, response) => void response.end("line of a log\n".repeat(40_000)));
    const fetch = { calls: [{ tool: "desk_fetch", input: { text: service.url } }] };
    const cwd = makeProject({
      "small.json": { ...JSON_SMALL, nodes: { only: { ...JSON_SMALL.nodes.only, skills: ["desk"] } } },
      "script.json": scriptOf(fetch, { text: "done" }),
    });
    await runHere(["run", "small.json", ...MODEL, "--run-id", "r"], { cwd });
    await service.close();
    const folder = join(dirname(runFile(cwd, "r")), "r.blobs");
    const [name = ""] = readdirSync(folder).filter((file) => !file.endsWith(".json"));
    expect(await verify(cwd)).toMatchObject({ code: 0 });
    writeFileSync(join(folder, name), "another log\n");
    const changed = await verify(cwd, "--json");
    expect(changed.code).toBe(4);
    const line = 2 + readEvents(cwd, "r").findIndex(({ type }) => type === "tool:result");
    expect(verified(changed).problems).toEqual([
      { record: expect.any(Number), line, what: expect.stringContaining("its content changed") },
    ]);
    rmSync(folder, { recursive: true });
    expect(verified(await verify(cwd, "--json")).problems).toMatchObject([
      { line, what: expect.stringContaining(name) },
    ]);
  });
});

const JSON_SMALL = {
  id: "small",
  name: "Small",
  entry: "only",
  nodes: { only: { name: "Only", instruction: "Fetch it." } },
  edges: [],
};

describe("a run that was altered", () => {
  const altered = () => changedRun((all) => all.slice(0, -2).with(4, (all[4] ?? "").replace(/"time":"2/, '"time":"3')));

  test.each([
    ["resumed", ["resume", "r", ...MODEL]],
    ["replayed", ["replay", "r"]],
    ["replayed from a copy", ["replay", ".skillflow/runs/r.jsonl"]],
    ["asked for answers", ["run", "flow.yml", "--model", "replay:.skillflow/runs/r.jsonl"]],
    ["shown", ["runs", "show", "r"]],
  ])("is not %s: that ends with 4 and names the line", async (_, args) => {
    const cwd = altered();
    const ended = await runHere(args, { cwd });
    expect(ended.code).toBe(4);
    expect(ended.stderr).toMatch(/was altered: line 5 \(record \d+\)/);
    expect(readdirSync(dirname(runFile(cwd, "r"))).filter((name) => name.endsWith(".jsonl"))).toEqual(["r.jsonl"]);
  });

  it("is listed, and removed by its age", async () => {
    const cwd = changedRun((all) => all.with(0, (all[0] ?? "").replace(/"at":"2\d/, '"at":"19')));
    expect(await verify(cwd)).toMatchObject({ code: 4, stdout: expect.stringContaining("line 1 (record 1)") });
    expect((await runHere(["runs", "list"], { cwd })).stdout).toContain("succeeded r · flow");
    expect((await runHere(["runs", "prune", "--older-than", "72h"], { cwd })).stdout).toBe("1 run removed\n");
  });
});

describe("a run without digests", () => {
  it("is resumed and replayed with a warning", async () => {
    const stopped = (all: readonly string[]) => bare(all).slice(0, -3);
    const warning = "run r is unchained: changes to its record cannot be detected";
    const resumed = await runHere(["resume", "r", ...MODEL], { cwd: changedRun(stopped) });
    expect(resumed).toMatchObject({ code: 0, stderr: expect.stringContaining(warning) });
    const replayed = await runHere(["replay", "r"], { cwd: changedRun(bare) });
    expect(replayed).toMatchObject({ code: 0, stderr: expect.stringContaining(warning) });
    expect((await runHere(["replay", "r"], { cwd: changedRun() })).stderr).not.toContain("unchained");
  });
});

describe("a run's end", () => {
  it("prints its last digest, and passes it to the job as an output", async () => {
    const cwd = makeProject({ "flow.yml": FLOW, "script.json": WORKING, output: "" });
    const env = { GITHUB_ACTIONS: "true", GITHUB_OUTPUT: join(cwd, "output") };
    const ended = await runHere(RUN, { cwd, env });
    const digest = readEvents(cwd, "r").at(-1)?.seal;
    expect(ended.stderr).toContain(`record: ${digest}\n`);
    expect(readFileSync(join(cwd, "output"), "utf8")).toMatch(new RegExp(`record-digest<<(\\S+)\\n${digest}\\n\\1\\n`));
    expect(verified(await verify(cwd, "--json")).digest).toBe(digest);
  });

  it("after it was continued has a valid record, and another digest", async () => {
    const cwd = makeProject({ "flow.yml": FLOW, "script.json": WORKING });
    await runHere([...RUN, "--max-steps", "1"], { cwd });
    const first = verified(await verify(cwd, "--json"));
    expect(first).toMatchObject({ ok: true, ended: true });
    const resumed = await runHere(["resume", "r", "--max-steps", "9", "--json"], { cwd });
    expect(resultOf(resumed).status).toBe("succeeded");
    const second = verified(await verify(cwd, "--json"));
    expect(second).toMatchObject({ ok: true, ended: true });
    expect(second.digest).not.toBe(first.digest);
  });
});
