import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RunRecord } from "../../src/core/engine/event/record.ts";
import type { Loopback } from "../../src/testing.ts";
import { scriptOf } from "../cli/flows.ts";
import { runHere } from "../cli/in-process.ts";
import { forgedRecord, makeProject, readEvents, runFile } from "../cli/program.ts";
import { httpServer } from "../services/mcp.ts";

/**
 * A checkout brings a recorded run with arbitrary content. Only what is installed and trusted now decides what runs.
 */

const MODEL = ["--model", "script:script.json"];
const flow = (skill: string, rest: object = {}) => ({
  id: "flow",
  name: "Flow",
  entry: "only",
  nodes: { only: { name: "Only", instruction: "Do it.", skills: [skill] } },
  edges: [],
  ...rest,
});
const script = (tool: string) => {
  const once = [
    { node: "only", calls: [{ tool, input: {} }] },
    { node: "only", text: "done" },
  ];
  return scriptOf(...once, ...once, ...once);
};

/** Rewrites the first line of a run's file. */
function forge(cwd: string, change: (record: RunRecord) => object): void {
  const [head = "", ...events] = readFileSync(runFile(cwd, "r"), "utf8").split("\n");
  const forged = { ...JSON.parse(head), ...change(JSON.parse(head)) };
  writeFileSync(runFile(cwd, "r"), forgedRecord([JSON.stringify(forged), ...events].join("\n")));
}

/** The pinned skill that the refusal suggests to trust. */
const pinnedIn = (stderr: string) =>
  /--trust-skill\s+(\S+@[0-9a-f]{64})/.exec(stderr)?.[1] ?? `nothing is pinned in ${stderr}`;

const resultsOf = (cwd: string, run: string) =>
  readEvents(cwd, run).flatMap((event) => (event.type === "tool:result" ? [event.error ?? event.output] : []));

describe("a tool that writes", () => {
  const PAGER = `
import { appendFileSync } from "node:fs";
const page = { name: "page", description: "d", effect: "write", input_schema: { type: "object" },
  handler: (_, { workDir }) => appendFileSync(workDir + "/paged", "x") };
export default { id: "pager", name: "Pager", description: "d", category: "general", config: {}, tools: [page] };
`;
  const recorded = async () => {
    const cwd = makeProject({
      ".git/HEAD": "",
      "flow.yml": flow("pager"),
      "script.json": script("pager_page"),
      "skills/pager/skill.mjs": PAGER,
    });
    const ran = await runHere(["run", "flow.yml", "--run-id", "r", ...MODEL, "--trust-skill", "pager"], { cwd });
    expect(ran.code, ran.stderr).toBe(0);
    rmSync(join(cwd, "paged"));
    const asRead = (record: RunRecord) =>
      record.skills.map((skill) => ({
        ...skill,
        tools: skill.tools.map((tool) => ({ ...tool, effect: "read", idempotent: true })),
      }));
    forge(cwd, (record) => ({ skills: asRead(record) }));
    return cwd;
  };
  const denying = { HOME: makeProject({ ".config/skillflow/config.yml": { writes: "deny" } }) };

  it.each<[string, readonly string[]]>([
    ["goes on", ["resume", "r", "--from", "only", ...MODEL]],
    ["is carried out again", ["replay", "r", "--tools", "live", "--run-id", "again"]],
  ])("still counts as a write if a recording that %s calls it a read", async (_, args) => {
    const cwd = await recorded();
    rmSync(join(cwd, "flow.yml"));
    const ended = await runHere([...args, "--trust-skill", "pager"], { cwd, env: denying });
    expect(existsSync(join(cwd, "paged")), ended.stderr).toBe(false);
  });
});

describe("a server that was trusted when the run began", () => {
  let http: Loopback;
  beforeAll(async () => {
    http = await httpServer({});
  });
  afterAll(() => http.close());

  it("is hidden from the model of a run that resumes without that trust, and this is reported", async () => {
    const cwd = makeProject({
      ".git/HEAD": "",
      "flow.yml": flow("served", { skills: { served: { instruction: "Ask.", mcp: { url: `${http.url}/mcp` } } } }),
      "script.json": script("served_look"),
    });
    const ran = await runHere(["run", "flow.yml", "--run-id", "r", ...MODEL, "--trust-skill", "served"], { cwd });
    expect(ran.code, ran.stderr).toBe(0);
    const asked = http.requests.length;
    const resumed = await runHere(["resume", "r", "--from", "only"], { cwd });
    expect(resumed.stderr).toContain("served has lost served_look since the run started: its server is not trusted");
    expect(resultsOf(cwd, "r")).toEqual(["seen", "no tool is named served_look; no tools are available"]);
    expect(http.requests.slice(asked)).toEqual([]);
    const again = await runHere(["resume", "r", "--from", "only", "--trust-skill", pinnedIn(resumed.stderr)], { cwd });
    expect(again.stderr).not.toContain("has lost");
    expect(resultsOf(cwd, "r").at(-1)).toBe("seen");
  });

  it("stays out of a run that started without that trust, and a new run is advised", async () => {
    const cwd = makeProject({
      ".git/HEAD": "",
      "flow.yml": flow("served", { skills: { served: { instruction: "Ask.", mcp: { url: `${http.url}/mcp` } } } }),
      "script.json": script("served_look"),
    });
    const asked = http.requests.length;
    await runHere(["run", "flow.yml", "--run-id", "r", ...MODEL], { cwd });
    const resumed = await runHere(["resume", "r", "--from", "only", "--trust-skill", "served"], { cwd });
    expect(resumed.stderr).toMatch(
      /^served is offered in part, as when the run started: start a new run to use the rest \(.*served@[0-9a-f]{64}/m,
    );
    expect(resultsOf(cwd, "r").at(-1)).toContain("no tool is named served_look");
    expect(http.requests.slice(asked)).toEqual([]);
  });

  it("is not contacted because a recording places the workflow in the user's own folder", async () => {
    const mine = flow("served", { skills: { served: { mcp: { url: `${http.url}/mcp` } } } });
    const HOME = makeProject({ ".skillflow/flow.yml": mine });
    const cwd = makeProject({ ".git/HEAD": "", "script.json": script("served_look") });
    const file = join(HOME, ".skillflow/flow.yml");
    const ran = await runHere(["run", file, "--run-id", "r", ...MODEL], { cwd, env: { HOME } });
    expect(resultsOf(cwd, "r"), ran.stderr).toEqual(["seen"]);
    const asked = http.requests.length;
    const refused = await runHere(["replay", "r", "--tools", "live", "--run-id", "again"], { cwd, env: { HOME } });
    expect(http.requests.slice(asked)).toEqual([]);
    const pinned = pinnedIn(refused.stderr);
    const trusted = ["replay", "r", "--tools", "live", "--run-id", "trusted", "--trust-skill", pinned];
    await runHere(trusted, { cwd, env: { HOME } });
    expect(resultsOf(cwd, "trusted")).toEqual(["seen"]);
  });
});

describe("a file that a recording names", () => {
  const SECRET = "q7Zk2vN0xT4bLw9s";
  const FORMS: Readonly<Record<string, string>> = {
    passwd: `root:x:0:${SECRET}:/root\n[default]\nkey = ${SECRET}: x: {\n`,
    alias: `*${SECRET}\n`,
    map: `${SECRET}: ${SECRET}\n`,
    workflow: `id: ${SECRET}!\nname: N\nentry: ${SECRET}\nnodes: { a: { name: A, instruction: Go, ${SECRET}: 1 } }\nedges: []\n`,
  };
  const plain = { id: "flow", name: "Flow", entry: "only", nodes: { only: { name: "Only", instruction: "Go." } } };

  it.each<[string, (file: string) => (record: RunRecord) => object, readonly string[]]>([
    ["its workflow", (file) => () => ({ file }), ["replay", "r", "--run-id", "again"]],
    [
      "its script",
      (file) =>
        ({ settings }) => ({ settings: { ...settings, model: `script:${file}` } }),
      ["resume", "r", "--from", "only"],
    ],
    [
      "its recording",
      (file) =>
        ({ settings }) => ({ settings: { ...settings, model: `replay:${file}` } }),
      ["resume", "r", "--from", "only"],
    ],
  ])("as %s is not quoted, whatever it holds", async (_, change, args) => {
    const HOME = makeProject(FORMS);
    for (const name of Object.keys(FORMS)) {
      const cwd = makeProject({
        ".git/HEAD": "",
        "flow.yml": { ...plain, edges: [] },
        "script.json": scriptOf({ text: "done" }),
      });
      await runHere(["run", "flow.yml", "--run-id", "r", ...MODEL], { cwd });
      forge(cwd, change(join(HOME, name)));
      const ended = await runHere(args, { cwd });
      expect([name, ended.code], ended.stderr).toEqual([name, expect.toBeOneOf([1, 2])]);
      expect(ended.stdout + ended.stderr).not.toContain(SECRET);
    }
  });
});
