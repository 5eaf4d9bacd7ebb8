import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { SkillflowError } from "../../core/base/errors.ts";
import type { Environment } from "../../core/document/config.ts";

/** Reads the files of a commit as stored in the repository. Never runs the repository's filters or hooks. */

export interface Repository {
  readonly root: string;
  readonly env: Environment;
  /** True if commands may reach other repositories, with the user's config and credentials. */
  readonly reaches?: boolean;
}

/** Returns the id of the commit that a reference names, or undefined if there is none. */
export function resolveCommit(repository: Repository, ref: string): string | undefined {
  const { status, stdout } = git(repository, [
    "rev-parse",
    "--verify",
    "--quiet",
    "--end-of-options",
    `${ref}^{commit}`,
  ]);
  const id = stdout.toString("utf8").trim();
  return status === 0 && OBJECT_ID.test(id) ? id : undefined;
}

export function isPast(repository: Repository, commit: string, tip: string): boolean {
  return git(repository, ["merge-base", "--is-ancestor", commit, tip]).status === 0;
}

const OBJECT_ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

/** Larger files are neither documents nor parts of a skill. */
const MOST_BYTES = 8 * 1024 * 1024;
/** Maximum number of bytes to read per Git process. */
const BATCH_BYTES = 64 * 1024 * 1024;

/** Writes a commit's regular files to a folder. Skips links and submodules. */
export function writeCommit(repository: Repository, commit: string, folder: string): void {
  const files = entriesIn(repository, commit).filter(({ mode, size, path }) => {
    return mode.startsWith("100") && size <= MOST_BYTES && isPlainPath(path);
  });
  writeFiles(repository, files, folder);
}

/** Lists the files, links and submodules of a commit. Git's mode says what each is. */
export function entriesIn(repository: Repository, commit: string): (CommitFile & { readonly mode: string })[] {
  const { stdout } = demand(git(repository, ["ls-tree", "-r", "-z", "--long", "--full-tree", commit]));
  return [...stdout.toString("utf8").matchAll(/(\d+) \w+ ([0-9a-f]+) +(\d+|-)\t([^\0]*)\0/gy)].map(
    ([, mode = "", id = "", size, path = ""]) => ({ mode, id, size: Number(size), path, isProgram: mode === "100755" }),
  );
}

/** Writes files to a folder with the content of their objects, byte by byte. */
export function writeFiles(repository: Repository, entries: readonly CommitFile[], folder: string): void {
  for (const [{ path, isProgram }, content] of readFiles(repository, entries)) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, content, { mode: isProgram ? 0o700 : 0o600, flag: "wx" });
  }
}

/** Reads the objects of files, many with each process. */
export function* readFiles(repository: Repository, files: readonly CommitFile[]) {
  let batch: CommitFile[] = [];
  let size = 0;
  for (const [index, entry] of files.entries()) {
    batch.push(entry);
    size += entry.size;
    if (size <= BATCH_BYTES && index < files.length - 1) continue;
    const { stdout } = demand(git(repository, ["cat-file", "--batch"], batch.map(({ id }) => `${id}\n`).join("")));
    let at = 0;
    for (const file of batch) {
      const start = stdout.indexOf(10, at) + 1;
      at = start + file.size + 1;
      yield [file, stdout.subarray(start, start + file.size)] as const;
    }
    batch = [];
    size = 0;
  }
}

export interface CommitFile {
  readonly id: string;
  readonly size: number;
  readonly path: string;
  readonly isProgram: boolean;
}

/** Rejects unsafe paths, because a crafted tree may contain any name. */
function isPlainPath(path: string): boolean {
  return path.split("/").every((part) => part !== "" && part !== "." && part !== ".." && part.toLowerCase() !== ".git");
}

const FRONT = [
  "--no-pager",
  "--no-replace-objects",
  "--literal-pathspecs",
  ...["safe.directory=*", "core.fsmonitor=false", "core.hooksPath=/dev/null"].flatMap((setting) => ["-c", setting]),
];

/** Variables for commands that reach other repositories. Git then starts no program that an address names. */
const REACHING = /^(?:HOME|XDG_CONFIG_HOME|SSH_\w+|GIT_SSH|GIT_SSL_\w+|SSL_CERT_\w+|\w+_PROXY)$/i;
const MOST_MS = 60_000;

/** Runs a git command in a repository, without hooks, and by default without helpers, network and the user's config. */
export function git({ root, env, reaches = false }: Repository, args: readonly string[], input: string | Buffer = "") {
  const passed = Object.entries(env).filter(([name]) => REACHING.test(name));
  const reach = reaches
    ? {
        ...Object.fromEntries(passed),
        GIT_SSH_COMMAND: env.GIT_SSH_COMMAND ?? "ssh -oBatchMode=yes",
        GIT_ALLOW_PROTOCOL: "file:git:http:https:ssh",
      }
    : { GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null", GIT_ALLOW_PROTOCOL: "" };
  // A redirect could lead to a host that is not allowed.
  const front = [...FRONT, "-c", reaches ? "http.followRedirects=false" : "protocol.allow=never"];
  return spawnSync("git", [...front, "-C", root, ...args], {
    input,
    ...(reaches ? { timeout: MOST_MS } : {}),
    maxBuffer: 2 * BATCH_BYTES + MOST_BYTES,
    stdio: ["pipe", "pipe", "pipe"],
    env: {
      PATH: env.PATH,
      LANG: "C",
      LC_ALL: "C",
      GIT_TERMINAL_PROMPT: "0",
      GIT_OPTIONAL_LOCKS: "0",
      GIT_NO_REPLACE_OBJECTS: "1",
      GIT_NO_LAZY_FETCH: "1",
      ...reach,
    },
  });
}

type Ended = ReturnType<typeof git>;

export function demand(ended: Ended): Ended {
  if (ended.status === 0) return ended;
  const why = ended.error?.message ?? ended.stderr.toString("utf8").trim().slice(0, 500);
  throw new SkillflowError("usage.invalid", `the repository cannot be read: ${why}`);
}
