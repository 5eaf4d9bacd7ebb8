import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { scriptOf } from "../cli/flows.ts";
import { runHere } from "../cli/in-process.ts";
import { forgedRecord, makeProject, readEvents, runFile } from "../cli/program.ts";
import { ENV, plannedRun, SINK } from "../cli/sink.ts";
import { stdioServer } from "../services/mcp.ts";

/** A server that arrives with a record starts only if the operator names its digest, never because of a bare skill id. */

const MODEL = ["--model", "script:script.json"];
const PINNED = /--trust-skill (served@[0-9a-f]{64})/;

function project(files: Readonly<Record<string, unknown>> = {}) {
  const cwd = makeProject({ ".git/HEAD": "", ...files });
  const notes = join(cwd, "notes");
  const server = stdioServer({ start: (_params, io) => io.note("started") }, notes);
  return { cwd, notes, server, started: () => existsSync(notes) };
}

type Recorded = { workflow: { skills?: object; nodes: Record<string, { skills?: string[] }> } & object } & Record<
  string,
  unknown
>;

function forge(cwd: string, change: (record: Recorded) => void): void {
  const [head = "", ...events] = readFileSync(runFile(cwd, "r"), "utf8").split("\n");
  const record = JSON.parse(head) as Recorded;
  change(record);
  writeFileSync(runFile(cwd, "r"), forgedRecord([JSON.stringify(record), ...events].join("\n")));
}

describe("a server of a recorded workflow", () => {
  const recorded = async () => {
    const { cwd, notes, server, started } = project({ "script.json": served() });
    const flow = {
      id: "flow",
      name: "Flow",
      entry: "only",
      skills: { served: { instruction: "Ask.", mcp: server } },
      nodes: { only: { name: "Only", instruction: "Look.", skills: ["served"] } },
      edges: [],
    };
    writeFileSync(join(cwd, "flow.yml"), JSON.stringify(flow));
    const ran = await runHere(["run", "flow.yml", "--run-id", "r", ...MODEL, "--trust-skill", "served"], { cwd });
    expect([ran.code, started()], ran.stderr).toEqual([0, true]);
    rmSync(notes);
    return { cwd, started };
  };
  const served = () => {
    const turns = [
      { node: "only", calls: [{ tool: "served_look", input: {} }] },
      { node: "only", text: "done" },
    ];
    return scriptOf(...turns, ...turns, ...turns);
  };
  const RESUME = ["resume", "r", "--from", "only"];
  const REPLAY = ["replay", "r", "--tools", "live"];

  it.each<[string, readonly string[], object]>([
    ["the flag, resumed", [...RESUME, "--trust-skill", "served"], {}],
    ["the variable, resumed", RESUME, { SKILLFLOW_TRUST_SKILL: "served" }],
    ["the flag, replayed", [...REPLAY, "--trust-skill", "served"], {}],
    ["the digest of another server", [...RESUME, "--trust-skill", `served@${"0".repeat(64)}`], {}],
    ["the digest under another id", [...RESUME, "--trust-skill", `other@${"0".repeat(64)}`], {}],
  ])("is not started because of a bare id: %s", async (_, args, env) => {
    const { cwd, started } = await recorded();
    const ended = await runHere(args, { cwd, env: env as Record<string, string> });
    expect(started(), ended.stderr).toBe(false);
  });

  it("is started if its digest is named, as the refusal prints it", async () => {
    const { cwd, started } = await recorded();
    const refused = await runHere([...RESUME, "--trust-skill", "served"], { cwd });
    const pinned = PINNED.exec(refused.stderr.replace(/\s+/g, " "))?.[1] ?? "";
    expect(pinned, refused.stderr).not.toBe("");
    const resumed = await runHere([...RESUME, "--trust-skill", pinned], { cwd });
    expect([resumed.code, started()], resumed.stderr).toEqual([0, true]);
    const results = readEvents(cwd, "r").flatMap((event) => (event.type === "tool:result" ? [event.output] : []));
    expect(results.at(-1)).toBe("seen");
    forge(cwd, ({ workflow }) => {
      workflow.skills = { served: { mcp: { command: "touch", args: [join(cwd, "other")] } } };
    });
    await runHere([...RESUME, "--trust-skill", pinned], { cwd });
    expect(existsSync(join(cwd, "other"))).toBe(false);
  });
});

describe("a plan between two jobs", () => {
  const shadow = (cwd: string) => (record: Recorded) => {
    record.workflow.skills = { sink: { mcp: { command: "touch", args: [join(cwd, "shadowed")] } } };
  };

  it("is applied by the installed skill, whatever server the record names for its id", async () => {
    const { cwd, apply, written } = await plannedRun({ title: "one" });
    forge(cwd, shadow(cwd));
    const { code, stderr } = await apply("--yes");
    expect([code, written().length, existsSync(join(cwd, "shadowed"))], stderr).toEqual([0, 1, false]);
  });

  it("has another digest if the record names another server for the skill of an operation", async () => {
    const { cwd, apply, written } = await plannedRun({ title: "one" });
    const digestOf = async () => {
      const shown = await runHere(["apply", "r", "--report", "md=plan.md"], { cwd, env: ENV });
      expect(shown.code, shown.stderr).toBe(0);
      return /--plan-digest ([0-9a-f]{64})/.exec(readFileSync(join(cwd, "plan.md"), "utf8"))?.[1] ?? "";
    };
    const planned = await digestOf();
    forge(cwd, shadow(cwd));
    expect(await digestOf()).not.toBe(planned);
    const refused = await apply("--yes", "--plan-digest", planned);
    expect([refused.code, written().length, existsSync(join(cwd, "shadowed"))]).toEqual([2, 0, false]);
    const [operation] = (await apply("--yes", "--plan-digest", await digestOf())).told.operations;
    expect(operation?.status).toBe("applied");
  });
});

describe("documents of a commit", () => {
  const git = (cwd: string, ...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...args], { cwd, encoding: "utf8" }).trim();

  it("that only a record names are trusted by no bare id", async () => {
    const { cwd, apply, written } = await plannedRun({ title: "one" });
    git(cwd, "init", "-q", "-b", "main");
    git(cwd, "add", "w.yml", "s.json", "skills");
    git(cwd, "commit", "-qm", "base");
    git(cwd, "checkout", "-q", "-b", "head");
    const evil = `import { writeFileSync } from "node:fs";\nwriteFileSync(${JSON.stringify(join(cwd, "head"))}, "");\n`;
    writeFileSync(join(cwd, "skills/sink/skill.ts"), evil + SINK);
    git(cwd, "commit", "-qam", "head");
    const head = git(cwd, "rev-parse", "HEAD");
    git(cwd, "checkout", "-q", "main");
    forge(cwd, (record) => {
      record.commit = head;
    });
    const refused = await apply("--yes");
    expect([refused.code, written(), existsSync(join(cwd, "head"))], refused.stderr).toEqual([3, [], false]);
    expect(refused.stderr).toMatch(/--trust-skill sink@[0-9a-f]{64}/);
    const named = await apply("--yes", "--from-ref", "head");
    expect([named.code, existsSync(join(cwd, "head"))], named.stderr).toEqual([0, true]);
  });

  it("start no file of the checkout that differs from the commit's, because of a bare id", async () => {
    const { cwd, notes, server, started } = project({ "script.json": scriptOf({ node: "only", text: "done" }) });
    rmSync(join(cwd, ".git"), { recursive: true });
    const [, source = ""] = server.args;
    const flow = {
      id: "flow",
      name: "Flow",
      entry: "only",
      skills: { served: { mcp: { command: "node", args: ["tools/serve.cjs"] } } },
      nodes: { only: { name: "Only", instruction: "Look.", skills: ["served"] } },
      edges: [],
    };
    mkdirSync(join(cwd, "tools"));
    writeFileSync(join(cwd, "tools/serve.cjs"), source);
    writeFileSync(join(cwd, "flow.yml"), JSON.stringify(flow));
    git(cwd, "init", "-q");
    git(cwd, "add", ".");
    git(cwd, "commit", "-qm", "base");
    const run = () => runHere(["run", "flow.yml", ...MODEL, "--from-ref", "HEAD", "--trust-skill", "served"], { cwd });
    const same = await run();
    expect([same.code, started()], same.stderr).toEqual([0, true]);
    rmSync(notes);
    writeFileSync(join(cwd, "tools/serve.cjs"), `require("fs").writeFileSync("evil", "");\n${source}`);
    const changed = await run();
    expect([started(), existsSync(join(cwd, "evil"))], changed.stderr).toEqual([false, false]);
    expect(changed.stderr.replace(/\s+/g, " ")).toMatch(PINNED);
  });
});
