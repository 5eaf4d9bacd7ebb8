import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { Blobs } from "../../core/base/blobs.ts";
import { SkillflowError, usageError } from "../../core/base/errors.ts";
import { didYouMean } from "../../core/base/values.ts";
import type { RunRecord } from "../../core/engine/event/record.ts";
import type { Intake, RecordCheck, RunQueue, Store, StoredRun } from "../../core/engine/ports.ts";
import { isInCheckout, projectRoot } from "../../loaders/documents/project-config.ts";
import { openDbosStore } from "../../stores/dbos/store.ts";
import { readRecording, verifyRecording } from "../../stores/file/run-lines.ts";
import { fileStore, filesOfRun, planOfRun } from "../../stores/file/store.ts";
import { holderOf, lockedError } from "../../stores/lock.ts";
import type { EnginePlace, Host, StorePlace, Workspace } from "../host.ts";
import { guardStore } from "./guards.ts";

/** Opens a folder of run files, by default the project's own, or wraps a custom store. */
export function openStore(host: Host, named: StorePlace): OpenedStore {
  if (typeof named === "object") return { storeDirectory: undefined, ...openOther(host, named) };
  const { cwd, self, isAlive } = host;
  const storeDirectory = resolve(cwd, named ?? join(".skillflow", "runs"));
  // Links must not lead out of the default folder. The operator may name any folder.
  const root = named === undefined ? projectRoot(cwd) : undefined;
  const { intake, ...store } = fileStore({ directory: storeDirectory, root, self, isAlive });
  return { store, intake, storeDirectory };
}

type OpenedStore = Pick<Workspace, "store" | "storeDirectory" | "queue" | "intake">;

export function openQueue(host: Host): RunQueue | undefined {
  return openStore(host, { engine: "dbos", url: undefined }).queue;
}

function openOther(host: Host, named: Store | EnginePlace): Omit<OpenedStore, "storeDirectory"> {
  if (!("engine" in named)) return { store: guardStore(named) };
  const { env, self } = host;
  const url = named.url ?? env.SKILLFLOW_DATABASE_URL;
  if (!url) {
    throw new SkillflowError("config.missing", "the engine dbos needs a database", {
      hint: [
        "pass ",
        { option: "database-url", value: "postgres://…" },
        ", or set SKILLFLOW_DATABASE_URL; to try it out, pass ",
        { option: "database-url", value: "embedded" },
      ],
    });
  }
  if (url !== "embedded" && !/^postgres(ql)?:\/\//.test(url)) {
    throw usageError("the database of the engine dbos must be postgres://HOST/DATABASE, or embedded");
  }
  const { note = () => undefined } = host;
  const address = url === "embedded" ? { ...host, note, folder: embeddedFolder(host) } : url;
  const store = openDbosStore(address, self, host);
  const intake: Intake = { ...store, waiting: async () => (await store.examine()).queued };
  return { store, queue: store, intake };
}

/** Returns a folder per project in the user's cache: a database from a checkout could run arbitrary code. */
function embeddedFolder({ env, cwd }: Host): string {
  const base = env.XDG_CACHE_HOME || (env.HOME ? join(env.HOME, ".cache") : undefined);
  const root = projectRoot(cwd);
  if (base !== undefined && !isInCheckout(base, cwd)) {
    const project = createHash("sha256").update(root).digest("hex").slice(0, 12);
    return join(resolve(cwd, base), "skillflow", "postgres", project);
  }
  throw new SkillflowError("config.missing", "the embedded database needs a user folder", {
    hint: base === undefined ? "set HOME or XDG_CACHE_HOME" : `set XDG_CACHE_HOME: ${base} is in the checkout`,
  });
}

/** Returns the default path of a run's plan, or undefined if the store keeps no files. */
export function planPlace({ host, storeDirectory }: Workspace, run: string): string | undefined {
  return storeDirectory === undefined ? undefined : relative(host.cwd, planOfRun(storeDirectory, run));
}

/** Recording, and the path that names it to the replay model. */
export interface Recording {
  readonly stored: StoredRun;
  readonly path: string;
}

/** Reads a recorded run from a file outside any store. Returns undefined if the file does not exist. */
export function openRecording({ host }: Workspace, path: string): Recording | undefined {
  const file = resolve(host.cwd, path);
  return existsSync(file) ? { stored: readRecording(file), path } : undefined;
}

export async function findRecording(workspace: Workspace, given: string): Promise<Recording> {
  const file = openRecording(workspace, given);
  if (file) return file;
  const { host, store, storeDirectory } = workspace;
  const run = await findRun(store, given);
  const path = storeDirectory === undefined ? run : relative(host.cwd, join(storeDirectory, `${run}.jsonl`));
  return { stored: await store.read(run), path };
}

/** Checks that a recorded run was not changed: a file, or a run of the store. */
export async function checkRun({ host, store }: Workspace, given: string): Promise<RecordCheck> {
  const file = resolve(host.cwd, given);
  return existsSync(file) ? verifyRecording(file) : store.verify(await findRun(store, given));
}

/** Checks whether a process drives the run. Custom stores cannot answer this, and then one may. */
export async function isDriven(workspace: Workspace, run: string): Promise<boolean> {
  const isCustom = workspace.queue === undefined && workspace.storeDirectory === undefined;
  return isCustom || (await driverOf(workspace, run)).driver !== undefined;
}

/** Throws `store.locked` if a process drives the run. */
export async function refuseDriven(workspace: Workspace, run: string): Promise<void> {
  const { driver, lock } = await driverOf(workspace, run);
  if (driver !== undefined) throw lockedError(`run ${run} is being driven`, driver, lock);
}

async function driverOf({ host, storeDirectory, queue }: Workspace, run: string) {
  if (storeDirectory === undefined) return { driver: await queue?.driverOf(run), lock: undefined };
  const { lock } = filesOfRun(storeDirectory, run);
  return { driver: holderOf(lock, host), lock };
}

/** Resolves a run's id, a unique prefix of it, or `latest`. */
export async function findRun(store: Store, given: string): Promise<string> {
  if (given.trim() === "") throw usageError("the id of the run is empty", "name a run, or latest: skillflow runs list");
  const ids = await store.list();
  if (given === "latest") return latestRun(store, ids);
  if (ids.includes(given)) return given;
  const matches = ids.filter((id) => id.startsWith(given));
  if (matches.length === 1 && matches[0]) return matches[0];
  if (matches.length > 1) {
    const list = matches.slice(0, 5).join(", ");
    throw new SkillflowError("run.unknown", `"${given}" matches ${matches.length} runs: ${list}`, {
      hint: "type more of the id",
    });
  }
  throw new SkillflowError("run.unknown", `there is no run "${given}"`, {
    hint: didYouMean(given, ids) ?? "skillflow runs list",
  });
}

/** Returns the newest real run, and skips replays, dry runs and tests. */
async function latestRun(store: Store, ids: readonly string[]): Promise<string> {
  for (const id of ids) if ((await store.skim(id)).record.kind === "run") return id;
  throw new SkillflowError("run.unknown", "there is no run yet", { hint: "skillflow run WORKFLOW" });
}

/** Returns a run's blobs. A question about a run also reads those of that run. */
export function blobsFor({ store }: Pick<Workspace, "store">, { run, about }: RunRecord): Blobs {
  const own = store.blobs(run);
  if (!about) return own;
  const theirs = store.blobs(about.run);
  const holding = async (id: string) => ((await own.info(id)) ? own : theirs);
  return {
    create: (content, kind) => own.create(content, kind),
    info: async (id) => (await holding(id)).info(id),
    read: async (id, offset, length) => (await holding(id)).read(id, offset, length),
    file: async (id) => (await holding(id)).file(id),
  };
}
