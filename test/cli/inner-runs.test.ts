import { readFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { runHere } from "./in-process.ts";
import { boardProject, RUN_BOARD } from "./inner-project.ts";

const project = boardProject();
const reports = ["md=r.md", "junit=r.xml", "html=r.html"].flatMap((report) => ["--report", report]);
const run = await runHere([...RUN_BOARD, "b1", ...reports], { cwd: project, columns: 200 });
const read = (name: string) => readFileSync(join(project, name), "utf8");

describe("a run with runs inside it, on a terminal", () => {
  it("waits with the question and the exact commands that answer it, and suggests no other command", () => {
    expect(run.code).toBe(7);
    expect(run.stderr).toContain("◆ waiting");
    expect(run.stderr).toContain("approve: skillflow signal b1 sure --approve\n");
    expect(run.stderr).toContain("deny: skillflow signal b1 sure --deny\n");
    expect(run.stderr).not.toContain("next:");
  });

  it("prints the same with --quiet", async () => {
    const { stderr } = await runHere([...RUN_BOARD, "quiet", "--quiet"], { cwd: project });
    expect(stderr).toContain("◆ waiting\n");
    expect(stderr).toContain("File what was found?\n");
    expect(stderr).toContain("approve: skillflow signal quiet sure --approve\n");
  });

  it("prints the path of each node in its plain lines", () => {
    for (const line of [
      "map:start each 5 items, 1 skipped, 1 left",
      "inner:start each[fp-1]",
      "node:enter each[fp-1]/look visit=1",
      "route each[fp-1]/look -> decide: only path",
      "inner:end each[it's 2] failed: output invalid: the answer is not a JSON object",
      "node:enter expert/think visit=1",
      "approval:asked sure File what was found?",
    ])
      expect(run.stderr.split("\n")).toContain(line);
  });

  it("ends with the results of the items, failed ones first", () => {
    expect(run.stderr).toContain(
      [
        "▲ Judge each issue",
        "  5 items: 3 succeeded, 1 failed, 1 skipped; 1 left for the next run",
        "  ✘ it's 2: output invalid: the answer is not a JSON object",
        "  ✔ fp-1: a bug",
        "  ↷ fp-1: an earlier item has the key fp-1",
        "  ✔ fp-4: noise at fp-4",
      ].join("\n"),
    );
    expect(run.stderr).toContain("✔ Ask the expert\n  summary: I think so.");
  });

  it("shows the progress of a map and its running items in the live lines, and keeps only failed items", async () => {
    const shown: string[] = [];
    const onText = (_: string, text: string) => void shown.push(stripVTControlCharacters(text));
    await runHere([...RUN_BOARD, "live"], { cwd: project, isTerminal: true, columns: 100, onText });
    const live = shown.filter((text) => /^\s*[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/u.test(text));
    expect(
      live.some((text) => /Judge each issue 1 of 5, 1 running · .*\n {4}fp-1 Look at the issue · turn 1/.test(text)),
    ).toBe(true);
    expect(live.some((text) => /Judge each issue 4 of 5, 1 running, 1 failed/.test(text))).toBe(true);
    const kept = shown.filter((text) => !live.includes(text)).join("");
    expect(kept).toContain("  │ ✘ it's 2 output invalid");
    expect(kept).toContain("  ● Think\n");
    expect(kept).toContain("  ◆ waiting: File what was found?");
    expect(kept).not.toContain("● Look at the issue");
  });
});

describe("reports of a run with runs inside it", () => {
  it("show in Markdown the pending decision, the results of the items, and each visit by its path", () => {
    const summary = read("r.md");
    expect(summary).toContain("**Waiting for a decision**");
    expect(summary).toContain("approve: `skillflow signal b1 sure --approve`");
    expect(summary).toMatch(/\| 1 \| Judge each issue \| ▲.degraded/);
    expect(summary).toMatch(/\| 2\.1\.1 \| `expert` Think \| ✅/);
    expect(summary).toMatch(/\| 3 \| May it be filed\? \| ◆.waiting/);
    expect(summary).toMatch(/\| 1\.2\.1 \| `each\[it's 2\]` Look at the issue \| ❌/);
  });

  it("are one case of JUnit for each item, and a pending decision is not an error", () => {
    const junit = read("r.xml");
    expect(junit).toContain('tests="9" failures="0" errors="0" skipped="2"');
    expect(junit).toContain('<testcase name="each[fp-4]"');
    expect(junit).toContain("degraded: failed: output invalid: the answer is not a JSON object");
    expect(junit).toContain('<skipped message="waiting for approval: File what was found?"/>');
    expect(junit).toContain('<testcase name="expert/think"');
  });

  it("are a page with the items below their map, failed ones opened, and the commands that answer", () => {
    const page = read("r.html");
    expect(page).toContain('<details class="visit item" open><summary><span class="dot failed"');
    expect(page).toContain('id="visit-1-2-1"');
    expect(page).toContain('href="#visit-1-2"');
    expect(page).toContain("5 items: 3 succeeded, 1 failed, 1 skipped; 1 left for the next run");
    expect(page).toContain("<code>skillflow signal b1 sure --approve</code>");
  });
});

describe("a list of runs", () => {
  it("shows that one waits, and that its items degraded it", async () => {
    const { stdout } = await runHere(["runs", "list", "--json"], { cwd: project });
    const listed = JSON.parse(stdout).runs.find(({ id }: { id: string }) => id === "b1");
    const reason =
      "1 of 5 items failed: it's 2: output invalid: the answer is not a JSON object; 1 item was left for the next run";
    expect(listed).toMatchObject({ status: "waiting", exitCode: 7, degraded: [{ node: "each", reason }] });
  });
});

describe("inspection of a run with runs inside it", () => {
  it("shows a node of an item by its path, and a map with its items", async () => {
    const inside = await runHere(["runs", "show", "b1", "each[it's 2]/look"], { cwd: project });
    expect(inside.stdout).toContain("Look at the issue · each[it's 2]/look#1");
    expect(inside.stdout).toContain("nope");
    const map = await runHere(["runs", "show", "b1", "each"], { cwd: project });
    expect(map.stdout).toContain("✘ each[it's 2] failed · output invalid: the answer is not a JSON object · at look");
    const asked = await runHere(["runs", "show", "b1", "sure"], { cwd: project });
    expect(asked.stdout).toContain("◆ File what was found?\n    not answered yet");
    const wrong = await runHere(["runs", "show", "b1", "each[fp-9]/look"], { cwd: project });
    expect(wrong.code).toBe(2);
  });

  it("draws inner workflows next to their nodes, each node by its kind, and the number of visits", async () => {
    const { stdout: plain } = await runHere(["graph", "board.yml"], { cwd: project });
    expect(plain).toContain(`n0[["Judge each issue<br/>for each issue of input.issues<br/>`);
    expect(plain).toContain(`n2{{"May it be filed#63;<br/>asks for approval<br/>`);
    expect(plain).toContain("subgraph in_n0");
    expect(plain).toContain("n1 -.-> n1_0");
    const { stdout: ran } = await runHere(["graph", "b1"], { cwd: project });
    expect(ran).toMatch(/n0_0\("Look at the issue ×4.*:::degraded/);
    expect(ran).toContain("#9670; waiting");
  });

  it("reports as the difference between runs the node of the item that behaved differently", async () => {
    await runHere([...RUN_BOARD, "b2"], { cwd: project });
    const same = JSON.parse((await runHere(["runs", "diff", "b1", "b2", "--json"], { cwd: project })).stdout);
    expect(same).toMatchObject({ same: true, path: { first: null, a: ["each", "expert", "sure"] } });
  });
});
