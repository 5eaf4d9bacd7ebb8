import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { deliver } from "../../../../src/app/calls/patches/deliver.ts";
import type { Forge } from "../../../../src/app/calls/patches/forge.ts";
import { withOwnFolder } from "../../../../src/app/calls/patches/git.ts";
import { openGitHub } from "../../../../src/app/calls/patches/github.ts";
import { openGitLab } from "../../../../src/app/calls/patches/gitlab.ts";
import { openRemote } from "../../../../src/app/calls/patches/remote.ts";
import { createRedactor } from "../../../../src/core/base/redact/redact.ts";
import type { Patch } from "../../../../src/core/engine/event/patch.ts";
import { oneOf, turnOf } from "../../../harness/long.ts";
import { type Forge as Served, serveForge } from "../../../services/forges.ts";

const test = oneOf(6);

/** Delivery of approved patches. The repository behind every service is a real one. */

let root = "";
const AS = [
  "-c",
  "user.name=t",
  "-c",
  "advice.addEmbeddedRepo=false",
  "-c",
  "user.email=t@localhost",
  "-c",
  "init.defaultBranch=main",
];
const git = (cwd: string, ...args: string[]) => execFileSync("git", [...AS, ...args], { cwd, encoding: "utf8" }).trim();
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const LINES = ["one", "two", "three", "four", "five", "six", "seven", ""].join("\n");

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "patches-"));
  git(root, "init", "-q", "--bare", "remote.git");
  git(root, "clone", "-q", "remote.git", "work");
  put("a.txt", LINES);
  git(work(), "add", "-A");
  git(work(), "commit", "-qm", "start");
  git(work(), "push", "-q", "origin", "HEAD:main");
});

afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

const SELF = { pid: process.pid, host: "host", started: "1" };
const work = () => join(root, "work");
const remote = () => join(root, "remote.git");
const put = (path: string, text: string | Buffer) => writeFileSync(join(work(), path), text);

/** Changes line seven and adds a file. Leaves the checkout as it was. */
function patchOf(more: Partial<Patch> = {}): Patch {
  const base = git(work(), "rev-parse", "HEAD");
  const changed = LINES.replace("seven", "SEVEN");
  put("a.txt", changed);
  put("b.txt", "new\n");
  git(work(), "add", "-A");
  const diff = `${git(work(), "diff", "--cached")}\n`;
  git(work(), "reset", "-q", "--hard");
  const files = [
    { path: "a.txt", change: "changed" as const, mode: "100644" as const, sha256: sha256(changed) },
    { path: "b.txt", change: "added" as const, mode: "100644" as const, sha256: sha256("new\n") },
  ];
  const told = {
    title: "Shout",
    body: "Because.",
    draft: true,
    labels: ["fix"],
    branch: "skillflow/shout-0123456789ab",
  };
  return { base, diff, files, ...told, ...more };
}

function push(path: string, text: string | Buffer) {
  git(work(), "checkout", "-q", "-b", `side-${Math.abs(text.length)}`);
  put(path, text);
  git(work(), "add", "-A");
  git(work(), "commit", "-qm", "upstream");
  git(work(), "push", "-q", "origin", "HEAD:main");
}

async function send(patch: Patch, open: (folder: Parameters<typeof openRemote>[0]) => Forge, secrets: string[] = []) {
  const redactor = createRedactor(secrets.map((value) => ({ name: "KEY", value })) as never);
  return withOwnFolder(
    { env: process.env, self: SELF, signal: AbortSignal.timeout(60_000), mostMs: 60_000, kill: process.kill },
    (folder) => deliver({ run: "r-1", patch, folder, checkout: join(work(), ".git"), forge: open(folder), redactor }),
  );
}
const byPush = (folder: Parameters<typeof openRemote>[0]) => openRemote(folder, remote());
const at = (branch: string, path: string) => git(remote(), "show", `${branch}:${path}`);

/** Commits what `change` does to the checkout, and pushes it. */
function commit(change: () => void) {
  change();
  git(work(), "add", "-A");
  git(work(), "commit", "-qm", "upstream");
  git(work(), "push", "-q", "origin", "HEAD:main");
}

/** The patch of what `change` does to the checkout, which stays as it was. */
function patchBy(change: () => void): Patch {
  change();
  git(work(), "add", "-A");
  const diff = `${execFileSync("git", ["diff", "--cached", "--no-renames"], { cwd: work(), encoding: "utf8" })}`;
  const names = git(work(), "diff", "--cached", "--no-renames", "--name-status").split("\n");
  const files = names.map((line) => {
    const [status = "", path = ""] = line.split("\t");
    const text = execFileSync("git", ["show", `${status === "D" ? "HEAD" : ""}:${path}`], { cwd: work() });
    const kind = status === "D" ? "deleted" : status === "A" ? "added" : "changed";
    return { path, change: kind, mode: "100644", sha256: sha256(text.toString()) } as const;
  });
  git(work(), "reset", "-q", "--hard");
  return patchOf({ diff, files });
}

/** Upstream content at the path of the added file, and the part of it that the message names. */
const IN_THE_WAY: readonly (readonly [what: string, added: string, upstream: () => void, named: string])[] = [
  ["a folder at its path", "src/new.txt", () => place("src/new.txt/deep/x"), "src/new.txt/deep/x"],
  ["a file at its folder", "src/pkg/x.txt", () => place("src/pkg"), "src/pkg"],
  ["a file at a folder above", "pkg/deep/x.txt", () => place("pkg"), "pkg"],
  ["a link at its folder", "pkg/x.txt", () => symlinkSync("a.txt", join(work(), "pkg")), "pkg"],
  ["a submodule at its folder", "pkg/x.txt", () => submodule("pkg"), "pkg"],
  ["a submodule at its path", "src/new", () => submodule("src/new"), "src/new"],
];

function place(path: string, text = "new\n") {
  mkdirSync(dirname(join(work(), path)), { recursive: true });
  put(path, text);
}

function submodule(path: string) {
  mkdirSync(join(work(), path), { recursive: true });
  git(join(work(), path), "init", "-q");
  git(join(work(), path), "commit", "-q", "--allow-empty", "-m", "other");
}

/** Changes that put a file where they delete what was there. */
const TURNED: readonly (readonly [what: string, from: string, to: string])[] = [
  ["a folder into a file", "src/old/x.txt", "src/old"],
  ["a file into a folder", "src/old", "src/old/x.txt"],
];

const turn = (from: string, to: string) => () => {
  rmSync(join(work(), from.length < to.length ? from : to), { recursive: true });
  place(to, "turned\n");
};

const turning = (from: string, to: string) => {
  commit(() => place(from));
  return patchBy(turn(from, to));
};

describe("git push", () => {
  test.each(turnOf(IN_THE_WAY, 2))("refuses a new file if upstream has %s", async (_what, added, upstream, named) => {
    const patch = patchBy(() => place(added));
    commit(upstream);
    const sent = send(patch, byPush);
    await expect(sent).rejects.toThrow(`conflicts in ${added}, where it has ${named}`);
    await expect(sent).rejects.toMatchObject({ code: "call.refused" });
    expect(git(remote(), "branch", "--list", "skillflow/*")).toBe("");
  });

  test.each(turnOf(TURNED, 1))("turns %s, unless upstream has more files there", async (_what, from, to) => {
    const patch = turning(from, to);
    expect(await send(patch, byPush)).toEqual({ branch: patch.branch });
    expect(git(remote(), "diff", "--name-only", "--no-renames", "main", patch.branch).split("\n").sort()).toEqual(
      [to, from].sort(),
    );
    git(remote(), "branch", "-D", patch.branch);
    if (from.length > to.length) {
      commit(() => place(`${to}/y.txt`));
      await expect(send(patch, byPush)).rejects.toThrow(`${to}/y.txt`);
    }
  });

  test("creates one branch with one commit, and nothing in the checkout", async () => {
    const patch = patchOf();
    const refs = git(work(), "for-each-ref");
    expect(await send(patch, byPush)).toEqual({ branch: patch.branch });
    expect(at(patch.branch, "a.txt")).toContain("SEVEN");
    expect(git(remote(), "log", "--format=%B", "-1", patch.branch)).toBe("Shout\n\nskillflow run r-1");
    expect(git(remote(), "rev-list", "--count", `main..${patch.branch}`)).toBe("1");
    expect(git(work(), "for-each-ref")).toBe(refs);
    expect(await send(patch, byPush)).toEqual({ branch: patch.branch, existing: true });
  });

  test("applies onto a base that has moved", async () => {
    const patch = patchOf();
    push("a.txt", LINES.replace("one", "ONE"));
    await send(patch, byPush);
    expect(at(patch.branch, "a.txt")).toBe(LINES.replace("one", "ONE").replace("seven", "SEVEN").trim());
  });

  test("refuses a conflict, an upstream deletion and another branch of that name", async () => {
    const patch = patchOf();
    git(remote(), "branch", patch.branch, "main");
    await expect(send({ ...patch }, byPush)).rejects.toThrow("exists with another content");
    git(remote(), "branch", "-D", patch.branch);
    push("a.txt", LINES.replace("seven", "7"));
    await expect(send(patch, byPush)).rejects.toThrow("conflicts in a.txt");
    git(work(), "rm", "-q", "a.txt");
    git(work(), "commit", "-qm", "gone");
    git(work(), "push", "-q", "origin", "HEAD:main");
    await expect(send(patch, byPush)).rejects.toThrow("a.txt");
    commit(() => symlinkSync("b.txt", join(work(), "a.txt")));
    await expect(send(patch, byPush)).rejects.toThrow(/conflicts in a\.txt$/);
    expect(git(remote(), "branch", "--list", "skillflow/*")).toBe("");
  });

  test("fails if the branch appears meanwhile, even if a push would only move it forward", async () => {
    const patch = patchOf();
    const racing = (folder: Parameters<typeof openRemote>[0]): Forge => ({
      ...byPush(folder),
      find: async () => undefined,
    });
    git(remote(), "branch", patch.branch, "main");
    await expect(send(patch, racing)).rejects.toThrow("git push failed");
    expect(git(remote(), "rev-parse", patch.branch)).toBe(git(remote(), "rev-parse", "main"));
  });

  test("reads nothing of the environment's git settings", async () => {
    const patch = patchOf();
    const marker = join(root, "ran");
    const hostile = { GIT_DIR: join(work(), ".git"), GIT_SSH_COMMAND: `touch ${marker}`, GIT_TRACE2: marker };
    const settings = {
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "url.file:///nowhere.insteadOf",
      GIT_CONFIG_VALUE_0: "/",
    };
    const env = { ...process.env, ...hostile, ...settings };
    const sent = withOwnFolder(
      { env, self: SELF, signal: AbortSignal.timeout(60_000), mostMs: 60_000, kill: process.kill },
      (folder) =>
        deliver({
          ...{ run: "r-1", patch, folder, checkout: join(work(), ".git") },
          ...{ forge: byPush(folder), redactor: createRedactor([]) },
        }),
    );
    expect(await sent).toEqual({ branch: patch.branch });
    expect(existsSync(marker)).toBe(false);
  });

  test("ends a git command that takes too long, with its processes", async () => {
    const pid = join(root, "pid");
    const sent = withOwnFolder(
      { env: process.env, self: SELF, signal: new AbortController().signal, mostMs: 500, kill: process.kill },
      (folder) => folder.git(["-c", `alias.wait=!echo $$ > ${pid}; sleep 1000`, "wait"]),
    );
    await expect(sent).rejects.toThrow("it took longer than 0.5 s");
    expect(() => process.kill(Number(readFileSync(pid, "utf8")), 0)).toThrow("ESRCH");
  });

  test("reports a change that upstream has already", async () => {
    const patch = patchOf();
    put("b.txt", "new\n");
    push("a.txt", LINES.replace("seven", "SEVEN"));
    expect(await send(patch, byPush)).toEqual({
      existing: true,
      superseded: git(remote(), "rev-parse", "main"),
    });
  });

  test("refuses secrets by file and line, and files that were not approved", async () => {
    const patch = patchOf();
    const token = `ghp_${"a1".repeat(18)}`;
    const leaking = patch.diff.replace("+new", `+${token}`);
    await expect(send({ ...patch, diff: leaking }, byPush)).rejects.toThrow("b.txt:1 contains a secret");
    await expect(send({ ...patch, diff: patch.diff.replace("+new", "+old") }, byPush)).rejects.toThrow("approved");
  });
});

describe.each([
  ["github", openGitHub, 5],
  ["gitlab", openGitLab, 2],
] as const)("%s", (vendor, open, writes) => {
  const opening = (service: Served) => () =>
    open(
      {
        name: vendor,
        address: service.address,
        headers: { authorization: "Bearer key" },
        fetch,
        signal: AbortSignal.timeout(60_000),
        timeoutMs: 60_000,
      },
      "o/r",
    );

  it("names the service and the reason if it cannot be used", async () => {
    const signal = AbortSignal.timeout(60_000);
    const api = { name: vendor, address: "http://127.0.0.1:1", headers: {}, signal, timeoutMs: 60_000 };
    const head = (answer: typeof fetch) => open({ ...api, fetch: answer }, "o/r").head();
    await expect(head(fetch)).rejects.toThrow(/got no response from http:\/\/127.0.0.1:1: (?!fetch failed)/);
    await expect(head(async () => new Response("<html>oops"))).rejects.toThrow("not JSON: <html>oops");
    const missing = head(async () => new Response("{}", { status: 404 }));
    await expect(missing).rejects.toThrow("404: it does not exist, or the token cannot read it");
  });

  it("fails if the service does not answer in time, and stops when the caller stops", async () => {
    const signal = new AbortController();
    const never: typeof fetch = (_, init) =>
      new Promise((_resolve, reject) => {
        init?.signal?.addEventListener("abort", () => reject(init.signal?.reason), { once: true });
      });
    const api = { name: vendor, address: "http://127.0.0.1:1", headers: {}, fetch: never, signal: signal.signal };
    const late = open({ ...api, timeoutMs: 20 }, "o/r").head();
    await expect(late).rejects.toMatchObject({
      code: "tool.timeout",
      message: expect.stringMatching(/GET .* 0\.02 s/),
    });
    const stopped = open({ ...api, timeoutMs: 60_000 }, "o/r").head();
    signal.abort(new Error("stopped"));
    await expect(stopped).rejects.toThrow("stopped");
  });

  test("makes a branch and a draft request, once", async () => {
    const service = await serveForge(vendor, remote());
    const patch = patchOf();
    push("a.txt", LINES.replace("one", "ONE"));
    expect(await send(patch, opening(service))).toEqual({ branch: patch.branch, url: expect.stringContaining("/1") });
    expect(at(patch.branch, "a.txt")).toBe(LINES.replace("one", "ONE").replace("seven", "SEVEN").trim());
    expect(service.requests).toHaveLength(1);
    expect(await send(patch, opening(service))).toMatchObject({ branch: patch.branch, existing: true });
    expect(service.writes).toHaveLength(writes);
  });

  it("finds its branch again after people have added commits, and makes the request that is missing", async () => {
    const service = await serveForge(vendor, remote());
    const patch = patchOf();
    service.failAt = writes - (vendor === "github" ? 2 : 1);
    await send(patch, opening(service)).catch(() => undefined);
    service.failAt = 0;
    git(work(), "fetch", "-q", "origin", patch.branch);
    git(work(), "checkout", "-q", "FETCH_HEAD");
    for (const text of ["again", LINES]) {
      put("a.txt", text);
      git(work(), "commit", "-qam", "review");
    }
    git(work(), "push", "-q", "origin", `HEAD:${patch.branch}`);
    const url = expect.stringContaining("/1");
    expect(await send(patch, opening(service))).toEqual({ branch: patch.branch, url });
    expect(await send(patch, opening(service))).toEqual({ branch: patch.branch, url, existing: true });
  });

  it("refuses a branch of that name that is the first commit of another history", async () => {
    const service = await serveForge(vendor, remote());
    const patch = patchOf();
    const other = git(work(), "commit-tree", "HEAD^{tree}", "-m", "other");
    git(work(), "push", "-q", "origin", `${other}:refs/heads/${patch.branch}`);
    await expect(send(patch, opening(service))).rejects.toMatchObject({ code: "call.refused" });
  });

  test.each(turnOf(IN_THE_WAY, 2))("refuses a new file if upstream has %s", async (_what, added, upstream, named) => {
    const service = await serveForge(vendor, remote());
    const patch = patchBy(() => place(added));
    commit(upstream);
    const message = `conflicts in ${added}, where it has ${named}`;
    await expect(send(patch, opening(service))).rejects.toThrow(message);
    expect(service.writes).toEqual([]);
  });

  test.each(turnOf(TURNED, 1))("turns %s", async (_what, from, to) => {
    const service = await serveForge(vendor, remote());
    const patch = turning(from, to);
    expect(await send(patch, opening(service))).toMatchObject({ branch: patch.branch });
    expect(at(patch.branch, to)).toBe("turned");
  });

  test("creates only the request if the branch with a moved file exists already", async () => {
    const service = await serveForge(vendor, remote());
    const patch = patchBy(() => renameSync(join(work(), "a.txt"), join(work(), "moved.txt")));
    service.failAt = vendor === "github" ? 3 : 1;
    await expect(send(patch, opening(service))).rejects.toThrow();
    service.failAt = 0;
    expect(await send(patch, opening(service))).toEqual({ branch: patch.branch, url: expect.any(String) });
    expect(await send(patch, opening(service))).toMatchObject({ existing: true });
    expect(service.requests).toHaveLength(1);
  });

  test("changes no other byte of a file that is no longer UTF-8 upstream", async () => {
    const service = await serveForge(vendor, remote());
    const patch = patchOf();
    push("a.txt", Buffer.from(LINES.replace("one", "\xf6ne"), "latin1"));
    if (vendor === "github") return expect(send(patch, opening(service))).rejects.toThrow("a.txt is not UTF-8");
    await send(patch, opening(service));
    const args = ["show", `${patch.branch}:a.txt`];
    expect(execFileSync("git", args, { cwd: remote(), encoding: "latin1" })).toContain("\xf6ne");
  });

  test.each(Array.from({ length: writes }, (_, index) => [index + 1]))(
    "has one branch and one request after the connection broke at write %i",
    async (failAt) => {
      const service = await serveForge(vendor, remote());
      const patch = patchOf();
      service.failAt = failAt;
      await expect(send(patch, opening(service))).rejects.toThrow();
      service.failAt = 0;
      expect(await send(patch, opening(service))).toMatchObject({ branch: patch.branch, url: expect.any(String) });
      expect(service.requests).toHaveLength(1);
      expect(git(remote(), "rev-list", "--count", `main..${patch.branch}`)).toBe("1");
    },
  );
});
