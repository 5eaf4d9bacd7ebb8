import { randomInt } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { SkillflowError } from "../../core/base/errors.ts";
import type { StateStore, States } from "../../core/engine/ports.ts";
import { type Git, type GitOutput, gitIn } from "./git-command.ts";
import { type Checkout, checkBranch, findRemote, otherEnd, type Remote, unreachable } from "./git-remote.ts";
import { fileOf, MOST_BYTES, readState, stateOf, tooLarge, writeState } from "./lines.ts";
import { stateStore } from "./table.ts";

interface GitOptions extends Checkout {
  readonly branch: string;
  readonly now?: () => Date;
}

const MOST_TRIES = 5;

/**
 * Stores states as JSON lines files on a branch of the checkout's `origin`. Each change is one commit, pushed without
 * force. If another writer pushed first, fetches and decides again, up to five tries. Works in a temporary repository:
 * the checkout's branches, index, files, hooks and most config are never used.
 */
export function gitState({ branch, now, ...checkout }: GitOptions): StateStore {
  const ref = `refs/heads/${checkBranch(branch)}`;
  const inClone = async <Value>(work: (clone: Clone) => Promise<Value>): Promise<Value> => {
    const remote = await findRemote(checkout);
    const home = await mkdtemp(join(tmpdir(), "skillflow-state-"));
    try {
      const env = { ...checkout.env, ...Object.fromEntries(remote.author) };
      const git = gitIn({ directory: home, env, config: remote.config });
      return await work({ git, remote, ref, branch });
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  };
  return stateStore(
    {
      names: () =>
        inClone(async (clone) => [...(await fetchTip(clone)).files.keys()].flatMap((file) => stateOf(file) ?? [])),
      read: (names) => inClone(async (clone) => readStates(clone, await fetchTip(clone), names)),
      change: ({ names, why, decide }) =>
        inClone(async (clone) => {
          let refusal = "";
          for (let tries = 0; tries < MOST_TRIES; tries++) {
            if (tries > 0) await sleep(randomInt(50, 200 * 2 ** tries));
            const tip = await fetchTip(clone);
            const changed = decide(await readStates(clone, tip, names));
            if (!changed) return;
            const made = await commit(clone, tip, { changed, why });
            const where = [...otherEnd(clone.remote, "receive-pack"), "--", clone.remote.address, `${made}:${ref}`];
            const pushed = await clone.git(["push", "--quiet", "--no-verify", ...where]);
            if (pushed.status === 0) return;
            refusal = pushed.said;
          }
          throw unreachable(`the state could not be pushed to ${branch} of origin: ${refusal}`, NOT_PUSHED);
        }),
    },
    now,
  );
}

const NOT_PUSHED = "check your permission to push there, then push the changes of the run with skillflow resume RUN";

/** Temporary repository that holds only the fetched branch. */
interface Clone {
  readonly git: Git;
  readonly remote: Remote;
  readonly ref: string;
  readonly branch: string;
}

/** Latest commit of the branch. `commit` is undefined if the branch does not exist yet. */
interface Tip {
  readonly commit: string | undefined;
  readonly files: ReadonlyMap<string, { readonly id: string; readonly size: number; readonly line: string }>;
}

async function fetchTip({ git, remote, ref, branch }: Clone): Promise<Tip> {
  const { address } = remote;
  const end = otherEnd(remote, "upload-pack");
  const heads = await git(["ls-remote", ...end, "--", address, ref, "HEAD"]);
  if (heads.status !== 0) throw unreachable(`origin cannot be reached: ${heads.said}`, "check the address and network");
  const lines = heads.stdout.toString("utf8").split("\n");
  const format = lines.some((line) => /^[0-9a-f]{64}\t/.test(line)) ? "sha256" : "sha1";
  demand(await git(["init", "--quiet", "--bare", `--object-format=${format}`, "."]), "a repository cannot be created");
  if (!lines.some((line) => line.endsWith(`\t${ref}`))) return { commit: undefined, files: new Map() };
  const wanted = ["--quiet", "--no-tags", "--depth=1", ...end, "--", address, `+${ref}:refs/heads/tip`];
  const fetched = await git(["fetch", ...wanted]);
  if (fetched.status !== 0) throw unreachable(`${branch} of origin cannot be fetched: ${fetched.said}`);
  const commit = text(demand(await git(["rev-parse", "--verify", "refs/heads/tip"]), "the branch cannot be read"));
  const listed = demand(await git(["ls-tree", "-z", "--long", commit]), "the branch cannot be read");
  return { commit, files: filesIn(listed.stdout.toString("utf8"), branch) };
}

/** Other files allowed on the branch. Any further file means that the branch is used for other work. */
const BESIDE = /^(?:README(?:\.\w+)?|LICENSE(?:\.\w+)?|\.gitattributes|\.gitignore|\.nojekyll)$/;

function filesIn(listed: string, branch: string): Tip["files"] {
  const files = new Map<string, { id: string; size: number; line: string }>();
  for (const entry of listed.split("\0")) {
    if (entry === "") continue;
    const [, mode, id = "", size = "", name = ""] = /^(\d+) \w+ ([0-9a-f]+) +(\d+|-)\t(.*)$/s.exec(entry) ?? [];
    const isOurs = mode === "100644" && (stateOf(name) !== undefined || BESIDE.test(name));
    if (!isOurs) {
      throw unreachable(
        `branch ${branch} of origin holds ${JSON.stringify(name.slice(0, 80))}, which is not a state`,
        OWN,
      );
    }
    files.set(name, { id, size: Number(size), line: `${mode} blob ${id}\t${name}` });
  }
  return files;
}

const OWN = "name a branch that holds only states, or a new one";

async function readStates({ git, branch }: Clone, { files }: Tip, names: readonly string[]): Promise<States> {
  const states = new Map();
  for (const name of names) {
    const place = `${branch}:${fileOf(name)}`;
    const file = files.get(fileOf(name));
    if (file && file.size > MOST_BYTES) throw tooLarge(place, file.size);
    const { stdout } = file ? demand(await git(["cat-file", "blob", file.id]), `${place} cannot be read`) : NO_FILE;
    states.set(name, readState(name, stdout.toString("utf8"), place));
  }
  return states;
}

const NO_FILE = { stdout: Buffer.alloc(0) };

async function commit(
  { git }: Clone,
  { commit: parent, files }: Tip,
  { changed, why }: { changed: States; why: string },
): Promise<string> {
  const lines = new Map([...files].map(([name, { line }]) => [name, line]));
  for (const [name, entries] of changed) {
    const blob = text(
      demand(await git(["hash-object", "-w", "--stdin"], writeState(name, entries)), "a state cannot be stored"),
    );
    lines.set(fileOf(name), `100644 blob ${blob}\t${fileOf(name)}`);
  }
  const tree = text(demand(await git(["mktree", "-z"], [...lines.values()].join("\0")), "a state cannot be stored"));
  const above = parent === undefined ? [] : ["-p", parent];
  return text(demand(await git(["commit-tree", tree, ...above], `${why}\n`), "a state cannot be committed"));
}

function text({ stdout }: GitOutput): string {
  return stdout.toString("utf8").trim();
}

function demand(output: GitOutput, what: string): GitOutput {
  if (output.status === 0) return output;
  throw new SkillflowError("store.failed", `${what}: ${output.said}`);
}
