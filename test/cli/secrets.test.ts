import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type ChatRequest, startChat } from "../services/chat.ts";
import type { Scripted } from "../services/script.ts";
import { FLOW, isPosting } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { type Ended, makeProject, readEvents, resultOf, runProgram } from "./program.ts";

/** Values that must not appear anywhere except in the requests that they are for. */
const SECRETS = {
  GITHUB_TOKEN: "ghp_canaryA1b2C3d4E5f6G7h8I9j0",
  OPENAI_API_KEY: "sk-canary-Z9y8X7w6V5u4T3s2R1q0",
  DESK_TOKEN: "desk-canary/with+odd=characters&more",
};
const ALL = Object.values(SECRETS).join(" and ");

const spellings = Object.values(SECRETS).flatMap((secret) => [
  secret,
  Buffer.from(secret).toString("base64").replace(/=+$/, ""),
  encodeURIComponent(secret),
  JSON.stringify(secret).slice(1, -1),
]);

function expectClean(text: string, place: string) {
  for (const spelling of spellings) expect(text.includes(spelling), `${place} holds ${spelling}`).toBe(false);
}

function expectCleanFiles(directory: string, place: string): number {
  const names = readdirSync(directory, { recursive: true, encoding: "utf8", withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  for (const { name, parentPath } of names)
    expectClean(readFileSync(join(parentPath, name), "utf8"), `${place}/${name}`);
  return names.length;
}

function expectCleanRun(cwd: string, { stdout, stderr }: Ended) {
  expectClean(stdout, "stdout");
  expectClean(stderr, "stderr");
  expectCleanFiles(join(cwd, ".skillflow"), "the store");
}

/** A model server that echoes everything that it was sent, key included. */
function parrot({ messages }: ChatRequest): Scripted {
  const calls = messages.flatMap((message) => (message.role === "assistant" ? (message.tool_calls ?? []) : []));
  const turns: readonly Scripted[] = [
    {
      text: `I know ${ALL}`,
      calls: [
        { tool: "desk_fail", input: { text: `refused: ${ALL}` } },
        { tool: "desk_config" },
        { tool: "desk_look", input: { text: Buffer.from(ALL).toString("base64") } },
      ],
    },
    { text: `Once more: ${encodeURIComponent(ALL)}` },
  ];
  return turns[calls.length === 0 ? 0 : 1] ?? {};
}

const RUN = ["run", "flow.yml", "--model", "openai-compatible:test", "--run-id", "r"];
const files = {
  "flow.yml": FLOW.replaceAll("[desk]", "[desk, github]"),
  "input.json": { service: `the alert quotes ${ALL}`, nested: { [SECRETS.DESK_TOKEN]: [ALL] } },
};

describe("a secret", () => {
  it.each([["--json"], ["--stream"], ["--verbose"]])(
    "echoed by the model, by a tool's error, by a result and in the input is shown nowhere with %s",
    async (flag) => {
      const cwd = makeProject(files);
      const service = await startChat(parrot);
      const env = { ...SECRETS, OPENAI_BASE_URL: service.url };
      const args = [...RUN, "--input", "@input.json", "--out", "out", flag];
      const ended = await runHere(args, { cwd, env }).finally(service.close);
      expect(ended.code, ended.stderr).toBe(0);
      expectCleanRun(cwd, ended);
      expect(expectCleanFiles(join(cwd, "out"), "--out")).toBe(5);
      const results = readEvents(cwd, "r").filter((event) => event.type === "tool:result");
      expect(results[0]?.error).toMatch(/^refused: \[redacted:\w+\] and \[redacted:\w+\] and \[redacted:\w+\]$/);
      expect(service.bodies.length).toBeGreaterThan(2);
      const replies = service.bodies.map((body) => JSON.stringify(body));
      for (const reply of replies) expectClean(reply, "what the model sees");
    },
  );

  it("that no skill of the run declares is removed all the same", async () => {
    const cwd = makeProject({ ...files, "flow.yml": FLOW });
    const service = await startChat(parrot);
    const env = { ...SECRETS, OPENAI_BASE_URL: service.url };
    const ended = await runProgram([...RUN, "--input", "@input.json"], { cwd, env }).finally(service.close);
    expect(ended.code).toBe(0);
    expectCleanRun(cwd, ended);
  });

  it.concurrent.each(["key", "forbidden", "server"] as const)(
    "quoted by a server that refuses it (%s) is shown nowhere",
    async (fault) => {
      const cwd = makeProject(files);
      const raw = {
        type: "application/json",
        body: JSON.stringify({ error: { message: `bad key ${ALL}`, type: fault } }),
      };
      const service = await startChat((body) =>
        isPosting(body) ? parrot(body) : { raw, headers: { "retry-after": "0" } },
      );
      const env = { ...SECRETS, OPENAI_BASE_URL: service.url };
      const ended = await runHere([...RUN, "--json", "--timeout", "2s"], { cwd, env }).finally(service.close);
      expect(ended.code).not.toBe(0);
      expect(resultOf(ended).status).not.toBe("succeeded");
      expectCleanRun(cwd, ended);
    },
  );

  it.each([
    ["input that is no JSON", ["--input", `{"token": ${SECRETS.GITHUB_TOKEN}}`]],
    ["input of the wrong type", ["-i", `service=${SECRETS.OPENAI_API_KEY}`]],
    [
      "a source that is missing",
      ["--input-sources", "--input", JSON.stringify({ service: "broken", context: [`./${SECRETS.GITHUB_TOKEN}.md`] })],
    ],
    ["a missing input file", ["--input", `@${SECRETS.GITHUB_TOKEN}.json`]],
    ["a model's name", ["--model", SECRETS.OPENAI_API_KEY]],
  ])("in %s is not quoted in the error message", async (_, args) => {
    const flow = FLOW.replace("type: string,", "type: string, enum: [broken],");
    const cwd = makeProject({ "flow.yml": flow });
    const env = { ...SECRETS, OPENAI_BASE_URL: "http://127.0.0.1:1" };
    const ended = await runHere([...RUN, ...args, "--json"], { cwd, env });
    expect(ended.code).toBe(2);
    expect(JSON.parse(ended.stdout)).toMatchObject({ status: "refused" });
    expectClean(ended.stdout + ended.stderr, "the complaint");
    expect(ended.stderr).toMatch(/error/);
  });

  it.each([
    ["run", "--json"],
    ["validate", "--json"],
    ["validate", "--format", "github"],
    ["validate", "--format", "sarif"],
  ])("in a workflow's entry and in the name of its file is not printed by %s %s", async (command, ...flags) => {
    const file = `${SECRETS.GITHUB_TOKEN}.yml`;
    const cwd = makeProject({ [file]: FLOW.replace(/^entry: .*$/m, `entry: ${SECRETS.OPENAI_API_KEY}`) });
    const ended = await runHere([command ?? "", file, ...flags], { cwd, env: SECRETS });
    expect(ended.code).toBe(2);
    expect(decodeURIComponent(ended.stdout)).toContain("redacted:GITHUB_TOKEN");
    expectClean(ended.stdout + ended.stderr, "the output");
  });

  it("is not shown in later output of show and resume", async () => {
    const cwd = makeProject(files);
    const service = await startChat(parrot);
    const env = { ...SECRETS, OPENAI_BASE_URL: service.url };
    await runHere([...RUN, "--input", "@input.json", "--max-steps", "1"], { cwd, env });
    const resumed = await runHere(["resume", "r", "--max-steps", "9", "--json"], { cwd, env }).finally(service.close);
    expect(resumed.code, resumed.stderr).toBe(0);
    expectCleanRun(cwd, resumed);
    for (const args of [
      ["runs", "show", "r"],
      ["runs", "show", "r", "--stream"],
      ["replay", "r", "--json"],
      ["graph", "r"],
    ]) {
      const { code, stdout, stderr } = await runHere(args, { cwd });
      expect(code, args.join(" ")).toBe(0);
      expectClean(stdout + stderr, args.join(" "));
    }
  });

  it("is passed to GitHub Actions so that it masks it, and nowhere else", async () => {
    const cwd = makeProject(files);
    const service = await startChat(parrot);
    const env = { ...SECRETS, OPENAI_BASE_URL: service.url, GITHUB_ACTIONS: "true" };
    const ended = await runHere([...RUN, "--json"], { cwd, env }).finally(service.close);
    const lines = ended.stderr.split("\n");
    const masks = lines.filter((line) => line.startsWith("::add-mask::"));
    expect(masks).toEqual(
      expect.arrayContaining([`::add-mask::${SECRETS.GITHUB_TOKEN}`, `::add-mask::${SECRETS.OPENAI_API_KEY}`]),
    );
    expect(lines.slice(0, masks.length)).toEqual(masks);
    expectClean(lines.slice(masks.length).join("\n"), "what follows");
    expectClean(ended.stdout, "stdout");
  });
});
