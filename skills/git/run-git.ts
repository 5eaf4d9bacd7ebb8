import { spawn } from "node:child_process";
import { type Dirent, promises } from "node:fs";
import { copyFile, lstat, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { ToolContext } from "skillflow";
import { limitOf } from "skillflow/internal";

export interface GitOutput {
  readonly text: string;
  readonly bytes: Buffer;
  /** True if there was more output than `most` bytes. */
  readonly truncated: boolean;
  readonly code: number;
  readonly errors: string;
}

interface GitOptions {
  /** Number of bytes to read before git is stopped. */
  readonly most?: number;
  readonly skipLines?: number;
  /** Accepts a nonzero exit code, which may be a result instead of a failure. */
  readonly mayFail?: boolean;
}

/** Runs one git command. Throws an Error with the cause if it fails. */
type Run = (args: readonly string[], options?: GitOptions) => Promise<GitOutput>;

/** Git for one repository. Commits later than `limit` must not be shown: it is the clock of a backtest. */
export type Git = Run & { readonly limit: number };

export const USUAL_PATH = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin";
const USUAL_BYTES = 4 * 1024 * 1024;
const ERRORS_KEPT = 4096;

export interface Parts {
  /** Contains HEAD. */
  readonly gitDir: string;
  /** Contains objects and references. Differs from `gitDir` only in a linked working tree. */
  readonly commonDir: string;
  readonly shallow: boolean;
}

/**
 * Calls `use` with a git for one repository, or for none. The repository cannot make it run or read anything else. Git
 * sees objects and references through a separate git directory, without the repository's configuration, hooks,
 * attributes and index. It runs in an empty private directory that is removed afterwards.
 */
export async function withGit<T>(
  parts: Parts | undefined,
  context: ToolContext,
  use: (git: Git) => Promise<T>,
): Promise<T> {
  const limit = limitOf(context);
  const home = await mkdtemp(join(tmpdir(), "git-skill-"));
  try {
    // Git treats unpacking a bundle, the only work outside a repository, as a transfer from a file.
    const env = environment(home, context, parts ? "none" : "file");
    const outside: Run = (args, options = {}) =>
      runGit([...FRONT, ...args], { cwd: home, env, signal: context.signal }, options);
    if (!parts) return await use(Object.assign(outside, { limit }));
    const view = await createView(join(home, "view.git"), parts, outside);
    const tree = join(home, "tree");
    await mkdir(tree);
    const inside = { cwd: tree, env: { ...env, ...view }, signal: context.signal };
    const git: Run = (args, options = {}) => runGit([...FRONT, `--work-tree=${tree}`, ...args], inside, options);
    if (Number.isFinite(limit)) await moveHead(view.GIT_DIR, limit, git);
    return await use(Object.assign(git, { limit }));
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

const FRONT = ["--no-pager", "--literal-pathspecs"];

/** Creates a git directory with only another one's objects and references. Returns the variables to select it. */
async function createView(view: string, parts: Parts, git: Run) {
  const { gitDir, commonDir, shallow } = parts;
  const head = await readFile(join(gitDir, "HEAD"), "utf8");
  if (!/^(?:ref: refs\/\S+|[0-9a-f]{40,64})\s*$/.test(head))
    throw new Error("the repository's HEAD does not name a branch or a commit");
  await mkdir(view);
  await writeFile(join(view, "HEAD"), head);
  await writeFile(join(view, "config"), configOf(await readFormat(join(commonDir, "config"), git)));
  for (const part of ["refs", "packed-refs"]) await symlink(join(commonDir, part), join(view, part));
  if (shallow) await copyFile(join(commonDir, "shallow"), join(view, "shallow"));
  return { GIT_DIR: view, GIT_OBJECT_DIRECTORY: join(commonDir, "objects") };
}

/** Sets a view's HEAD to its last commit up to a time, so that every name that begins with HEAD is as it was then. */
async function moveHead(view: string, limit: number, git: Run): Promise<void> {
  const time = new Date(limit).toISOString();
  const { code, text } = await git(["rev-list", "--first-parent", "--max-count=1", `--until=${time}`, "HEAD", "--"], {
    mayFail: true,
  });
  if (code === 0 && text === "") throw new Error(`the repository has no commit before ${time}, the time of this run`);
  if (code === 0) return writeFile(join(view, "HEAD"), text);
  const { code: hasNone } = await git(["rev-parse", "--verify", "--quiet", "HEAD"], { mayFail: true });
  if (hasNone === 0) throw new Error(`the last commit before ${time}, the time of this run, cannot be found`);
}

/** Reads the object format, the only setting of a repository that reading it requires. */
async function readFormat(config: string, git: Run): Promise<string> {
  const args = [
    "config",
    "--file",
    config,
    "--no-includes",
    "--get-regexp",
    "^extensions\\.(objectformat|refstorage)$",
  ];
  const { text } = await git(args, { mayFail: true });
  if (/^extensions\.refstorage reftable$/m.test(text))
    throw new Error("the repository stores its references as a reftable, which is not supported");
  return /^extensions\.objectformat sha256$/m.test(text) ? "sha256" : "sha1";
}

function configOf(format: string): string {
  return [
    "[core]",
    "repositoryFormatVersion = 1",
    // The multi-pack index refers to packs by path, possibly outside the repository.
    "multiPackIndex = false",
    "hooksPath = /dev/null",
    "attributesFile = /dev/null",
    "[extensions]",
    `objectFormat = ${format}`,
    "[log]",
    "mailmap = false",
    "[protocol]",
    "allow = never",
    "",
  ].join("\n");
}

/** Arguments for a plain diff, whatever git's configuration is. */
export const PLAIN_DIFF = ["--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short"];

function environment(home: string, context: ToolContext, protocol: string): NodeJS.ProcessEnv {
  const path = (context.config["PATH"] || USUAL_PATH).split(":").filter(isAbsolute).join(":");
  return {
    PATH: path,
    HOME: home,
    LANG: "C",
    LC_ALL: "C",
    TZ: "UTC",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "false",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_NO_REPLACE_OBJECTS: "1",
    GIT_NO_LAZY_FETCH: "1",
    GIT_PAGER: "cat",
    GIT_SSH_COMMAND: "false",
    // Overrides all protocol settings of a repository, so that a missing object starts no fetch.
    GIT_ALLOW_PROTOCOL: protocol,
  };
}

interface Surroundings {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
}

const GRACE_MS = 2000;

async function runGit(args: readonly string[], where: Surroundings, options: GitOptions): Promise<GitOutput> {
  where.signal.throwIfAborted();
  const { most = USUAL_BYTES, skipLines = 0, mayFail = false } = options;
  const child = spawn("git", args, { cwd: where.cwd, env: where.env, stdio: ["ignore", "pipe", "pipe"] });
  const taken = createTaker(most, skipLines, () => child.kill());
  let errors = "";
  child.stdout.on("data", taken.take);
  child.stderr.on("data", (piece: Buffer) => {
    errors = (errors + piece.toString("utf8")).slice(0, ERRORS_KEPT);
  });
  // On SIGTERM, git stops its own children. If it does not exit in time, SIGKILL follows.
  let grace: NodeJS.Timeout | undefined;
  const stop = () => {
    child.kill();
    grace = setTimeout(() => child.kill("SIGKILL"), GRACE_MS);
  };
  where.signal.addEventListener("abort", stop, { once: true });
  try {
    const code = await new Promise<number>((resolve, reject) => {
      child.once("error", (error) => reject(new Error(`cannot start git: ${error.message}`)));
      child.once("close", (status) => resolve(status ?? -1));
    });
    where.signal.throwIfAborted();
    const bytes = taken.bytes();
    const output = { bytes, text: bytes.toString("utf8"), truncated: taken.truncated(), code, errors: errors.trim() };
    if (code !== 0 && !output.truncated && !mayFail) throw faultOf(output);
    return output;
  } finally {
    clearTimeout(grace);
    where.signal.removeEventListener("abort", stop);
  }
}

/** Describes a failure in fixed words, because git's own message may quote a file. */
export function faultOf({ code, errors }: Pick<GitOutput, "code" | "errors">): Error {
  const known = KNOWN_FAULTS.find(([sign]) => sign.test(errors));
  return new Error(`git failed: ${known?.[1] ?? `exit status ${code}`}`);
}

const KNOWN_FAULTS: readonly (readonly [RegExp, string])[] = [
  [/prerequisite commits/, "the bundle needs commits that it does not contain"],
  [/unknown (?:repository extension|hash algorithm)/, "this git is too old for the format of the repository"],
  [
    /unable to (?:read|parse|open|unpack)|missing (?:blob|tree|commit|object)|bad (?:object|tree)|corrupt|could not (?:get|read|parse)/,
    "an object of the repository is missing or damaged",
  ],
];

/** Collects bytes up to a limit, after skipping some lines, and calls `onEnough` when it is full. */
function createTaker(most: number, skipLines: number, onEnough: () => void) {
  const pieces: Buffer[] = [];
  let size = 0;
  let toSkip = skipLines;
  let truncated = false;
  return {
    take(piece: Buffer) {
      let from = 0;
      while (toSkip > 0 && from < piece.length) {
        const newline = piece.indexOf(10, from);
        if (newline < 0) return;
        from = newline + 1;
        toSkip--;
      }
      const room = most - size;
      if (piece.length - from > room) {
        truncated = true;
        onEnough();
      }
      if (room <= 0 || from >= piece.length) return;
      const part = piece.subarray(from, from + room);
      pieces.push(part);
      size += part.length;
    },
    bytes: () => Buffer.concat(pieces),
    truncated: () => truncated,
  };
}

/**
 * Throws an Error if a repository inside the working directory uses data from outside. All parts that git reads must be
 * regular files or directories, not links, and it must not borrow objects.
 */
export async function checkOwn({ gitDir, commonDir }: Parts, name: string, signal: AbortSignal): Promise<void> {
  const files = [join(gitDir, "HEAD"), ...["config", "packed-refs", "shallow"].map((file) => join(commonDir, file))];
  const folders = ["objects", "refs"].map((folder) => join(commonDir, folder));
  const kinds = await Promise.all([...files, ...folders].map((path) => lstat(path).catch(() => undefined)));
  if (!kinds.every((stats) => stats === undefined || stats.isFile() || stats.isDirectory())) throw elsewhere(name);
  const alternates = await lstat(join(commonDir, "objects/info/alternates")).catch(() => undefined);
  if (alternates && alternates.size > 0) throw elsewhere(name);
  for (const folder of folders) await checkFolder(folder, name, signal);
}

export function elsewhere(name: string): Error {
  return new Error(
    `${name} has symbolic links, or parts of its repository are elsewhere. The operator can set GIT_REPOSITORY to allow it`,
  );
}

const MOST_ENTRIES = 1_000_000;

async function checkFolder(top: string, name: string, signal: AbortSignal): Promise<void> {
  const folders = [top];
  let entries = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    signal.throwIfAborted();
    const found: readonly Dirent[] = await promises.readdir(folder, { withFileTypes: true });
    entries += found.length;
    if (entries > MOST_ENTRIES) throw new Error(`${name} has more than ${MOST_ENTRIES} loose objects. Run git gc`);
    for (const entry of found) {
      if (entry.isDirectory()) folders.push(join(folder, entry.name));
      else if (!entry.isFile()) throw elsewhere(name);
    }
  }
}

/** Number of digits of a commit id in lists. */
export const ID_SHOWN = 12;

export function shallowNote(shallow: boolean) {
  return shallow ? { shallow: "this is a shallow clone: older commits are missing" } : {};
}

export function utc(seconds: string): string {
  const date = new Date(Number(seconds) * 1000);
  return Number.isNaN(date.getTime()) ? `${seconds} s after 1970` : date.toISOString().replace(".000Z", "Z");
}

export function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}… [cut; ${text.length} characters]` : text;
}
