import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SkillflowError } from "../../../core/base/errors.ts";
import type { Environment } from "../../../core/document/config.ts";

/** Git in a folder of apply's own, which has no hooks, no remotes and nothing of the checkout's config. */

export interface OwnFolder {
  readonly path: string;
  /** Runs git in the folder. Throws if it fails, unless `may` lists its exit code. */
  git(args: readonly string[], how?: GitOptions): Promise<GitResult>;
}

interface GitOptions {
  readonly input?: string | Buffer;
  readonly env?: Environment;
  readonly may?: readonly number[];
}

interface GitResult {
  readonly code: number;
  readonly out: Buffer;
}

const OFF = [
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["commit.gpgSign", "false"],
  ["push.gpgSign", "false"],
  ["merge.renames", "false"],
  ["protocol.allow", "never"],
  ["protocol.file.allow", "always"],
  ["protocol.ssh.allow", "always"],
  ["protocol.https.allow", "always"],
].flatMap(([name, value]) => ["-c", `${name}=${value}`]);

const AUTHOR = {
  GIT_AUTHOR_NAME: "skillflow",
  GIT_AUTHOR_EMAIL: "skillflow@localhost",
  GIT_COMMITTER_NAME: "skillflow",
  GIT_COMMITTER_EMAIL: "skillflow@localhost",
};

/** Runs the work with an empty repository, which is removed afterwards. */
export async function withOwnFolder<Value>(
  { env, signal }: { readonly env: Environment; readonly signal: AbortSignal },
  work: (folder: OwnFolder) => Promise<Value>,
): Promise<Value> {
  const path = await mkdtemp(join(tmpdir(), "skillflow-apply-"));
  const clean = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("GIT_")));
  const folder: OwnFolder = {
    path,
    async git(args, { input = "", env: more = {}, may = [0] } = {}) {
      const set = { ...clean, ...AUTHOR, GIT_DIR: path, GIT_TERMINAL_PROMPT: "0", LC_ALL: "C", ...more };
      const { code, out, err } = await runGit([...OFF, ...args], { cwd: path, env: set, signal, input });
      if (may.includes(code)) return { code, out };
      throw new SkillflowError("tool.failed", `git ${args[0]} failed: ${err.trim().slice(0, 1000)}`);
    },
  };
  try {
    await folder.git(["init", "--quiet", "--bare", "--template=", "."]);
    return await work(folder);
  } finally {
    await rm(path, { recursive: true, force: true });
  }
}

interface Running {
  readonly cwd: string;
  readonly env: Environment;
  readonly signal: AbortSignal;
  readonly input: string | Buffer;
}

function runGit(args: readonly string[], { cwd, env, signal, input }: Running) {
  return new Promise<GitResult & { readonly err: string }>((resolve, reject) => {
    const child = spawn("git", args, { cwd, env, signal, stdio: ["pipe", "pipe", "pipe"] });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on("data", (part: Buffer) => out.push(part));
    child.stderr.on("data", (part: Buffer) => err.push(part));
    child.stdin.on("error", () => undefined);
    child.on("error", reject);
    child.on("close", (code) => {
      resolve({ code: code ?? -1, out: Buffer.concat(out), err: Buffer.concat(err).toString("utf8") });
    });
    child.stdin.end(input);
  });
}
