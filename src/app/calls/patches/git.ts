import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SkillflowError } from "../../../core/base/errors.ts";
import type { Environment } from "../../../core/document/config.ts";
import type { ProcessMark } from "../../../core/engine/ports.ts";
import { temporaryName } from "../../../files/temporary-name.ts";
import { type GitOutput, type Running, runGit } from "../../../stores/state/git-command.ts";

/** Git in a folder of apply's own, which has no hooks, no remotes and nothing of the checkout's config. */
export interface OwnFolder {
  /** Runs git in the folder. Throws if it fails, unless `may` lists its exit code. */
  git(args: readonly string[], how?: GitOptions): Promise<GitOutput>;
  text(args: readonly string[], how?: GitOptions): Promise<string>;
}

interface GitOptions {
  readonly input?: string | Buffer;
  readonly env?: Environment;
  readonly may?: readonly number[];
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

/** Runs the work with an empty repository, which is removed afterwards. A git command may take `mostMs`. */
export async function withOwnFolder<Value>(
  { env, self, ...how }: Required<Pick<Running, "env" | "signal" | "mostMs" | "kill">> & { readonly self: ProcessMark },
  work: (folder: OwnFolder) => Promise<Value>,
): Promise<Value> {
  const path = await mkdtemp(join(tmpdir(), temporaryName("apply", self)));
  const clean = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("GIT_")));
  const git: OwnFolder["git"] = async (args, { input, env: more = {}, may = [0] } = {}) => {
    const set = { ...clean, ...AUTHOR, GIT_DIR: path, GIT_TERMINAL_PROMPT: "0", LC_ALL: "C", ...more };
    const output = await runGit([...OFF, ...args], { directory: path, env: set, input, ...how });
    if (may.includes(output.status)) return output;
    throw new SkillflowError("tool.failed", `git ${args[0]} failed: ${output.said}`);
  };
  try {
    await git(["init", "--quiet", "--bare", "--template=", "."]);
    return await work({ git, text: async (args, how) => (await git(args, how)).stdout.toString("utf8").trim() });
  } finally {
    await rm(path, { recursive: true, force: true });
  }
}

export interface FileState {
  readonly mode: string;
  readonly content: Buffer;
}

/** Entry of a folder: a blob is a file or a link, a commit is a submodule. */
export interface Entry {
  readonly name: string;
  readonly type: string;
}

/** Lists a folder of a commit. Empty if there is none. */
export async function entriesIn(folder: OwnFolder, commit: string, path: string): Promise<Entry[]> {
  const listed = await folder.text(["ls-tree", "-z", `${commit}:${path}`], { may: [0, 128] });
  return [...listed.matchAll(/(?:^|\0)\d+ (\w+) [0-9a-f]+\t([^\0]+)/g)].map(([, type = "", name = ""]) => ({
    type,
    name,
  }));
}

/** Reads a file of a commit or tree. Returns undefined if there is none. */
export async function stateIn(
  folder: OwnFolder,
  { tree, path, env = {} }: { readonly tree: string; readonly path: string; readonly env?: Environment },
): Promise<FileState | undefined> {
  const listed = await folder.text(["ls-tree", "-z", "--full-tree", tree, "--", `:(literal)${path}`], { env });
  const [, mode, id] = /^(\d+) blob ([0-9a-f]+)\t/.exec(listed) ?? [];
  if (mode === undefined || id === undefined) return undefined;
  return { mode, content: (await folder.git(["cat-file", "blob", id], { env })).stdout };
}

export async function changedPaths(folder: OwnFolder, from: string, to: string): Promise<string[]> {
  const { stdout } = await folder.git(["diff-tree", "-r", "-z", "--no-renames", "--name-only", from, to]);
  return stdout.toString("utf8").split("\0").filter(Boolean);
}
