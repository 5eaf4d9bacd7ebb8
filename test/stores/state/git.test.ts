import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect } from "vitest";
import type { StateStore } from "../../../src/core/engine/ports.ts";
import { gitState } from "../../../src/stores/state/git.ts";
import { makeProject } from "../../cli/program.ts";
import { deltaOf, putOf } from "../../contracts/deltas.ts";
import { describeStates } from "../../contracts/state.ts";
import { bundled } from "../../harness/bundled.ts";
import { LONG, oneOf } from "../../harness/long.ts";

const it = oneOf(6);

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "state-git-"));
  folders.push(folder);
  return folder;
}

const ENV = { PATH: process.env.PATH, HOME: "/nonexistent", GIT_CONFIG_NOSYSTEM: "1" };

function git(directory: string, ...args: string[]): string {
  const me = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main"];
  const { status, stdout, stderr } = spawnSync("git", [...me, ...args], { cwd: directory, encoding: "utf8", env: ENV });
  if (status !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`);
  return stdout.trim();
}

/** A checkout with one commit on main, and its origin. */
function makeCheckout(): { checkout: string; origin: string } {
  template ??= makeTemplate();
  const [origin, checkout] = [makeFolder(), makeFolder()];
  cpSync(template.origin, origin, { recursive: true });
  cpSync(template.checkout, checkout, { recursive: true });
  const config = join(checkout, ".git", "config");
  writeFileSync(config, readFileSync(config, "utf8").replace(template.origin, origin));
  return { checkout, origin };
}

let template: ReturnType<typeof makeTemplate> | undefined;

function makeTemplate() {
  const [origin, checkout] = [makeProject(), makeProject()];
  git(origin, "init", "--quiet", "--bare", "--template=");
  git(checkout, "init", "--quiet", "--template=");
  for (const directory of [join(origin, "hooks"), join(checkout, ".git", "hooks")]) mkdirSync(directory);
  writeFileSync(join(checkout, "app.js"), "1\n");
  git(checkout, "add", ".");
  git(checkout, "commit", "--quiet", "-m", "begin");
  git(checkout, "remote", "add", "origin", origin);
  git(checkout, "push", "--quiet", "origin", "main");
  return { checkout, origin };
}

const stateOf = (directory: string, branch = "memory"): StateStore => gitState({ directory, branch, env: ENV });
const keysIn = async (store: StateStore) => ((await store.read(["board"])).get("board") ?? []).map(({ key }) => key);
const whole = (directory: string) => ({
  status: git(directory, "status", "--porcelain", "--ignored"),
  refs: git(directory, "for-each-ref"),
  head: readFileSync(join(directory, ".git", "HEAD"), "utf8"),
  index: readFileSync(join(directory, ".git", "index")),
  config: readFileSync(join(directory, ".git", "config"), "utf8"),
  objects: git(directory, "count-objects", "-v"),
});

describeStates("states on a branch", async () => {
  const { checkout } = makeCheckout();
  return { store: stateOf(checkout), again: () => stateOf(checkout) };
});

describe("a branch of states", () => {
  it("starts without shared history, and grows by one commit per run", async () => {
    const { checkout, origin } = makeCheckout();
    await stateOf(checkout).apply(deltaOf("r1", [putOf("a")]));
    await stateOf(checkout).apply(deltaOf("r2", [putOf("b")]));
    expect(git(origin, "log", "--format=%an <%ae> %s", "memory")).toBe(
      "skillflow <skillflow@localhost> Run r2\nskillflow <skillflow@localhost> Run r1",
    );
    expect(git(origin, "ls-tree", "--name-only", "memory")).toBe("_applied.jsonl\nboard.jsonl");
  });

  it("has git's configured author", async () => {
    const { checkout, origin } = makeCheckout();
    git(checkout, "config", "user.name", "Grace");
    git(checkout, "config", "user.email", "grace@example.org");
    await stateOf(checkout).apply(deltaOf("r1", [putOf("a")]));
    expect(git(origin, "log", "--format=%an <%ae>", "memory")).toBe("Grace <grace@example.org>");
  });

  it("does not change the checkout", async () => {
    const { checkout } = makeCheckout();
    writeFileSync(join(checkout, "app.js"), "2\n");
    writeFileSync(join(checkout, "new.js"), "3\n");
    git(checkout, "add", "new.js");
    const before = whole(checkout);
    await stateOf(checkout).apply(deltaOf("r1", [putOf("a")]));
    await stateOf(checkout).read(["board"]);
    expect(whole(checkout)).toEqual(before);
  });

  it("works from a subfolder, a linked working tree, a detached head and a shallow clone", async () => {
    const { checkout, origin } = makeCheckout();
    git(checkout, "checkout", "--quiet", "--detach");
    await stateOf(checkout).apply(deltaOf("r1", [putOf("a")]));
    const linked = join(makeFolder(), "tree");
    git(checkout, "worktree", "add", "--quiet", linked, "main");
    await stateOf(linked).apply(deltaOf("r2", [putOf("b")]));
    const shallow = makeFolder();
    git(shallow, "clone", "--quiet", "--depth=1", `file://${origin}`, ".");
    await stateOf(shallow).apply(deltaOf("r3", [putOf("c")]));
    expect(await keysIn(stateOf(checkout))).toEqual(["a", "b", "c"]);
  });

  it("that was deleted is created again, and one that was rewritten by force is continued", async () => {
    const { checkout, origin } = makeCheckout();
    await stateOf(checkout).apply(deltaOf("r1", [putOf("a")]));
    const first = git(origin, "rev-parse", "memory");
    await stateOf(checkout).apply(deltaOf("r2", [putOf("b")]));
    git(origin, "update-ref", "refs/heads/memory", first);
    await stateOf(checkout).apply(deltaOf("r3", [putOf("c")]));
    expect(await keysIn(stateOf(checkout))).toEqual(["a", "c"]);
    git(origin, "update-ref", "-d", "refs/heads/memory");
    expect(await keysIn(stateOf(checkout))).toEqual([]);
    await stateOf(checkout).apply(deltaOf("r4", [putOf("d")]));
    expect(await keysIn(stateOf(checkout))).toEqual(["d"]);
  });

  it("that cannot be pushed to is tried five times, and then reported", async () => {
    const { checkout, origin } = makeCheckout();
    git(origin, "config", "transfer.hideRefs", "refs/heads/memory");
    await expect(stateOf(checkout).apply(deltaOf("r1", [putOf("a")]))).rejects.toMatchObject({
      code: "store.failed",
      exitCode: 4,
      message: expect.stringContaining("could not be pushed to memory of origin"),
    });
    expect(await keysIn(stateOf(checkout))).toEqual([]);
  }, 30_000);

  it("of an origin that cannot be reached, or is missing, is an error", async () => {
    const { checkout, origin } = makeCheckout();
    rmSync(origin, { recursive: true });
    await expect(stateOf(checkout).read(["board"])).rejects.toMatchObject({ exitCode: 4 });
    git(checkout, "remote", "remove", "origin");
    await expect(stateOf(checkout).read(["board"])).rejects.toThrow(/no remote origin/);
    await expect(stateOf(makeFolder()).read(["board"])).rejects.toMatchObject({ exitCode: 4 });
  });

  it("with a broken line is an error that names it", async () => {
    const { checkout } = makeCheckout();
    git(checkout, "checkout", "--quiet", "--orphan", "memory");
    git(checkout, "rm", "--quiet", "-f", "app.js");
    writeFileSync(join(checkout, "board.jsonl"), "{}\n");
    git(checkout, "add", ".");
    git(checkout, "commit", "--quiet", "-m", "by hand");
    git(checkout, "push", "--quiet", "origin", "memory");
    await expect(stateOf(checkout).read(["board"])).rejects.toThrow(/memory:board\.jsonl:1/);
  });

  it("with other content is not written to", async () => {
    const { checkout, origin } = makeCheckout();
    const before = git(origin, "rev-parse", "main");
    await expect(stateOf(checkout, "main").apply(deltaOf("r1", [putOf("a")]))).rejects.toThrow(/app\.js/);
    expect(git(origin, "rev-parse", "main")).toBe(before);
  });

  it.each(["120000", "160000"])("whose state is an object of mode %s is not read", async (mode) => {
    const { checkout } = makeCheckout();
    const id = mode === "160000" ? git(checkout, "rev-parse", "HEAD") : git(checkout, "rev-parse", "HEAD:app.js");
    git(checkout, "checkout", "--quiet", "--orphan", "memory");
    git(checkout, "rm", "--quiet", "-f", "--cached", "app.js");
    git(checkout, "update-index", "--add", "--cacheinfo", `${mode},${id},board.jsonl`);
    git(checkout, "commit", "--quiet", "-m", "by hand");
    git(checkout, "push", "--quiet", "origin", "memory");
    await expect(stateOf(checkout).read(["board"])).rejects.toMatchObject({ code: "store.failed" });
  });

  it.each([
    "",
    "-x",
    "--upload-pack=touch evil",
    "a..b",
    "a b",
    "a:b",
    "+main",
    "refs/heads/main",
    "HEAD",
    "a.lock",
    "a/",
    "a\nb",
    "a@{1}",
    "*",
  ])("cannot have the name %j", (branch) => {
    expect(() => stateOf("/", branch)).toThrow(/is not a branch/);
  });
});

describe("a hostile checkout", () => {
  const evil = (checkout: string) => {
    const mark = join(makeFolder(), "evil");
    const run = `touch ${mark}`;
    for (const name of ["pre-push", "post-checkout", "reference-transaction", "post-commit", "post-index-change"]) {
      writeFileSync(join(checkout, ".git", "hooks", name), `#!/bin/sh\n${run}\n`, { mode: 0o755 });
    }
    for (const [key, value] of [
      ["core.fsmonitor", run],
      ["core.sshCommand", run],
      ["core.hooksPath", join(checkout, ".git", "hooks")],
      ["credential.helper", `!${run}`],
      ["core.askPass", run],
      ["core.pager", run],
      ["remote.origin.uploadpack", run],
      ["remote.origin.receivepack", run],
      ["remote.origin.vcs", "ext"],
      ["core.gitProxy", run],
      ["protocol.ext.allow", "always"],
      ["alias.push", `!${run}`],
    ] as const) {
      git(checkout, "config", key, value);
    }
    return mark;
  };

  it("runs none of its hooks and none of its config", async () => {
    const { checkout } = makeCheckout();
    const mark = evil(checkout);
    await stateOf(checkout).apply(deltaOf("r1", [putOf("a")]));
    expect(await keysIn(stateOf(checkout))).toEqual(["a"]);
    expect(existsSync(mark)).toBe(false);
  });

  it.each(["", "file://"])("runs nothing at the other end, if a folder is its origin: %s", async (scheme) => {
    const { checkout, origin } = makeCheckout();
    const mark = join(makeFolder(), "evil");
    const other = makeFolder();
    git(other, "init", "--quiet", "--bare", "--template=");
    mkdirSync(join(origin, "hooks"), { recursive: true });
    for (const name of [
      "pre-receive",
      "update",
      "proc-receive",
      "reference-transaction",
      "post-receive",
      "post-update",
    ])
      writeFileSync(join(origin, "hooks", name), `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 });
    writeFileSync(join(origin, "objects/info/alternates"), `${other}/objects\n`);
    for (const [key, value] of [
      ["core.hooksPath", join(origin, "hooks")],
      ["core.fsmonitor", `touch ${mark}`],
      ["core.alternateRefsCommand", `touch ${mark};`],
      ["receive.autogc", "true"],
      ["gc.auto", "1"],
      ["gc.recentObjectsHook", `touch ${mark}`],
      ["uploadpack.packObjectsHook", `touch ${mark};`],
    ] as const) {
      git(origin, "config", key, value);
    }
    git(checkout, "config", "remote.origin.url", `${scheme}${origin}`);
    await stateOf(checkout).apply(deltaOf("r1", [putOf("a")]));
    await stateOf(checkout).apply(deltaOf("r2", [putOf("b")]));
    expect(await keysIn(stateOf(checkout))).toEqual(["a", "b"]);
    expect(existsSync(mark)).toBe(false);
  });

  it("writes to no working tree of its origin", async () => {
    const { checkout } = makeCheckout();
    const other = makeFolder();
    const mark = join(other, "evil");
    git(other, "init", "--quiet", "--template=", "--initial-branch=memory");
    writeFileSync(join(other, "README.md"), "");
    writeFileSync(join(other, ".gitattributes"), "*.jsonl filter=evil\n");
    git(other, "add", ".");
    git(other, "commit", "--quiet", "-m", "begin");
    git(other, "config", "receive.denyCurrentBranch", "updateInstead");
    git(other, "config", "filter.evil.smudge", `touch ${mark}; cat`);
    git(checkout, "config", "remote.origin.url", other);
    await expect(stateOf(checkout).apply(deltaOf("r1", [putOf("a")]))).rejects.toMatchObject({ exitCode: 4 });
    expect(existsSync(mark)).toBe(false);
  }, 30_000);

  it.each(["ext::sh -c touch% EVIL", "-oProxyCommand=touch", "fd::7"])("has no origin %s", async (url) => {
    const { checkout } = makeCheckout();
    git(checkout, "config", "remote.origin.url", url);
    await expect(stateOf(checkout).read(["board"])).rejects.toMatchObject({ code: "store.failed" });
    expect(readdirSync(checkout)).not.toContain("EVIL");
  });

  it("cannot name a repository inside it as origin", async () => {
    const { checkout } = makeCheckout();
    git(checkout, "init", "--quiet", "--bare", "inner.git");
    for (const [key, value] of [
      ["remote.origin.url", "./inner.git"],
      ["core.worktree", makeFolder()],
    ] as const) {
      git(checkout, "config", "remote.origin.url", join(checkout, "inner.git"));
      git(checkout, "config", key, value);
      await expect(stateOf(checkout).read(["board"])).rejects.toThrow(/folder inside the checkout/);
    }
  });
});

describe("concurrent processes at a branch", () => {
  it("lose nothing and apply nothing twice, and a failed one can retry", async () => {
    const { checkout } = makeCheckout();
    const outfile = bundled(join(import.meta.dirname, "keeper.ts"), makeFolder());
    const names = Array.from({ length: LONG ? 10 : 5 }, (_, index) => `p${index}`);
    const run = async (name: string) => {
      const child = spawn(process.execPath, [outfile, "git", checkout, name, "1"], { env: ENV });
      let told = "";
      child.stdout.on("data", (piece: Buffer) => {
        told += piece.toString();
      });
      await once(child, "close");
      return told.trim();
    };
    const told = await Promise.all(names.map(run));
    expect(told.filter((id) => id !== "").length).toBeGreaterThan(0);
    for (const name of names) if (!told.includes(`${name}-0`)) await run(name);
    const entries = (await stateOf(checkout).read(["board"])).get("board") ?? [];
    expect(entries.map(({ key }) => key).sort()).toEqual([...names.map((name) => `${name}-0`), "shared"].sort());
    expect(entries.find(({ key }) => key === "shared")).toMatchObject({ runs: names.length, seen: names.length });
  }, 120_000);
});
