import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runInside } from "../cli/inside.ts";
import { LONG, turnOf } from "../harness/long.ts";
import { type Artifact, hostileArtifact, hostileRecords, type Recorded } from "./trees/record.ts";
import { AWS, brokenOnes, closeServices, KEY, leaksIn, runBounded, snapshot } from "./trees/target.ts";

/**
 * Records and artifacts that hold every attack which their author can make, under digests that fit: no command starts or
 * contacts what they name, quotes a file that they name, or hangs. The user trusts the installed skill by its bare id.
 */

afterAll(closeServices);

const LEFT = [KEY, AWS, "\u001b[2J", "\n::add-mask::"];

function expectUntouched({ cwd, home, witness, server }: Recorded, before: Record<string, string>): void {
  expect(readdirSync(witness)).toEqual([".keep"]);
  expect(server.requests.map(({ url }) => url)).toEqual([]);
  expect(snapshot(home)).toEqual(before);
  expect(existsSync(join(cwd, "written.txt"))).toBe(false);
}

describe("a record that holds every attack", () => {
  /** Records that every command reads. The others are resumed. */
  const SHOWN = ["servers", "marks", "slow", "pipe", "key", ...(LONG ? ["zero"] : [])];
  const OTHERS = ["inner", "commit", "file", "endless", "script", "recording"];
  const RUNS = [...SHOWN, ...OTHERS, ...(LONG ? ["piped", "device"] : [])];
  /** Runs that can keep a process busy forever. The short form reads the others in this process. */
  const DEAFENING = ["slow", "pipe", "zero", "endless", "piped", "device"];
  const LOOKING = [
    ["runs", "show", ""],
    ["runs", "verify", ""],
    ["graph", ""],
    ["report", "", "--report", "md=out.md"],
    ["test", "--from", ""],
  ];
  const TRUST = ["--trust-skill", "sink", "--trust-skill", "other", "--trust-skill", "far"];
  let project: Awaited<ReturnType<typeof hostileRecords>>;
  let before: Record<string, string>;
  beforeAll(async () => {
    project = await hostileRecords();
    before = snapshot(project.home);
  }, 60_000);

  it.each(RUNS)(
    "of the run %s is shown, resumed and replayed without effect",
    async (run) => {
      const { cwd, env } = project;
      const isBounded = LONG || DEAFENING.includes(run);
      // All of them read the record in the same way, and a record that may never end needs a separate process for each.
      const looking = isBounded ? turnOf(LOOKING, 2) : LOOKING;
      const commands = [
        ...(SHOWN.includes(run) ? looking.map((words) => words.map((word) => word || run)) : []),
        ["replay", run, "--tools", "live", "--run-id", `${run}-replayed`, ...TRUST],
        ["resume", run, "--from", "a", "--writes", "plan", ...TRUST],
      ];
      for (const args of commands) {
        const ended = await (isBounded ? runBounded(args, cwd, env) : runInside(args, { cwd, env }));
        expect(brokenOnes([[args.join(" "), ended]])).toEqual([]);
        expect(leaksIn([[args.join(" "), ended.stdout + ended.stderr]], LEFT)).toEqual([]);
        expectUntouched(project, before);
      }
    },
    150_000,
  );

  it("is listed, and its project validated and examined, without effect", async () => {
    const { cwd, env } = project;
    for (const args of [["runs", "list"], ["validate", "w.yml"], ["doctor"], ["skills", "list"], ["test"]]) {
      const readsRuns = !["validate", "skills"].includes(args[0] ?? "");
      const ended = await (LONG || readsRuns ? runBounded(args, cwd, env) : runInside(args, { cwd, env }));
      expect(brokenOnes([[args.join(" "), ended]])).toEqual([]);
      expect(leaksIn([[args.join(" "), ended.stdout + ended.stderr]], LEFT)).toEqual([]);
      expectUntouched(project, before);
    }
  }, 100_000);
});

describe("an artifact that holds every attack", () => {
  let artifact: Artifact;
  let before: Record<string, string>;
  beforeAll(async () => {
    artifact = await hostileArtifact();
    before = snapshot(artifact.home);
  }, 60_000);
  const apply = (plan: string, ...more: string[]) => {
    const args = ["apply", plan, "--yes", "--store", "triage/runs", ...more];
    return runBounded([...args, "--trust-skill", "other", "--trust-skill", "far"], artifact.cwd, artifact.env);
  };

  it("is refused because its digests differ from those of the first job", async () => {
    const planned = await apply("triage/out/plan.json", "--plan-digest", artifact.planDigest);
    expect(planned.code, planned.stderr).toBe(2);
    const verify = ["runs", "verify", "r", "--store", "triage/runs", "--digest", artifact.recordDigest];
    expect((await runBounded(verify, artifact.cwd, artifact.env)).code).toBe(4);
    expectUntouched(artifact, before);
  }, 60_000);

  it.each(["linked", "endless", "pipe"])(
    "is refused if its plan is a special file: %s",
    async (name) => {
      const ended = await apply(`triage/out/${name}.json`);
      expect(ended.code, ended.stderr).toBe(2);
      expect(leaksIn([[name, ended.stdout + ended.stderr]], LEFT)).toEqual([]);
      expectUntouched(artifact, before);
    },
    60_000,
  );

  it("starts no server that it names, even if its digest is trusted", async () => {
    const { cwd, witness, server } = artifact;
    const ended = await apply("triage/out/plan.json", "--plan-digest", artifact.forgedDigest);
    expect(ended.code, ended.stderr).toBe(0);
    expect([readdirSync(witness), server.requests.length]).toEqual([[".keep"], 0]);
    expect(existsSync(join(cwd, "written.txt")), "the installed skill wrote").toBe(true);
    expect(leaksIn([["apply", ended.stdout + ended.stderr]], LEFT)).toEqual([]);
  }, 60_000);
});
