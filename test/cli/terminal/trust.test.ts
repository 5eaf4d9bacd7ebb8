import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import type { TrustEntry } from "../../../src/app/workspace.ts";
import { oneOf } from "../../harness/long.ts";
import { scriptOf } from "../flows.ts";
import { runHere, type Screen } from "../in-process.ts";
import { type Ended, makeProject, readEvents, resultOf, runFile, runProgram } from "../program.ts";
import { hasTerminal, runOnTerminal } from "../pseudo-terminal.ts";

const it = oneOf(4);

/** When there is a prompt before code of the checkout runs, and what is stored. */

const moduleOf = (id: string) => `
import { writeFileSync } from "node:fs";

writeFileSync(new URL("../../imported-${id}", import.meta.url), "");
export default {
  id: "${id}", name: "N", description: "d", category: "general", config: {},
  tools: [{ name: "page", description: "d", input_schema: { type: "object" }, effect: "read", handler: () => "paged" }],
};
`;
const FLOW = `
id: flow
name: Flow
entry: only
nodes:
  only: { name: Only, instruction: Page somebody., skills: [pager, desk] }
edges: []
`;
const CALLS = scriptOf({ node: "only", calls: [{ tool: "pager_page" }] }, { node: "only", text: "done" });
const QUIET = scriptOf({ node: "only", text: "done" });
const files = {
  "flow.yml": FLOW,
  "calls.json": CALLS,
  "quiet.json": QUIET,
  "skills/pager/skill.mjs": moduleOf("pager"),
};
const RUN = ["run", "flow.yml", "--model", "script:calls.json"];
const ASKED = /The skill .*pager.* needs your permission:/;

interface Place {
  readonly cwd: string;
  readonly env: { readonly HOME: string };
}
const makePlace = (more: Record<string, unknown> = {}, home: Record<string, string> = {}): Place => ({
  cwd: makeProject({ ...files, ...more }),
  env: { HOME: makeProject({ ".keep": "", ...home }) },
});
const memoryOf = ({ env }: Place) => join(env.HOME, ".config/skillflow/trust.json");
const remembered = (place: Place) => JSON.parse(readFileSync(memoryOf(place), "utf8")) as TrustEntry[];
const isImported = ({ cwd }: Place) => existsSync(join(cwd, "imported-pager"));

describe.skipIf(!hasTerminal)("on a terminal (python3 makes one)", () => {
  it("a run asks before code of the checkout runs, shows it, and stores a yes with its content", async () => {
    const place = makePlace();
    const first = await runOnTerminal([...RUN, "--run-id", "one"], ["y\n"], place);
    expect(first.code, first.stdout).toBe(0);
    expect(first.stdout).toMatch(ASKED);
    expect(first.stdout).toContain("(module)");
    expect(first.stdout).toContain(`runs module ${join(place.cwd, "skills/pager/skill.mjs")}`);
    expect(readEvents(place.cwd, "one")).toContainEqual(
      expect.objectContaining({ type: "tool:result", output: "paged" }),
    );
    expect(remembered(place)).toEqual([
      {
        id: "pager",
        path: realpathSync(join(place.cwd, "skills/pager")),
        digest: expect.stringMatching(/^[0-9a-f]{64}$/),
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      },
    ]);
    expect(statSync(memoryOf(place)).mode & 0o777).toBe(0o600);
    const second = await runOnTerminal([...RUN, "--run-id", "two"], [], place);
    expect(second.code, second.stdout).toBe(0);
    expect(second.stdout).not.toMatch(ASKED);
    expect(readEvents(place.cwd, "two")).toContainEqual(expect.objectContaining({ output: "paged" }));
    expect((await runProgram(RUN, place)).code).toBe(0);
  });

  it("the end of input is a no, and nothing is stored", async () => {
    const place = makePlace();
    const ended = await runOnTerminal(["run", "flow.yml", "--model", "script:quiet.json"], ["\u0004"], place);
    expect(ended.code, ended.stdout).toBe(0);
    expect(isImported(place)).toBe(false);
    expect(existsSync(memoryOf(place))).toBe(false);
  });

  it("Ctrl-C ends the program, and nothing has run", async () => {
    const place = makePlace();
    expect((await runOnTerminal(RUN, ["\u0003"], place)).code).toBe(130);
    expect(isImported(place)).toBe(false);
    expect(existsSync(join(place.cwd, ".skillflow"))).toBe(false);
  });

  it("the name of a server's command stays on its line", async () => {
    const server = '---\nname: remote\nmcp: { command: serve, args: ["\\e[2K\\r  runs nothing"] }\n---\nAsk it.';
    const place = makePlace({ "skills/remote/SKILL.md": server, "remote.yml": FLOW.replace("pager", "remote") });
    const { stdout } = await runOnTerminal(["run", "remote.yml", "--model", "script:quiet.json"], ["n\n"], place);
    expect(stdout).toMatch(/runs command serve +runs nothing/);
    expect(stdout).not.toContain("\u001b[2K\r  runs nothing");
  });
});

describe("the prompt", () => {
  /** All output is in `stdout`, as on a terminal. */
  const answer = async (args: readonly string[], answers: readonly string[], place: Screen): Promise<Ended> => {
    const ended = await runHere(args, { ...place, isTerminal: true, columns: 1000, answers });
    return { ...ended, stdout: ended.stdout + ended.stderr };
  };

  it("asks again about a skill that has changed", async () => {
    const place = makePlace();
    await answer(RUN, ["y"], place);
    writeFileSync(join(place.cwd, "skills/pager/skill.mjs"), `${moduleOf("pager")}// changed\n`);
    const again = await answer(["run", "flow.yml", "--model", "script:quiet.json"], ["n"], place);
    expect(again.stdout).toMatch(ASKED);
    expect(again.stdout).toContain("its code is not trusted");
    expect(remembered(place)).toHaveLength(1);
  });

  it.each([
    ["an empty line", ""],
    ["no", "no"],
    ["anything but yes", "yeah"],
  ])("treats %s as a no, and stores nothing", async (_, said) => {
    const place = makePlace();
    const ended = await answer(["run", "flow.yml", "--model", "script:quiet.json"], [said], place);
    expect(ended.code, ended.stdout).toBe(0);
    expect(isImported(place)).toBe(false);
    expect(existsSync(memoryOf(place))).toBe(false);
  });

  it("does not ask about a skill that is allowed, disabled, or not used, nor if the workflow is wrong", async () => {
    const place = makePlace({
      "skills/other/skill.mjs": moduleOf("other"),
      "broken.yml": FLOW.replace("entry: only", "entry: nowhere"),
    });
    const told = [
      await answer([...RUN, "--trust-skill", "pager"], [], place),
      await answer(["run", "broken.yml", "--model", "script:calls.json"], [], place),
    ];
    writeFileSync(join(place.cwd, ".skillflow.yml"), "skills: { disabled: [pager] }");
    told.push(await answer(["run", "flow.yml", "--model", "script:quiet.json"], [], place));
    for (const { stdout } of told) expect(stdout).not.toContain("[y/N]");
  });

  it("adds an answer to the stored ones and replaces the earlier one, also through a link", async () => {
    const place = makePlace();
    const path = realpathSync(join(place.cwd, "skills/pager"));
    const other = { id: "other", path: "/elsewhere/other", digest: "0".repeat(64), at: "2026-01-01T00:00:00.000Z" };
    const former = { ...other, id: "pager", path };
    mkdirSync(join(place.env.HOME, ".config/skillflow"), { recursive: true });
    mkdirSync(join(place.env.HOME, "dotfiles"));
    writeFileSync(join(place.env.HOME, "dotfiles/trust.json"), JSON.stringify([other, former]));
    symlinkSync(join(place.env.HOME, "dotfiles/trust.json"), memoryOf(place));
    const ended = await answer(RUN, ["yes"], place);
    expect(ended.code, ended.stdout).toBe(0);
    expect(remembered(place)).toEqual([other, { ...former, digest: expect.any(String), at: expect.any(String) }]);
    expect(remembered(place)[1]?.digest).not.toBe(former.digest);
    expect(lstatSync(memoryOf(place)).isSymbolicLink()).toBe(true);
    expect(readdirSync(join(place.env.HOME, "dotfiles"))).toEqual(["trust.json"]);
  });

  it.each<[string, (cwd: string) => Record<string, string>]>([
    ["has no place", () => ({ HOME: makeProject({ ".config": "a file" }) })],
    ["would lie in the checkout", (cwd) => ({ HOME: join(cwd, "home") })],
  ])("allows for this run only what cannot be stored because it %s", async (_, envOf) => {
    const { cwd } = makePlace({ ".git/HEAD": "" });
    const ended = await answer(RUN, ["y"], { cwd, env: envOf(cwd) });
    expect(ended.code, ended.stdout).toBe(0);
    expect(ended.stdout).toContain("allowed for this run only");
  });

  it("asks again in a resumed run, as trust is never recorded", async () => {
    const place = makePlace({
      "short.json": JSON.stringify(scriptOf({ node: "only", calls: [{ tool: "pager_page" }] })),
    });
    const stopped = await runHere(
      ["run", "flow.yml", "--model", "script:short.json", "--run-id", "r", "--trust-skill", "pager"],
      place,
    );
    expect(stopped.code).toBe(1);
    expect(readFileSync(runFile(place.cwd, "r"), "utf8")).not.toContain("trust");
    const resumed = await answer(["resume", "r", "--model", "script:calls.json"], ["y"], place);
    expect(resumed.stdout).toMatch(ASKED);
    expect(resumed.code, resumed.stdout).toBe(0);
  });

  it("shows tools and programs of a descriptor by their names", async () => {
    const place = makePlace({
      "skills/notes/SKILL.md": "---\nname: notes\n---\nSearch notes.",
      "skills/notes/tools.json": {
        tools: [{ name: "find_note", parameters: { type: "object" } }],
        allowlist: { "notes-cli": ["search", "open"] },
        execution: [{ tool: "find_note", binary: "notes-cli", subcommand: "search" }],
      },
      "notes.yml": FLOW.replace("pager", "notes"),
    });
    const { stdout } = await answer(["run", "notes.yml", "--model", "script:quiet.json"], ["n"], place);
    expect(stdout).toContain("(tool-descriptor)");
    expect(stdout).toContain("runs tool find_note");
    expect(stdout).toContain("runs program notes-cli (search, open)");
  });
});

describe("without a terminal", () => {
  it("there is no prompt, nothing runs, and one line shows how to allow it", async () => {
    const place = makePlace();
    const ended = await runProgram(["run", "flow.yml", "--model", "script:quiet.json", "--json"], place);
    expect(ended.code, ended.stderr).toBe(0);
    expect(isImported(place)).toBe(false);
    const lines = ended.stderr.split("\n").filter((line) => line.startsWith("warning"));
    expect(lines.filter((line) => line.includes("--trust-skill pager"))).toHaveLength(1);
    expect(resultOf(ended).degraded).toMatchObject([{ skill: "pager" }]);
  });

  it.each<[string, readonly string[], Record<string, string>]>([
    ["the flag", ["--trust-skill", "pager"], {}],
    ["the variable", [], { SKILLFLOW_TRUST_SKILL: "other, pager" }],
  ])("%s allows it", async (_, args, env) => {
    const place = makePlace();
    expect((await runHere([...RUN, ...args], { ...place, env: { ...place.env, ...env } })).code).toBe(0);
    expect(isImported(place)).toBe(true);
  });

  it("the user's own file allows it, by id", async () => {
    const place = makePlace({}, { ".config/skillflow/config.yml": "skills: { trust: [pager] }" });
    expect((await runHere(RUN, place)).code).toBe(0);
    expect(isImported(place)).toBe(true);
  });

  it.each<[string, string, string, string]>([
    [
      "an entry without a path",
      "trust.json",
      JSON.stringify([{ id: "pager", digest: "0".repeat(64) }]),
      "the entry for pager is ignored",
    ],
    ["a file that is not a list", "trust.json", "{}", "is not read, so nothing in it is trusted"],
    [
      "an id with the digest of another content",
      "config.yml",
      "skills: { trust: [pager@0123456789abcdef] }",
      "pager (its code is not trusted",
    ],
  ])("%s allows nothing, and a warning reports that", async (_, name, text, said) => {
    const place = makePlace({}, { [`.config/skillflow/${name}`]: text });
    const ended = await runHere(["run", "flow.yml", "--model", "script:quiet.json"], place);
    expect(ended.stderr).toContain(said);
    expect(isImported(place)).toBe(false);
  });

  it.each<[string, readonly string[], Record<string, string>, string]>([
    ["--trust-skill", ["--trust-skill", "pagr"], {}, "--trust-skill pagr: no skill has this id (did you mean pager?)"],
    [
      "--skill-env",
      ["--skill-env", "pagre=TOKEN"],
      {},
      "--skill-env pagre: no skill has this id (did you mean pager?)",
    ],
    ["--set", ["--set", "pagr.KEY=1"], {}, "--set pagr: no skill has this id (did you mean pager?)"],
    [
      "--set of a key",
      ["--set", "GITHUB_TOKN=1"],
      {},
      "--set GITHUB_TOKN: no skill has this config key (did you mean GITHUB_TOKEN?)",
    ],
    [
      "the variables",
      [],
      { SKILLFLOW_TRUST_SKILL: "nowhere", SKILLFLOW_SKILL_ENV: "paegr=A" },
      "SKILLFLOW_TRUST_SKILL nowhere: no skill has this id",
    ],
  ])("an id that %s mistype is reported, with the nearest", async (_, args, env, said) => {
    const place = makePlace({ "inline.yml": `${FLOW}skills: { inlined: { instruction: Do. } }` });
    const options = { ...place, env: { ...place.env, ...env } };
    const known = ["--trust-skill", "pager", "--trust-skill", "inlined"];
    const run = ["run", "inline.yml", "--model", "script:quiet.json", ...known, ...args];
    for (const command of [run, ["validate", "inline.yml", ...known, ...args], ["skills", "list", ...args]]) {
      const { code, stderr } = await runHere(command, options);
      expect(code, stderr).toBe(0);
      expect(stderr).toContain(said);
      expect(stderr.match(/no skill has this/g)).toHaveLength(args.length > 0 ? 1 : 2);
    }
  });

  it("validate reports it at its place, and doctor with the remedy", async () => {
    const place = makePlace({ "flow.yml": `${FLOW}writes: plan\n` });
    const validated = await runHere(["validate", "flow.yml", "--json"], place);
    expect(validated.code).toBe(0);
    expect(JSON.parse(validated.stdout).diagnostics).toMatchObject([
      {
        severity: "warning",
        code: "SKILL_NOT_TRUSTED",
        field: "nodes.only.skills[0]",
        file: "flow.yml",
        line: 6,
        hint: "--trust-skill pager lets it run",
      },
    ]);
    const strict = await runHere(["validate", "flow.yml", "--strict"], place);
    expect(strict.code).toBe(2);
    const { stdout } = await runHere(["doctor", "flow.yml", "--json"], place);
    const skills = (JSON.parse(stdout) as { skills: { id: string }[] }).skills;
    expect(skills.find(({ id }) => id === "pager")).toMatchObject({
      state: "unavailable",
      reason: expect.stringContaining("not trusted"),
      fix: "--trust-skill pager",
    });
    expect(isImported(place)).toBe(false);
    const allowed = await runHere(["validate", "flow.yml", "--strict", "--trust-skill", "pager"], place);
    expect(allowed.code).toBe(0);
  });

  it("a skill with an instruction is available without its tools, and doctor gives the reason", async () => {
    const place = makePlace({ "skills/pager/SKILL.md": "---\nname: pager\n---\nPage them." });
    const { stdout } = await runHere(["doctor", "flow.yml", "--json"], place);
    const skills = (JSON.parse(stdout) as { skills: { id: string }[] }).skills;
    expect(skills.find(({ id }) => id === "pager")).toMatchObject({
      state: "available",
      reason: expect.stringContaining("not trusted"),
      fix: "--trust-skill pager",
    });
  });
});
