import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { SkillflowError } from "../../core/base/errors.ts";
import { LONGEST_TIMER_MS } from "../../core/base/values.ts";

/** Runs git commands so that nothing in the checkout can start programs or reach other places. */

export interface GitOutput {
  readonly status: number;
  readonly stdout: Buffer;
  /** One line of error output, without control characters and credentials in URLs. */
  readonly said: string;
}

interface GitSetting {
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Config for these commands, passed by environment instead of arguments because it may hold a token. */
  readonly config?: readonly (readonly [key: string, value: string])[];
}

export type Git = (args: readonly string[], input?: string) => Promise<GitOutput>;

const MOST_MS = 120_000;
const MOST_BYTES = 512 * 1024 * 1024;

/** Environment variables passed to git: credentials, network and user config. None selects a repository. */
const PASSED =
  /^(?:PATH|HOME|USERPROFILE|SYSTEMROOT|TMPDIR|TEMP|TMP|XDG_\w+|SSH_\w+|GIT_SSH|GIT_SSH_COMMAND|GIT_SSL_\w+|GIT_CONFIG_(?:GLOBAL|SYSTEM|NOSYSTEM)|GIT_(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL)|SSL_CERT_\w+|\w+_PROXY)$/i;

export function gitIn({ directory, env, config = [] }: GitSetting): Git {
  const safe = [...SAFE, ...config];
  const passed = Object.fromEntries(Object.entries(env).filter(([name]) => PASSED.test(name)));
  const settings = safe.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  const whole = { ...passed, ...FIXED, GIT_CONFIG_COUNT: String(safe.length), ...Object.fromEntries(settings) };
  return (args, input) => runGit(args, { directory, env: whole, input, mostMs: MOST_MS });
}

const SAFE: readonly (readonly [string, string])[] = [
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["core.attributesFile", "/dev/null"],
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  ["fetch.recurseSubmodules", "false"],
  ["push.recurseSubmodules", "no"],
  ["push.gpgSign", "false"],
  ["push.followTags", "false"],
];

const FIXED = {
  LANG: "C",
  LC_ALL: "C",
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_NO_LAZY_FETCH: "1",
  GIT_PAGER: "cat",
  GIT_ALLOW_PROTOCOL: "file:git:http:https:ssh",
};

export interface Running {
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
  readonly input?: string | Buffer | undefined;
  readonly signal?: AbortSignal;
  readonly mostMs: number;
  /** Sends a signal to a process group. Without it, only git itself is ended. */
  readonly kill?: ((group: number, signal: "SIGTERM" | "SIGKILL") => void) | undefined;
}

/**
 * Runs one git command with exactly this environment. If it is aborted or takes longer than `mostMs`, it ends with its
 * processes. Throws the signal's reason if it was aborted.
 */
export async function runGit(args: readonly string[], running: Running): Promise<GitOutput> {
  const { directory: cwd, env, input, signal, mostMs, kill } = running;
  signal?.throwIfAborted();
  const child = spawn("git", ["--no-pager", ...args], {
    cwd,
    env,
    detached: kill !== undefined,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const pieces: Buffer[] = [];
  let size = 0;
  let errors = "";
  let isLate = false;
  const stop = () => void endGroup(child, kill);
  const stopLate = () => {
    isLate = true;
    stop();
  };
  const timer = setTimeout(stopLate, Math.min(mostMs, LONGEST_TIMER_MS));
  signal?.addEventListener("abort", stop, { once: true });
  child.stdout.on("data", (piece: Buffer) => {
    size += piece.length;
    if (size > MOST_BYTES) stop();
    else pieces.push(piece);
  });
  child.stderr.on("data", (piece: Buffer) => {
    errors = (errors + piece.toString("utf8")).slice(-MOST_ERRORS);
  });
  // If git exits without reading its input, its error output says why.
  child.stdin.on("error", () => undefined);
  child.stdin.end(input ?? "");
  try {
    const status = await new Promise<number>((resolve, reject) => {
      child.once("error", (error) =>
        reject(new SkillflowError("store.failed", `git cannot be started: ${error.message}`, { cause: error })),
      );
      child.once("close", (code) => resolve(code ?? -1));
    });
    signal?.throwIfAborted();
    const said = isLate ? `it took longer than ${mostMs / 1000} s` : tell(errors);
    return { status, stdout: Buffer.concat(pieces), said };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}

/** Ends a child with its process group: first asks it, then kills what is left. */
async function endGroup(child: ChildProcess, kill: Running["kill"]): Promise<void> {
  const send = (how: "SIGTERM" | "SIGKILL") => {
    if (kill && child.pid !== undefined) kill(-child.pid, how);
    else child.kill(how);
  };
  let isClosed = false;
  child.once("close", () => {
    isClosed = true;
  });
  send("SIGTERM");
  await pause(GRACE_MS, undefined, { ref: false });
  if (!isClosed) send("SIGKILL");
}

const GRACE_MS = 1000;

const MOST_ERRORS = 4096;

function tell(errors: string): string {
  const lines = errors.split(/[\r\n]+/).map((line) =>
    line
      .replace(/\p{Cc}|\p{Cf}/gu, " ")
      .replace(/\/\/[^@/\s]*@/g, "//")
      .trim(),
  );
  const telling = lines.filter((line) => /^(?:fatal|error|remote|!|ERROR)/.test(line));
  return (telling[0] ?? lines.findLast((line) => line !== "") ?? "").slice(0, 300);
}
