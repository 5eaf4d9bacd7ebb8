import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** The parts of GitHub and GitLab that accept branches and requests. The repository behind them is a real one. */

export interface Forge {
  readonly address: string;
  readonly writes: string[];
  readonly requests: { [name: string]: unknown }[];
  /** The write after which the connection breaks, from 1. 0 for none. */
  failAt: number;
  onWrite?: () => void;
}

type Answer = (asked: { method: string; path: string; query: URLSearchParams; body: never }, service: Forge) => unknown;

/** Serves a bare repository through a vendor's API as o/r, with the key "key". Closed with the process that tests it. */
export async function serveForge(vendor: "github" | "gitlab", remote: string): Promise<Forge> {
  const answer = (vendor === "github" ? gitHub : gitLab)(remote);
  const service: Forge & { address: string } = { address: "", writes: [], requests: [], failAt: 0 };
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
    if (method === "POST") service.onWrite?.();
    if (method === "POST" && service.writes.length === service.failAt) return request.socket.destroy();
    return response.writeHead(given === undefined ? 404 : 200).end(JSON.stringify(given ?? {}));
  };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => handle(request, response, Buffer.concat(parts).toString()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  service.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return service;
}

const AS = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=main"];
const git = (cwd: string, ...args: string[]) => execFileSync("git", [...AS, ...args], { cwd, encoding: "utf8" }).trim();
const tryGit = (remote: string, ...args: string[]) => {
  try {
    return execFileSync("git", args, { cwd: remote, stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return undefined;
  }
};
const idOf = (remote: string, ref: string) => tryGit(remote, "rev-parse", "--verify", "-q", ref)?.toString().trim();

/** Files that differ, with renamed ones as vendors report them: status, old path, new path. */
const changesIn = (remote: string, ...between: string[]) =>
  git(remote, "diff", "-M", "--name-status", ...between)
    .split("\n")
    .map((line) => {
      const [status = "", from = "", to = from] = line.split("\t");
      return [status.startsWith("R") ? "renamed" : "modified", from, to] as const;
    });

const gitHub =
  (remote: string): Answer =>
  ({ method, path, query, body }, { requests }) => {
    const of = path.replace("/repos/o/r", "").replace(/^\//, "");
    const given: Record<string, unknown> = body;
    if (method === "GET" && of === "") return { default_branch: "main" };
    if (method === "GET" && of.startsWith("git/ref/heads/")) {
      const sha = idOf(remote, `refs/heads/${of.slice("git/ref/heads/".length)}`);
      return sha && { object: { sha } };
    }
    if (method === "GET" && of.startsWith("git/commits/")) {
      const [tree = "", parents = ""] = git(remote, "log", "-1", "--format=%T%n%P", of.slice(12)).split("\n");
      return {
        tree: { sha: tree },
        message: git(remote, "log", "-1", "--format=%B", of.slice(12)),
        parents: parents
          .split(" ")
          .filter(Boolean)
          .map((sha) => ({ sha })),
      };
    }
    if (method === "GET" && of.startsWith("git/trees/")) {
      const lines = git(remote, "ls-tree", of.slice(10)).split("\n").filter(Boolean);
      const tree = lines.map((line) => /^(\d+) (\w+) (\w+)\t(.*)$/.exec(line) ?? []);
      return { truncated: false, tree: tree.map(([, mode, type, sha, name]) => ({ mode, type, sha, path: name })) };
    }
    if (method === "GET" && of.startsWith("git/blobs/")) {
      return { content: tryGit(remote, "cat-file", "blob", of.slice(10))?.toString("base64"), encoding: "base64" };
    }
    if (method === "GET" && of.startsWith("compare/")) {
      const files = changesIn(remote, ...of.slice(8).split("...")).map(([status, from, to]) =>
        status === "renamed" ? { status, filename: to, previous_filename: from } : { status, filename: to },
      );
      return { files };
    }
    if (of === "git/trees") {
      const env = { ...process.env, GIT_INDEX_FILE: join(remote, "service-index") };
      const run = (args: string[], input = "") =>
        execFileSync("git", args, { cwd: remote, env, input, encoding: "utf8" }).trim();
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
          remote,
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
      if (idOf(remote, given.ref as string)) throw new Error("the reference exists");
      git(remote, "update-ref", given.ref as string, given.sha as string);
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

const gitLab =
  (remote: string): Answer =>
  ({ method, path, query, body }, { requests }) => {
    const of = path.replace("/api/v4/projects/o/r", "").replace(/^\//, "");
    const given: Record<string, unknown> = body;
    if (method === "GET" && of === "") return { default_branch: "main" };
    if (method === "GET" && of.startsWith("repository/branches/")) {
      const id = idOf(remote, `refs/heads/${of.slice(20)}`);
      return id && { commit: { id } };
    }
    if (method === "GET" && of.startsWith("repository/commits/")) {
      const [message, parents] = ["%B", "%P"].map((format) =>
        git(remote, "log", "-1", `--format=${format}`, of.slice(19)),
      );
      return { message, parent_ids: parents?.split(" ").filter(Boolean) };
    }
    if (method === "GET" && of.startsWith("repository/files/")) {
      const content = tryGit(remote, "cat-file", "blob", `${query.get("ref")}:${of.slice(17)}`);
      return content && { content: content.toString("base64"), execute_filemode: false };
    }
    if (method === "GET" && of === "repository/compare") {
      const changes = changesIn(remote, query.get("from") ?? "", query.get("to") ?? "");
      const diffs = changes.map(([status, old_path, new_path]) => {
        return { old_path, new_path, renamed_file: status === "renamed" };
      });
      return { diffs };
    }
    if (method === "GET" && of === "repository/tree") {
      const listed = tryGit(remote, "ls-tree", `${query.get("ref")}:${query.get("path")}`)?.toString();
      const all = listed
        ?.split("\n")
        .filter(Boolean)
        .map((line) => /^(\d+) (\w+) (\w+)\t(.*)$/.exec(line) ?? []);
      const [size, page] = [Number(query.get("per_page")), Number(query.get("page"))];
      const entries = all?.slice((page - 1) * size, page * size);
      return entries?.map(([, mode, type, id, name]) => ({ id, name, type, mode }));
    }
    if (of === "repository/commits") {
      const folder = mkdtempSync(join(tmpdir(), "lab-"));
      git(tmpdir(), "clone", "-q", remote, folder);
      git(folder, "checkout", "-q", given.start_sha as string);
      for (const one of given.actions as { action: string; file_path: string; content: string }[]) {
        if (
          (one.action === "create") !==
          (tryGit(remote, "cat-file", "blob", `${given.start_sha}:${one.file_path}`) === undefined)
        ) {
          throw new Error(`${one.action} of ${one.file_path}`);
        }
        if (one.action === "delete") {
          rmSync(join(folder, one.file_path));
          continue;
        }
        rmSync(join(folder, one.file_path), { recursive: true, force: true });
        mkdirSync(dirname(join(folder, one.file_path)), { recursive: true });
        writeFileSync(join(folder, one.file_path), Buffer.from(one.content, "base64"));
      }
      git(folder, "add", "-A");
      git(folder, "commit", "-qm", given.commit_message as string);
      git(folder, "push", "-q", "origin", `HEAD:refs/heads/${given.branch}`);
      rmSync(folder, { recursive: true });
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
