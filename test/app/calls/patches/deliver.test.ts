import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { deliver } from "../../../../src/app/calls/patches/deliver.ts";
import type { Forge } from "../../../../src/app/calls/patches/forge.ts";
import { withOwnFolder } from "../../../../src/app/calls/patches/git.ts";
import { openGitHub } from "../../../../src/app/calls/patches/github.ts";
import { openGitLab } from "../../../../src/app/calls/patches/gitlab.ts";
import { openRemote } from "../../../../src/app/calls/patches/remote.ts";
import { findTarget } from "../../../../src/app/calls/patches/target.ts";
import { createRedactor } from "../../../../src/core/base/redact/redact.ts";
import type { Patch } from "../../../../src/core/engine/event/patch.ts";

/** Delivery of approved patches: fixes X11 to X13. The repository behind every service is a real one. */

let root = "";
let servers: Server[] = [];
const AS = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=main"];
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
  for (const server of servers) server.close();
  servers = [];
});

const work = () => join(root, "work");
const remote = () => join(root, "remote.git");
const put = (path: string, text: string) => writeFileSync(join(work(), path), text);

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

function push(path: string, text: string) {
  git(work(), "checkout", "-q", "-b", `side-${Math.abs(text.length)}`);
  put(path, text);
  git(work(), "add", "-A");
  git(work(), "commit", "-qm", "upstream");
  git(work(), "push", "-q", "origin", "HEAD:main");
}

async function send(patch: Patch, open: (folder: Parameters<typeof openRemote>[0]) => Forge, secrets: string[] = []) {
  const redactor = createRedactor(secrets.map((value) => ({ name: "KEY", value })) as never);
  return withOwnFolder({ env: process.env, signal: AbortSignal.timeout(60_000) }, (folder) =>
    deliver({ run: "r-1", patch, folder, checkout: join(work(), ".git"), forge: open(folder), redactor }),
  );
}
const byPush = (folder: Parameters<typeof openRemote>[0]) => openRemote(folder, remote());
const at = (branch: string, path: string) => git(remote(), "show", `${branch}:${path}`);

describe("git push", () => {
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
    expect(git(remote(), "branch", "--list", "skillflow/*")).toBe("");
  });

  test("fails if the branch appears meanwhile, even where a push would only move it forward", async () => {
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
    const sent = withOwnFolder({ env, signal: AbortSignal.timeout(60_000) }, (folder) =>
      deliver({
        ...{ run: "r-1", patch, folder, checkout: join(work(), ".git") },
        ...{ forge: byPush(folder), redactor: createRedactor([]) },
      }),
    );
    expect(await sent).toEqual({ branch: patch.branch });
    expect(existsSync(marker)).toBe(false);
  });

  test("takes no address in the checkout itself, whose hooks would run", () => {
    const origin = (url: string) => git(work(), "remote", "set-url", "origin", url);
    git(work(), "init", "-q", "--bare", "evil.git");
    mkdirSync(join(work(), "deep"));
    symlinkSync(join(work(), "evil.git"), join(root, "link.git"));
    const inside = [join(work(), "evil.git"), `file://${join(work(), "evil.git")}`, join(root, "link.git"), work()];
    for (const url of inside) {
      origin(url);
      expect(() => findTarget(join(work(), "deep"), {})).toThrow("in the checkout itself");
    }
    origin(remote());
    expect(findTarget(join(work(), "deep"), {})).toMatchObject({ url: remote(), skill: undefined });
  });

  test("reports a change that is there already", async () => {
    const patch = patchOf();
    put("b.txt", "new\n");
    push("a.txt", LINES.replace("seven", "SEVEN"));
    expect(await send(patch, byPush)).toEqual({
      branch: patch.branch,
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

interface Service {
  readonly address: string;
  readonly writes: string[];
  readonly requests: { [name: string]: unknown }[];
  failAt: number;
}

type Answer = (
  asked: { method: string; path: string; query: URLSearchParams; body: never },
  service: Service,
) => unknown;

/** Serves the bare repository through a vendor's API. `failAt`: the write after which the connection breaks. */
async function serve(answer: Answer): Promise<Service> {
  const service: Service & { address: string } = { address: "", writes: [], requests: [], failAt: 0 };
  const handle = (request: IncomingMessage, response: ServerResponse, text: string) => {
    const url = new URL(request.url ?? "", "http://x");
    const method = request.method ?? "";
    if (request.headers.authorization !== "Bearer key") return response.writeHead(401).end("{}");
    const asked = {
      method,
      path: decodeURIComponent(url.pathname),
      query: url.searchParams,
      body: JSON.parse(text || "{}") as never,
    };
    const given = answer(asked, service);
    if (method === "POST") service.writes.push(asked.path);
    if (method === "POST" && service.writes.length === service.failAt) return request.socket.destroy();
    return response.writeHead(given === undefined ? 404 : 200).end(JSON.stringify(given ?? {}));
  };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => handle(request, response, Buffer.concat(parts).toString()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  servers.push(server);
  service.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return service;
}

const tryGit = (...args: string[]) => {
  try {
    return execFileSync("git", args, { cwd: remote(), stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return undefined;
  }
};
const idOf = (ref: string) => tryGit("rev-parse", "--verify", "-q", ref)?.toString().trim();

const gitHub: Answer = ({ method, path, query, body }, { requests }) => {
  const of = path.replace("/repos/o/r", "").replace(/^\//, "");
  const given: Record<string, unknown> = body;
  if (method === "GET" && of === "") return { default_branch: "main" };
  if (method === "GET" && of.startsWith("git/ref/heads/")) {
    const sha = idOf(`refs/heads/${of.slice("git/ref/heads/".length)}`);
    return sha && { object: { sha } };
  }
  if (method === "GET" && of.startsWith("git/commits/")) {
    const [tree = "", parents = ""] = git(remote(), "log", "-1", "--format=%T%n%P", of.slice(12)).split("\n");
    return {
      tree: { sha: tree },
      parents: parents
        .split(" ")
        .filter(Boolean)
        .map((sha) => ({ sha })),
    };
  }
  if (method === "GET" && of.startsWith("git/trees/")) {
    const lines = git(remote(), "ls-tree", of.slice(10)).split("\n").filter(Boolean);
    const tree = lines.map((line) => /^(\d+) (\w+) (\w+)\t(.*)$/.exec(line) ?? []);
    return { truncated: false, tree: tree.map(([, mode, type, sha, name]) => ({ mode, type, sha, path: name })) };
  }
  if (method === "GET" && of.startsWith("git/blobs/")) {
    return { content: tryGit("cat-file", "blob", of.slice(10))?.toString("base64"), encoding: "base64" };
  }
  if (method === "GET" && of.startsWith("compare/")) {
    const files = git(remote(), "diff", "--name-only", ...of.slice(8).split("...")).split("\n");
    return { files: files.map((filename) => ({ filename })) };
  }
  if (of === "git/trees") {
    const env = { ...process.env, GIT_INDEX_FILE: join(root, "service-index") };
    const run = (args: string[], input = "") =>
      execFileSync("git", args, { cwd: remote(), env, input, encoding: "utf8" }).trim();
    run(["read-tree", given.base_tree as string]);
    for (const one of given.tree as { path: string; mode: string; content?: string; sha?: null }[]) {
      const id = one.content === undefined ? "0".repeat(40) : run(["hash-object", "-w", "--stdin"], one.content);
      run(["update-index", "--index-info"], `${one.content === undefined ? "0" : one.mode} ${id}\t${one.path}\n`);
    }
    return { sha: run(["write-tree"]) };
  }
  if (of === "git/commits") {
    return {
      sha: git(
        remote(),
        "commit-tree",
        given.tree as string,
        "-p",
        (given.parents as string[])[0] ?? "",
        "-m",
        given.message as string,
      ),
    };
  }
  if (of === "git/refs") {
    if (idOf(given.ref as string)) throw new Error("the reference exists");
    git(remote(), "update-ref", given.ref as string, given.sha as string);
    return {};
  }
  if (method === "GET" && of === "pulls") return requests.filter((pull) => query.get("head") === `o:${pull.head}`);
  if (of === "pulls") {
    const pull = {
      ...given,
      number: requests.length + 1,
      labels: [] as unknown[],
      html_url: "https://github.test/pull/1",
    };
    requests.push(pull);
    return pull;
  }
  if (/^issues\/\d+\/labels$/.test(of)) {
    Object.assign(requests[0] ?? {}, { labels: (given.labels as string[]).map((name) => ({ name })) });
    return [];
  }
  return undefined;
};

const gitLab: Answer = ({ method, path, query, body }, { requests }) => {
  const of = path.replace("/api/v4/projects/o/r", "").replace(/^\//, "");
  const given: Record<string, unknown> = body;
  if (method === "GET" && of === "") return { default_branch: "main" };
  if (method === "GET" && of.startsWith("repository/branches/")) {
    const id = idOf(`refs/heads/${of.slice(20)}`);
    return id && { commit: { id, parent_ids: git(remote(), "log", "-1", "--format=%P", id).split(" ") } };
  }
  if (method === "GET" && of.startsWith("repository/files/")) {
    const content = tryGit("show", `${query.get("ref")}:${of.slice(17)}`);
    return content && { content: content.toString("base64"), execute_filemode: false };
  }
  if (method === "GET" && of === "repository/compare") {
    const names = git(remote(), "diff", "--name-only", query.get("from") ?? "", query.get("to") ?? "").split("\n");
    return { diffs: names.map((name) => ({ new_path: name, old_path: name })) };
  }
  if (of === "repository/commits") {
    const folder = mkdtempSync(join(root, "lab-"));
    git(root, "clone", "-q", "remote.git", folder);
    git(folder, "checkout", "-q", given.start_sha as string);
    for (const one of given.actions as { action: string; file_path: string; content: string }[]) {
      if (
        (one.action === "create") !==
        (tryGit("cat-file", "-e", `${given.start_sha}:${one.file_path}`) === undefined)
      ) {
        throw new Error(`${one.action} of ${one.file_path}`);
      }
      writeFileSync(join(folder, one.file_path), Buffer.from(one.content, "base64"));
    }
    git(folder, "add", "-A");
    git(folder, "commit", "-qm", given.commit_message as string);
    git(folder, "push", "-q", "origin", `HEAD:refs/heads/${given.branch}`);
    return { id: "x" };
  }
  if (method === "GET" && of === "merge_requests") {
    return requests.filter((one) => one.source_branch === query.get("source_branch"));
  }
  if (of === "merge_requests") {
    const made = { ...given, web_url: "https://gitlab.test/mr/1" };
    requests.push(made);
    return made;
  }
  return undefined;
};

describe.each([
  ["GitHub", gitHub, openGitHub, 5],
  ["GitLab", gitLab, openGitLab, 2],
] as const)("%s", (name, answer, open, writes) => {
  const opening = (service: Service) => () =>
    open(
      {
        name,
        address: service.address,
        headers: { authorization: "Bearer key" },
        fetch,
        signal: AbortSignal.timeout(60_000),
      },
      "o/r",
    );

  test("makes a branch and a draft request, once", async () => {
    const service = await serve(answer);
    const patch = patchOf();
    push("a.txt", LINES.replace("one", "ONE"));
    expect(await send(patch, opening(service))).toEqual({ branch: patch.branch, url: expect.stringContaining("/1") });
    expect(at(patch.branch, "a.txt")).toBe(LINES.replace("one", "ONE").replace("seven", "SEVEN").trim());
    expect(service.requests).toHaveLength(1);
    expect(await send(patch, opening(service))).toMatchObject({ branch: patch.branch, existing: true });
    expect(service.writes).toHaveLength(writes);
  });

  test.each(Array.from({ length: writes }, (_, index) => [index + 1]))(
    "has one branch and one request after the connection broke at write %i",
    async (failAt) => {
      const service = await serve(answer);
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
