import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { ToolContext } from "skillflow";

export interface GitOutput {
  readonly text: string;
  readonly bytes: Buffer;
  /** The output went on after `most` bytes. */
  readonly truncated: boolean;
  readonly code: number;
  readonly errors: string;
}

export interface GitOptions {
  /** Bytes to take; git is stopped at that point. */
  readonly most?: number;
  /** Lines to pass over first. */
  readonly skipLines?: number;
  /** Git's exit code may tell a fact instead of a failure. */
  readonly mayFail?: boolean;
}

/** Runs one git command; throws what git says when it fails. */
export type Git = (args: readonly string[], options?: GitOptions) => Promise<GitOutput>;

const USUAL_PATH = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin";
const USUAL_BYTES = 4 * 1024 * 1024;
const ERRORS_KEPT = 4096;

/**
 * Lends a git that works on one repository (none: outside any) and cannot be made to run anything else by it. It works in
 * an empty private directory that is removed afterwards.
 */
export async function withGit<T>(
  gitDir: string | undefined,
  context: ToolContext,
  use: (git: Git) => Promise<T>,
): Promise<T> {
  const home = await mkdtemp(join(tmpdir(), "git-skill-"));
  try {
    // Unpacking a bundle, the one thing done outside a repository, counts as a transfer from a file.
    const env = environment(home, context, gitDir ? "none" : "file");
    const front = [...SAFE_SETTINGS, ...(gitDir ? [`--git-dir=${gitDir}`, `--work-tree=${home}`] : [])];
    return await use((args, options = {}) =>
      runGit([...front, ...args], { cwd: home, env, signal: context.signal }, options),
    );
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** The arguments that keep a diff from running a repository's programs and from taking its habits. */
export const PLAIN_DIFF = ["--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short"];

// Each of these can name a program that git runs, or a file that it reads, in a repository's own configuration.
const SAFE_SETTINGS = [
  "--no-pager",
  "--literal-pathspecs",
  ...[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.alternateRefsCommand=",
    "core.sshCommand=false",
    "core.pager=cat",
    "credential.helper=",
    "diff.external=",
    "diff.orderFile=/dev/null",
    "gpg.program=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
    "log.showSignature=false",
    "log.mailmap=false",
    "blame.ignoreRevsFile=",
    "protocol.allow=never",
  ].flatMap((setting) => ["-c", setting]),
];

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
    // Stands above every protocol setting of a repository, so that a missing object starts no fetch.
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
  // git stops its own children when it is asked to end; one that does not listen is ended after a grace.
  let grace: NodeJS.Timeout | undefined;
  const stop = () => {
    child.kill();
    grace = setTimeout(() => child.kill("SIGKILL"), GRACE_MS);
  };
  where.signal.addEventListener("abort", stop, { once: true });
  try {
    const code = await new Promise<number>((resolve, reject) => {
      child.once("error", (error) => reject(new Error(`git cannot be started: ${error.message}`)));
      child.once("close", (status) => resolve(status ?? -1));
    });
    where.signal.throwIfAborted();
    const bytes = taken.bytes();
    const output = { bytes, text: bytes.toString("utf8"), truncated: taken.truncated(), code, errors: errors.trim() };
    if (code !== 0 && !output.truncated && !mayFail)
      throw new Error(`git failed: ${output.errors || `status ${code}`}`);
    return output;
  } finally {
    clearTimeout(grace);
    where.signal.removeEventListener("abort", stop);
  }
}

/** Takes bytes up to a bound, after some lines, and says when it has enough. */
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
