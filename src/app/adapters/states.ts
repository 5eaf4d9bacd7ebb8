import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { messageOf, SkillflowError } from "../../core/base/errors.ts";
import type { RunQueue, StateStore } from "../../core/engine/ports.ts";
import { projectRoot } from "../../loaders/documents/project-config.ts";
import { folderState } from "../../stores/state/folder.ts";
import { gitState } from "../../stores/state/git.ts";
import { gitIn } from "../../stores/state/git-command.ts";
import type { Host } from "../host.ts";

const BRANCH = "git:";

/**
 * Where runs remember: a folder, a branch of the checkout's remote, or what is handed over. Where nothing is said, beside
 * the runs: in the engine's database, or in the project's own folder.
 */
export function openState(host: Host, named: string | StateStore | undefined, around: Around = {}): StateStore {
  const { queue, offline = false } = around;
  if (typeof named === "object") return guardState(named);
  if (named === undefined && queue) return queue.states;
  const { cwd, env, self, isAlive } = host;
  if (named?.startsWith(BRANCH)) return gitState({ branch: named.slice(BRANCH.length), directory: cwd, env, offline });
  const isOurs = named === undefined;
  const directory = resolve(cwd, named ?? join(".skillflow", "state"));
  // What no link may lead it out of, where the operator did not name it.
  const root = isOurs ? projectRoot(cwd) : undefined;
  const folder = folderState({ directory, root, isPrivate: isOurs, self, isAlive });
  return root === undefined ? folder : guardState(folder, () => refuseCommitted(directory, root, env));
}

interface Around {
  readonly queue?: RunQueue | undefined;
  /** Nobody but this machine is to be contacted. */
  readonly offline?: boolean | undefined;
}

/** What came with the checkout may be a stranger's: by it runs would leave out what they are to look at (trust 6). */
async function refuseCommitted(directory: string, root: string, env: Host["env"]): Promise<void> {
  if (!existsSync(directory) || !existsSync(join(root, ".git"))) return;
  const git = gitIn({ directory: root, env, config: [["safe.directory", "*"]] });
  const listing = git(["--literal-pathspecs", "ls-files", "-z", "--", directory]);
  // Without a git nobody has committed anything here.
  const { stdout } = await listing.catch(() => ({ stdout: Buffer.alloc(0) }));
  const [committed] = stdout
    .toString("utf8")
    .split("\0")
    .filter((file) => !file.endsWith(".gitignore") && file !== "");
  if (committed === undefined) return;
  throw new SkillflowError("store.failed", `the state was committed to the checkout: ${JSON.stringify(committed)}`, {
    hint: [
      "take it out with git rm --cached, or name the place yourself: ",
      { option: "state", value: ".skillflow/state" },
    ],
  });
}

/** Its failures are those of a store. */
function guardState(store: StateStore, check: () => Promise<void> = async () => undefined): StateStore {
  const told = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    try {
      await check();
      return await work();
    } catch (error) {
      if (error instanceof SkillflowError) throw error;
      throw new SkillflowError("store.failed", `the state: ${messageOf(error)}`, { cause: error });
    }
  };
  return {
    read: (names) => told(() => store.read(names)),
    apply: (delta) => told(() => store.apply(delta)),
    list: () => told(() => store.list()),
    forget: (name, keys) => told(() => store.forget(name, keys)),
  };
}
