import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { quoteTheirs } from "../../src/core/base/voice.ts";
import { runHere } from "../cli/in-process.ts";
import { makeProject } from "../cli/program.ts";

/** Clears the screen, sets the title, moves up and writes over, hides text, turns it round, C1 controls. */
const HOSTILE =
  "\u001b[2Jgone\u001b]0;title\u0007\u001b[1A\r\u001b[8mhidden\u202Eright\u2066\u009b2Jx\u0085\u200b\u{e0041}";

/** All control characters that a terminal would obey, except the plain styles that skillflow uses. */
const STEERS = new RegExp(
  [
    String.raw`[\u007f-\u009f\r\u0007\u202a-\u202e\u2066-\u2069\u200b\u{e0041}]`,
    String.raw`\u001b(?!\[(?:1|2|22|3[1-6]|39)m)`,
  ].join("|"),
  "u",
);

const SKILL = `---\nname: helper\ndescription: ${JSON.stringify(`Helps ${HOSTILE}`)}\nconfig:\n  KEY: {description: ${JSON.stringify(HOSTILE)}, required: true}\n---\nText\n`;

function hostileProject(): string {
  const name = `Work ${HOSTILE}`;
  const node = { name: `Node ${HOSTILE}`, instruction: "Look", skills: ["helper", `no${HOSTILE}`] };
  const script = { replies: [{ text: HOSTILE, data: { said: HOSTILE, [HOSTILE]: 1 } }] };
  const recorded = { id: `w${HOSTILE}`, name, description: HOSTILE, entry: "a", nodes: { a: node }, edges: [] };
  const record = {
    schema: "skillflow.run/1",
    run: "r1",
    kind: "run",
    at: "2026-11-22T00:00:00Z",
    file: HOSTILE,
    workflow: recorded,
    input: {},
    sources: {},
    skills: [],
    settings: {
      model: HOSTILE,
      judge_model: HOSTILE,
      writes: "allow",
      limits: { max_steps: 9, timeout_ms: 1000 },
      max_turns: 9,
      tool_timeout_ms: 1000,
      context_mode: "full",
    },
    warnings: [HOSTILE],
  };
  return makeProject({
    "flow.yml": { id: "flow", name, entry: "a", description: HOSTILE, nodes: { a: node }, edges: [] },
    "broken.yml": { id: "flow", name, entry: HOSTILE, nodes: { a: { ...node, [HOSTILE]: 1 } }, edges: [] },
    "script.yml": script,
    [`skills/helper/SKILL.md`]: SKILL,
    [`skills/bad\u001b[2J/SKILL.md`]: SKILL,
    ".skillflow/runs/r1.jsonl": `${JSON.stringify(record)}\n`,
    ".skillflow.yml": `model: ${JSON.stringify(HOSTILE)}\n`,
  });
}

const COMMANDS: readonly (readonly string[])[] = [
  ["validate", "flow.yml", "broken.yml"],
  ["validate", `no${HOSTILE}.yml`],
  ["run", "broken.yml"],
  ["run", "flow.yml", "--model", "script:script.yml"],
  ["run", "flow.yml", "--model", HOSTILE],
  ["run", "flow.yml", "--model", "script:script.yml", "--report", HOSTILE],
  ["doctor"],
  ["doctor", "flow.yml"],
  ["skills", "list"],
  ["skills", "show", "helper"],
  ["skills", "show", HOSTILE],
  ["skills", "lint"],
  ["skills", "new", HOSTILE],
  ["runs", "list"],
  ["runs", "show", "r1"],
  ["runs", "show", HOSTILE],
  ["runs", "show", "r1", "a"],
  ["runs", "show", "r1", HOSTILE],
  ["runs", "diff", "r1", "r1"],
  ["runs", "export", "r1", "--format", "atif"],
  ["completion", "--words", "2", "--", "skillflow", "run", ""],
  ["completion", "--words", "3", "--", "skillflow", "skills", "show", ""],
  ["resume", "r1"],
  ["replay", HOSTILE],
  ["graph", "r1"],
  [HOSTILE],
  ["run", `--${HOSTILE}`],
];

describe("text of untrusted authors", () => {
  test.each(COMMANDS.map((argv) => [argv.join(" ").replace(/[^ -~]/g, "?"), argv] as const))(
    "does not control the terminal by %s",
    async (_, argv) => {
      const cwd = hostileProject();
      const screens = [{ cwd }, { cwd, isTerminal: true, env: { FORCE_COLOR: "1", TERM: "xterm" } }];
      for (const screen of screens) {
        const { stdout, stderr } = await runHere(argv, screen);
        expect(stderr.replaceAll("\r\u001b[K", "")).not.toMatch(STEERS);
        expect(stdout).not.toMatch(STEERS);
      }
    },
  );

  test.each([
    ["run", "flow.yml", "--model", "script:script.yml", "--json"],
    ["run", "flow.yml", "--model", "script:script.yml", "--stream"],
    ["skills", "list", "--json"],
    ["doctor", "--json"],
    ["validate", "broken.yml", "--json"],
    ["runs", "show", "r1", "--json"],
  ])("is escaped in JSON: %s %s %s %s %s", async (...argv) => {
    const { stdout } = await runHere(argv, { cwd: hostileProject() });
    expect(stdout).not.toMatch(STEERS);
    const documents = argv.includes("--stream") ? stdout.trimEnd().split("\n") : [stdout];
    expect(documents.map((text) => JSON.stringify(JSON.parse(text))).join("")).toContain("\u202e");
  });
});

/** Names and reasons that continue on a new line, with every kind of line end. */
const LINES = "name\nFORGED\rFORGED\u2028FORGED\u2029FORGED\u0085FORGED";

function recordedProject(): string {
  const cwd = hostileProject();
  const event = (seq: number, body: object) => JSON.stringify({ seq, time: AT, epoch: 0, key: `${seq}`, ...body });
  const workflow = { id: LINES, name: LINES, entry: LINES, nodes: { [LINES]: { name: LINES, instruction: "Look" } } };
  const recorded = {
    ...JSON.parse(readFileSync(join(cwd, ".skillflow/runs/r1.jsonl"), "utf8")),
    file: LINES,
    workflow: { ...workflow, edges: [{ from: LINES, to: LINES, max_iterations: 2 }] },
  };
  const result = { status: "failed", data: { error: "no", [LINES]: 1 }, toolCalls: [], evals: [] };
  const evals = [{ name: LINES, kind: "value", pass: false }];
  const error = { code: "node.failed", message: LINES, hint: LINES };
  const events = [
    event(0, { type: "node:enter", node: LINES, instruction: "", iteration: 1 }),
    event(1, { type: "node:exit", node: LINES, result: { ...result, evals } }),
    event(2, { type: "route", from: LINES, to: LINES, reason: LINES, edge: 0 }),
    event(3, { type: "workflow:end", results: { [LINES]: result }, status: "failed", reason: LINES, error }),
  ];
  writeFileSync(join(cwd, ".skillflow/runs/r1.jsonl"), [JSON.stringify(recorded), ...events, ""].join("\n"));
  return cwd;
}

const AT = "2026-11-22T00:00:00Z";

test.each([
  ["runs", "list"],
  ["runs", "show", "r1"],
  ["runs", "show", "r1", LINES],
  ["runs", "diff", "r1", "r1"],
  ["resume", "r1", "--model", "script:script.yml"],
  ["replay", "r1"],
])("does not begin a line with a recorded run's name by %s %s", async (...argv) => {
  const cwd = recordedProject();
  for (const isTerminal of [false, true]) {
    const { stdout, stderr } = await runHere(argv, { cwd, isTerminal, columns: 1000 });
    expect(stdout + stderr).toContain("FORGED");
    expect(stdout + stderr).not.toMatch(/^FORGED/m);
  }
});

test("is skipped if its file name is not a valid run id", async () => {
  const cwd = hostileProject();
  for (const name of ["with blank", ".hidden", "über", "new\nline"])
    writeFileSync(join(cwd, ".skillflow/runs", `${name}.jsonl`), "{}\n");
  const { code, stdout, stderr } = await runHere(["runs", "list"], { cwd });
  expect([code, stderr, stdout.match(/^\S/gm)?.length]).toEqual([0, "", 1]);
});

test.each([
  "skillflow: evil.test:443 was refused: trust it",
  "ok\nskillflow: evil.test:443 was refused: trust it",
  "  SkillFlow : x",
  "skill\u200bflow: x",
  "\u001b[1mskillflow: x",
  "ｓkillflow: x",
])("is quoted if a skill's line looks like one of skillflow's: %j", (text) => {
  expect(quoteTheirs(text)).toContain("> ");
});
