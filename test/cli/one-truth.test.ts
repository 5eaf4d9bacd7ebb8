import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHere } from "./in-process.ts";
import { makeProject, readEvents, resultOf, runProgram } from "./program.ts";
import { ENV, SINK, scriptOf } from "./sink.ts";

/** Status, degraded nodes, exit code and headline of a run are the same wherever they are shown. */

const ASK_AND_FILE = `
id: w
name: W
entry: look
nodes:
  look: { name: Look, instruction: Look. }
  ask: { name: Ask, approval: { ask: File it? } }
  file: { name: File, instruction: File it., skills: [sink] }
edges:
  - { from: look, to: ask }
  - { from: ask, to: file }
`;
const THEN_TELL = ASK_AND_FILE.replace("edges:", "  tell: { name: Tell, instruction: Sum it up. }\nedges:").concat(
  "  - { from: file, to: tell }\n",
);
const FILE_TWICE = `
id: w
name: W
entry: a
nodes:
  a: { name: A, instruction: File it., skills: [sink] }
  b: { name: B, instruction: File it., skills: [sink] }
edges: [{ from: a, to: b }]
`;
const RUN = ["run", "w.yml", "--model", "script:s.json", "--run-id", "r"];
const { SINK_TOKEN: _, ...WITHOUT_TOKEN } = ENV;

const said = (...texts: string[]) => ({ replies: texts.map((text) => ({ text })) });

function projectOf(workflow: string, script: unknown) {
  return makeProject({ "w.yml": workflow, "s.json": script, "skills/sink/skill.ts": SINK });
}

describe("a run that is resumed without what its skills need", () => {
  it("ends with 3 if the remaining nodes have lost all skills, and executes them once the skills are back", async () => {
    const script = { replies: [{ text: "seen" }, { text: "cannot file" }, ...scriptOf([{ title: "one" }]).replies] };
    const cwd = projectOf(ASK_AND_FILE, script);
    expect(await runHere(RUN, { cwd, env: ENV })).toMatchObject({ code: 7 });
    const ended = await runHere(["signal", "r", "ask", "--approve", "--json"], { cwd, env: WITHOUT_TOKEN });
    expect(ended.code).toBe(3);
    expect(resultOf(ended)).toMatchObject({
      status: "failed",
      exitCode: 3,
      degraded: [{ node: "file", skill: "sink", reason: expect.stringContaining("SINK_TOKEN") }],
      error: { code: "skills.missing", node: "file" },
    });
    expect(ended.stderr).toContain("SINK_TOKEN");
    expect(ended.stderr).toContain("next: skillflow resume r");
    const again = await runHere(["resume", "r", "--json"], { cwd, env: ENV });
    expect(again.code).toBe(0);
    expect(resultOf(again)).toMatchObject({ status: "succeeded", degraded: [] });
    expect(readEvents(cwd, "r").filter(({ type }) => type === "approval:asked")).toHaveLength(1);
  });

  it("is degraded if another node did its work", async () => {
    const cwd = projectOf(THEN_TELL, said("seen", "cannot file", "told"));
    await runHere(RUN, { cwd, env: ENV });
    const ended = await runHere(["signal", "r", "ask", "--approve", "--json"], { cwd, env: WITHOUT_TOKEN });
    expect(ended.code).toBe(0);
    expect(resultOf(ended).degraded).toMatchObject([{ node: "file", skill: "sink" }]);
    expect(ended.stderr).toContain("▲ degraded");
  });

  it("continues although the tools are gone that it read and wrote with in one turn", async () => {
    const both = [
      { tool: "desk_look", input: { text: "x" } },
      { tool: "sink_file", input: { title: "one" } },
    ];
    const workflow = ASK_AND_FILE.replace("instruction: Look.", "instruction: Look., skills: [desk, sink]");
    const cwd = projectOf(workflow, { replies: [{ calls: both }, ...said("seen", "cannot file").replies] });
    expect(await runHere(RUN, { cwd, env: ENV })).toMatchObject({ code: 7 });
    const ended = await runHere(["signal", "r", "ask", "--approve", "--json"], { cwd, env: WITHOUT_TOKEN });
    expect(ended.code).toBe(3);
    expect(resultOf(ended).degraded).toMatchObject([{ node: "file", skill: "sink" }]);
  });

  it("prints the options of its start in the next command, without values of config", async () => {
    const cwd = projectOf(ASK_AND_FILE, said("seen"));
    const flags = ["--trust-skill", "sink", "--set", "SINK_TOKEN=a-token-of-the-sink", "--store", "the runs"];
    const waiting = await runHere([...RUN, ...flags], { cwd });
    const again = "--set SINK_TOKEN=VALUE --store 'the runs'";
    expect(waiting.stderr).toContain(`skillflow signal r ask --approve --trust-skill sink ${again}\n`);
    const shown = await runHere(["runs", "show", "r", "--store", "the runs"], { cwd });
    expect(shown.stdout).toContain(`skillflow signal r ask --deny ${again}\n`);
  });

  it("ends with 3 after a crash, if the trust that its code needs is not given again", async () => {
    const again = { replies: [...scriptOf([{ title: "die after" }]).replies, { text: "cannot file" }] };
    const cwd = projectOf(FILE_TWICE, again);
    expect(await runProgram(RUN, { cwd, env: ENV })).toMatchObject({ signal: "SIGKILL" });
    const { SKILLFLOW_TRUST_SKILL: _trust, ...untrusted } = ENV;
    const ended = await runHere(["resume", "r", "--json"], { cwd, env: untrusted });
    expect(ended.code).toBe(3);
    expect(resultOf(ended)).toMatchObject({ status: "failed", error: { code: "skills.missing" } });
    expect(ended.stderr).toMatch(/next: \S*skillflow resume r --trust-skill sink\n/);
    const listed = await runHere(["runs", "list", "--json"], { cwd });
    expect(JSON.parse(listed.stdout).runs[0]).toMatchObject({ exitCode: 3, degraded: resultOf(ended).degraded });
  });
});

const DROPPING = `
id: w
name: W
entry: find
report: { headline: find.headline, cause: find.cause }
nodes:
  find:
    name: Find
    instruction: Find the cause.
    skills: [desk]
    output: { type: object }
    eval:
      - name: shown
        kind: evidence
        rule: { claims: "claims[*]", min_supported: 0 }
        on_unsupported: drop
edges: []
`;
const UNSHOWN = {
  headline: "The database is out of disk",
  cause: "The disk of the database is full",
  claims: [{ claim: "No space is left", evidence: [{ ref: "r1", quote: "no space left on device" }] }],
};

describe("a finding whose claims were all dropped", () => {
  it("is not the headline without a note, and each dropped claim is named with its reason", async () => {
    const answer = { text: JSON.stringify(UNSHOWN) };
    const script = { replies: [{ calls: [{ tool: "desk_look", input: { text: "a" } }] }, answer, answer] };
    const cwd = projectOf(DROPPING, script);
    const reports = ["--report", "html=r.html", "--report", "md=r.md", "--report", "postmortem=p.md"];
    const ended = await runHere([...RUN, "--json", ...reports], { cwd });
    const result = resultOf(ended);
    const dropped = { claim: "No space is left", reason: expect.stringContaining("its quote does not occur in r1") };
    expect(result.evidence).toMatchObject({ claims: 1, supported: 0, dropped: 1, dropped_claims: [dropped] });
    expect(result.degraded).toEqual([{ node: "find", reason: "its claim is not supported by evidence" }]);
    const title = "Cause not shown by evidence: The database is out of disk";
    const [html = "", md = "", postmortem = ""] = ["r.html", "r.md", "p.md"].map((file) =>
      readFileSync(join(cwd, file), "utf8"),
    );
    expect(ended.stderr).toContain("▲ degraded");
    expect(html).toContain(`<h1 dir="auto">${title}</h1>`);
    for (const text of [ended.stderr, md, postmortem]) {
      expect(text).toContain(title);
      expect(text).toContain("not shown by evidence: The disk of the database is full");
      expect(text).toMatch(/No space is left — r1: its quote does not\s+occur in r1/);
    }
  });
});

const BOARD = `
import { defineSkill, defineTool } from "skillflow";
const schema = { type: "object", properties: { text: { type: "string" } }, additionalProperties: false };
export default defineSkill({
  id: "board", name: "Board", description: "reads and posts", category: "general", config: {},
  tools: [
    defineTool({ name: "secrets", description: "reads", effect: "read", reads: "private", input_schema: schema, handler: () => ({ read: true }) }),
    defineTool({ name: "list", description: "lists", effect: "read", input_schema: schema, handler: () => { throw new Error("401: bad credentials"); } }),
    defineTool({ name: "post", description: "posts", effect: "write", audience: "public", input_schema: schema, handler: () => ({ url: "https://board/1" }) }),
  ],
});
`;
const POSTING = `
id: w
name: W
entry: post
nodes:
  post: { name: Post, instruction: Post it., skills: [board] }
  yes: { name: Yes, instruction: Sum up. }
edges:
  - { from: post, to: yes, when: it was posted }
`;

describe("the end of a run in the terminal", () => {
  it("lists queued writes with the reason and the option that allows them, failed calls, and why a route was chosen", async () => {
    const call = (tool: string) => ({ calls: [{ tool: `board_${tool}`, input: { text: "x" } }] });
    const route = { choice: "yes", reasoning: "the post is on the board" };
    const script = {
      replies: [call("secrets"), call("list"), call("post"), { text: "posted" }, route, { text: "ok" }],
    };
    const cwd = makeProject({ "w.yml": POSTING, "s.json": script, "skills/board/skill.ts": BOARD });
    const env = { SKILLFLOW_TRUST_SKILL: "board", USER: "kim" };
    const ended = await runHere([...RUN, "--writes", "allow", "--report", "md=r.md"], { cwd, env });
    expect(ended.code).toBe(0);
    const held = "queued for review: the text comes from a private source and the target is public";
    expect(ended.stderr).toContain(`${held}; --allow-public lets a run write it`);
    expect(ended.stderr).toContain("✗ Post: board_list: 401: bad credentials");
    expect(ended.stderr).toContain("because the post is on the board");
    expect(readFileSync(join(cwd, "r.md"), "utf8")).toContain(held);
    const onScreen = await runHere(["run", "w.yml", "--model", "script:s.json"], { cwd, env, isTerminal: true });
    expect(onScreen.stderr).toContain("because the post is on the board");
    const shown = await runHere(["runs", "show", "r"], { cwd });
    expect(shown.stdout).toContain("because the post is on the board");
  });
});

const HELD_LATER = `
id: w
name: W
entry: read
nodes:
  read: { name: Read, instruction: Read., skills: [vault] }
  ask: { name: Ask, approval: { ask: Post it? } }
  post: { name: Post, instruction: Post it., skills: [board] }
edges: [{ from: read, to: ask }, { from: ask, to: post }]
`;

describe("what a run has read", () => {
  it("stays private even if the run has lost the tool that read it", async () => {
    const call = (tool: string) => ({ calls: [{ tool, input: { text: "x" } }] });
    const script = { replies: [call("vault_secrets"), { text: "seen" }, call("board_post"), { text: "posted" }] };
    const token = 'config: { VAULT_TOKEN: { description: "a token", env: "VAULT_TOKEN", required: true } }';
    const vault = BOARD.replace('id: "board"', 'id: "vault"').replace("config: {}", token);
    const skills = { "skills/board/skill.ts": BOARD, "skills/vault/skill.ts": vault };
    const cwd = makeProject({ "w.yml": HELD_LATER, "s.json": script, ...skills });
    const env = { SKILLFLOW_TRUST_SKILL: "board,vault", USER: "kim" };
    await runHere([...RUN, "--writes", "allow"], { cwd, env: { ...env, VAULT_TOKEN: "a-token-of-the-vault" } });
    const ended = await runHere(["signal", "r", "ask", "--approve", "--json"], { cwd, env });
    expect(resultOf(ended).plan).toMatchObject([{ tool: "post", held: "taint.private_to_public" }]);
  });
});
