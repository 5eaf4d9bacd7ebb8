import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { SkillflowError } from "../../core/base/errors.ts";
import { nearest } from "../../core/base/values.ts";
import type { Intake, RecordCheck, RunQueue, Store, StoredRun } from "../../core/engine/ports.ts";
import { isInCheckout, projectRoot } from "../../loaders/documents/project-config.ts";
import { openDbosStore } from "../../stores/dbos/store.ts";
import { readRecording, verifyRecording } from "../../stores/file/run-lines.ts";
import { fileStore, planOfRun } from "../../stores/file/store.ts";
import type { EnginePlace, Host, StorePlace, Workspace } from "../host.ts";
import { guardStore } from "./guards.ts";

/** A folder of run files, by default the project's own; a store that is handed over is held to its contract. */
export function openStore(host: Host, named: StorePlace): OpenedStore {
  if (typeof named === "object") return { storeDirectory: undefined, ...openOther(host, named) };
  const { cwd, self, isAlive } = host;
  const storeDirectory = resolve(cwd, named ?? join(".skillflow", "runs"));
  // What no link may lead the store out of, where the operator did not name it.
  const root = named === undefined ? projectRoot(cwd) : undefined;
  const { intake, ...store } = fileStore({ directory: storeDirectory, root, self, isAlive });
  return { store, intake, storeDirectory };
}

type OpenedStore = Pick<Workspace, "store" | "storeDirectory" | "queue" | "intake">;

/** The queue of the database that the environment names. */
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
        { option: "database-url", value: "postgres://…" },
        ", or SKILLFLOW_DATABASE_URL; to try it out: ",
        { option: "database-url", value: "embedded" },
      ],
    });
  }
  if (url === "embedded") {
    const store = openDbosStore({ ...host, note: host.note ?? ignored, folder: embeddedFolder(host) }, self);
    return { store, queue: store, intake: intakeOf(store) };
  }
  if (!/^postgres(ql)?:\/\//.test(url)) {
    throw new SkillflowError(
      "usage.invalid",
      "the database of the engine dbos is named by postgres://HOST/DATABASE, or embedded",
      {},
    );
  }
  const store = openDbosStore(url, self);
  return { store, queue: store, intake: intakeOf(store) };
}

function intakeOf(queue: RunQueue): Intake {
  return {
    enqueue: (record) => queue.enqueue(record),
    requeue: (run) => queue.requeue(run),
    work: (worker, stop, onReady) => queue.work(worker, stop, onReady),
    waiting: async () => (await queue.examine()).queued,
  };
}

const ignored = () => undefined;

/** The user's own, one for each project: what came with a checkout could make a database that runs anything (trust 6). */
function embeddedFolder({ env, cwd }: Host): string {
  const base = env.XDG_CACHE_HOME || (env.HOME ? join(env.HOME, ".cache") : undefined);
  const root = projectRoot(cwd);
  if (base !== undefined && !isInCheckout(base, cwd)) {
    const project = createHash("sha256").update(root).digest("hex").slice(0, 12);
    return join(resolve(cwd, base), "skillflow", "postgres", project);
  }
  throw new SkillflowError("config.missing", "the embedded database needs a folder of your own", {
    hint: base === undefined ? "set HOME or XDG_CACHE_HOME" : `${base} lies in the checkout: set XDG_CACHE_HOME`,
  });
}

/** Where a run's plan is written that was to go nowhere else; undefined where the store keeps no files. */
export function planPlace({ host, storeDirectory }: Workspace, run: string): string | undefined {
  return storeDirectory === undefined ? undefined : relative(host.cwd, planOfRun(storeDirectory, run));
}

/** A recording, and the path that names it to the replay model. */
export interface Recording {
  readonly stored: StoredRun;
  readonly path: string;
}

/** A recorded run outside of any store; undefined where there is no such file. */
export function openRecording({ host }: Workspace, path: string): Recording | undefined {
  const file = resolve(host.cwd, path);
  return existsSync(file) ? { stored: readRecording(file), path } : undefined;
}

/** A recorded run: a file of its own, or a run of the store. */
export async function findRecording(workspace: Workspace, given: string): Promise<Recording> {
  const file = openRecording(workspace, given);
  if (file) return file;
  const { host, store, storeDirectory } = workspace;
  const run = await findRun(store, given);
  const path = storeDirectory === undefined ? run : relative(host.cwd, join(storeDirectory, `${run}.jsonl`));
  return { stored: await store.read(run), path };
}

/** Whether a recorded run is what was written: a file of its own, or a run of the store. */
export async function checkRun({ host, store }: Workspace, given: string): Promise<RecordCheck> {
  const file = resolve(host.cwd, given);
  return existsSync(file) ? verifyRecording(file) : store.verify(await findRun(store, given));
}

/** The run that a person means: its id, an unambiguous beginning of it, or `latest`. */
export async function findRun(store: Store, given: string): Promise<string> {
  const ids = await store.list();
  if (given === "latest") return latestRun(store, ids);
  if (ids.includes(given)) return given;
  const matches = ids.filter((id) => id.startsWith(given));
  if (matches.length === 1 && matches[0]) return matches[0];
  if (matches.length > 1) {
    const list = matches.slice(0, 5).join(", ");
    throw new SkillflowError("run.unknown", `"${given}" begins ${matches.length} runs: ${list}`, {
      hint: "type more of the id",
    });
  }
  const near = nearest(given, ids);
  throw new SkillflowError("run.unknown", `there is no run "${given}"`, {
    hint: near ? `did you mean ${near}?` : "skillflow runs list",
  });
}

/** Of what was really done: a replay, a dry run and a test are no news. */
async function latestRun(store: Store, ids: readonly string[]): Promise<string> {
  for (const id of ids) if ((await store.skim(id)).record.kind === "run") return id;
  throw new SkillflowError("run.unknown", "there is no run yet", { hint: "skillflow run WORKFLOW" });
}
