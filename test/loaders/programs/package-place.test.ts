import { cpSync, existsSync, renameSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished } from "vitest";
import { SkillflowError } from "../../../src/core/base/errors.ts";
import type { ForeignCommand, ForeignResult, Sandbox, Turn } from "../../../src/core/skill/sandbox.ts";
import type { RunnablePackage } from "../../../src/loaders/folder/format.ts";
import { openSkillFolder } from "../../../src/loaders/folder/skill-folder.ts";
import { skillPackage } from "../../../src/loaders/formats/skills-protocol/skill-package.ts";
import { type Later, openPackagesAhead } from "../../../src/loaders/programs/package-place.ts";
import { type PackageRun, runPackage } from "../../../src/loaders/programs/package-run.ts";
import { oneOf } from "../../harness/long.ts";
import { packageFiles } from "../../protocol/packages.ts";
import { runsPython, sandbox } from "../../sandbox/python.ts";
import { foreignHost, makeFolder } from "../foreign.ts";

const it = oneOf(3);

const { signal } = new AbortController();

const LOOK = `import os
def main(args):
    found = [os.listdir(folder) for folder in ("/workspace", "/tmp", "/tmp/home")]
    for folder in ("/workspace", "/tmp/home"):
        with open(folder + "/left", "w") as file:
            file.write(str(args))
    return {"found": found, "args": args, "env": sorted(os.environ)}
`;

function makePackage(code = LOOK, more = ""): RunnablePackage {
  const directory = makeFolder(packageFiles({ name: "test.look", code, more }));
  return openPackage(join(directory, "skills/test.look-1.0.0"));
}

function openPackage(directory: string): RunnablePackage {
  const folder = openSkillFolder(directory);
  const found = folder && skillPackage.read(folder, foreignHost).loaded;
  if (!found || "severity" in found || !found.package) throw new Error("no package");
  folder.contents.digest();
  return found.package;
}

interface Start {
  readonly command: ForeignCommand;
  readonly isAhead: boolean;
  readonly ended: Promise<ForeignResult>;
}

/** A long-running process, and the processes that it starts in its sandbox. */
function openWorld(runForeign: Sandbox["run"] = sandbox.run, later?: Later) {
  const starts: Start[] = [];
  const host = {
    ...foreignHost,
    runForeign: (command: ForeignCommand, turn?: Promise<Turn | undefined>) => {
      const ended = runForeign(command, turn);
      starts.push({ command, isAhead: turn !== undefined, ended });
      return ended;
    },
  };
  const ahead = openPackagesAhead(later);
  onTestFinished(() => ahead.close());
  return {
    ahead,
    starts,
    kinds: () => starts.map(({ isAhead }) => (isAhead ? "ahead" : "when called")),
    started: (count: number) => expect.poll(() => starts.length, { timeout: 20_000 }).toBe(count),
    run: (target: RunnablePackage, parts: Partial<PackageRun> = {}) =>
      runPackage({ host, package: target, args: {}, mounts: [], blobs: [], secrets: {}, signal, ahead, ...parts }),
  };
}

/** Number of waiting sandboxes once one of them was used. */
const READY = Math.min(2, availableParallelism());

const workspaceOf = ({ command }: Start) => command.mounts.find(({ target }) => target === "/workspace")?.source ?? "";

describe.skipIf(!runsPython)("a sandbox that is started ahead (needs one that isolates, and Python)", () => {
  it("is used by the next run of its package, and by one run alone", async () => {
    const { run, kinds, started, starts } = openWorld();
    const target = makePackage();
    const outcomes = [];
    for (const [n, secret] of ["one", "two", "three"].entries()) {
      outcomes.push(await run(target, { args: { secret } }));
      await started(n === 0 ? 2 : n + 1 + READY);
    }
    expect(kinds()).toEqual(["when called", ...Array(2 + READY).fill("ahead")]);
    const env = ["HOME", "LANG", "PATH", "TMPDIR"];
    expect(outcomes).toMatchObject(
      ["one", "two", "three"].map((secret) => {
        return { status: "completed", output: { found: [[], ["home"], []], args: { secret }, env } };
      }),
    );
    expect(new Set(starts.map(workspaceOf)).size).toBe(3 + READY);
    expect(starts.slice(0, 3).map((start) => existsSync(workspaceOf(start)))).toEqual([false, false, false]);
  });

  it("shares nothing with the run before it, nor with the next", async () => {
    const { run, started, starts } = openWorld();
    const target = makePackage();
    await run(target, { args: { secret: "canary" } });
    await started(2);
    expect(JSON.stringify(starts[1]?.command)).not.toContain("canary");
    expect(starts[1]?.command.env).toEqual({});
  });

  it("is not used by another package, nor by the same one opened again", async () => {
    const { run, kinds, started } = openWorld();
    const target = makePackage();
    await run(target);
    await started(2);
    await run(makePackage());
    await started(4);
    await run(openPackage(target.directory));
    await started(6);
    expect(kinds()).toEqual(["when called", "ahead", "when called", "ahead", "when called", "ahead"]);
  });

  it("does not run what was changed since the package was opened, and ends", async () => {
    const { run, started, starts } = openWorld();
    const target = makePackage();
    await run(target);
    await started(2);
    writeFileSync(join(target.directory, "code/main.py"), "def main(args):\n    return 'changed'\n");
    expect(await run(target)).toMatchObject({
      status: "failed",
      error: { message: expect.stringContaining("its files changed after it was loaded") },
    });
    expect(await starts[1]?.ended).toMatchObject({ ended: "aborted" });
  });

  it("does not run its files if they are no longer at the package's path", async () => {
    const { run, started, starts } = openWorld();
    const target = makePackage("def main(args):\n    return 'sound'\n");
    await run(target);
    await started(2);
    const moved = `${target.directory}-moved`;
    renameSync(target.directory, moved);
    cpSync(moved, target.directory, { recursive: true });
    writeFileSync(join(moved, "code/main.py"), "def main(args):\n    return 'evil'\n");
    expect(await run(target)).toMatchObject({ status: "completed", output: "sound" });
    expect(await starts[1]?.ended).toMatchObject({ ended: "aborted" });
  });

  it("has the time limit of its run, whatever that of the run before was", async () => {
    const { run, started } = openWorld();
    const target = makePackage("def main(args):\n    while args['long']: pass\n");
    await run(target, { args: { long: false } });
    await started(2);
    const ended = await run(target, { args: { long: true }, limits: { wallMs: 300 } });
    expect(ended).toMatchObject({ error: { type: "TimeoutError", message: "the code took longer than 300 ms" } });
  });
});

/** Waits for its turn, and then prints nothing. */
const idle: Sandbox["run"] = async (_command, turn) => {
  const given = await turn;
  const ended = turn === undefined || given ? "exit" : "aborted";
  return { ended, code: 0, stdout: "", stderr: "", truncated: false };
};

describe("a sandbox", () => {
  it.each<[string, string, Partial<PackageRun>]>([
    ["that is given a secret", '[permissions]\nsecrets = ["TOKEN"]\n', { secrets: { TOKEN: "t" } }],
    ["that may reach a host", '[permissions]\nnetwork = ["api.example.com"]\n', {}],
    ["that reads a blob", "", { blobs: [{ id: "blob:1", file: "/etc/hostname" }] }],
    ["that imports another package", "", { mounts: [{ ...makePackage(), name: "test.other" }] }],
  ])("%s is not started ahead", async (_, more, parts) => {
    const { run, kinds } = openWorld(idle);
    const target = makePackage(LOOK, more);
    for (let n = 0; n < 3; n++) await run(target, parts);
    expect(kinds()).toEqual(["when called", "when called", "when called"]);
  });

  it("waits for a while, and then exits with its workspace", async () => {
    const waits: { readonly work: () => void; readonly ms: number }[] = [];
    const { run, started, starts, kinds } = openWorld(idle, (work, ms) => {
      waits.push({ work, ms });
      return () => undefined;
    });
    const target = makePackage();
    await run(target);
    await started(2);
    expect(waits).toMatchObject([{ ms: 60_000 }]);
    waits[0]?.work();
    expect(await starts[1]?.ended).toMatchObject({ ended: "aborted" });
    await expect.poll(() => starts.some((start) => existsSync(workspaceOf(start)))).toBe(false);
    await run(target);
    expect(kinds()).toEqual(["when called", "ahead", "when called"]);
  });

  it("is replaced by one of another package if four wait", async () => {
    const { run, started, starts } = openWorld(idle);
    for (let n = 0; n < 5; n++) {
      await run(makePackage());
      await started(2 * n + 2);
    }
    const waiting = starts.filter(({ isAhead }) => isAhead);
    expect(await waiting[0]?.ended).toMatchObject({ ended: "aborted" });
    const others = waiting.slice(1).map(workspaceOf);
    expect(others.map((path) => existsSync(path))).toEqual([true, true, true, true]);
  });

  it("gets a second one next to it once runs follow one another, if there is a second core", async () => {
    const { run, started, starts, kinds } = openWorld(idle);
    const target = makePackage();
    await run(target);
    await started(2);
    await run(target);
    await started(2 + READY);
    await run(target);
    await started(3 + READY);
    expect(kinds()).toEqual(["when called", ...Array(2 + READY).fill("ahead")]);
    const waiting = starts.filter((start) => existsSync(workspaceOf(start)));
    expect(waiting).toHaveLength(READY);
  });

  it("ends with the process that started it, and no other is started", async () => {
    const { ahead, run, started, starts } = openWorld(idle);
    const target = makePackage();
    await run(target);
    await started(2);
    await ahead.close();
    expect(await starts[1]?.ended).toMatchObject({ ended: "aborted" });
    expect(starts.some((start) => existsSync(workspaceOf(start)))).toBe(false);
    await run(target);
    await new Promise((resolve) => setImmediate(resolve));
    expect(starts).toHaveLength(3);
  });

  it("that exited before its turn is replaced", async () => {
    const { run, started, kinds } = openWorld(async (command, turn) => {
      await turn;
      if (turn) throw new SkillflowError("sandbox.failed", "it ended before its turn");
      return idle(command);
    });
    const target = makePackage();
    await run(target);
    await started(2);
    expect(await run(target)).toMatchObject({ error: { type: "ProcessError" } });
    expect(kinds().slice(0, 3)).toEqual(["when called", "ahead", "when called"]);
  });
});
