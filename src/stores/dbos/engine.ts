import { AsyncResource } from "node:async_hooks";
import { SkillflowError } from "../../core/base/errors.ts";
import { LONGEST_TIMER_MS } from "../../core/base/values.ts";
import { type Database, ENGINE_SCHEMA } from "./database.ts";
import type { Locks } from "./locks.ts";
import { type DbosClient, loadDbos, type SegmentWork } from "./packages.ts";

/**
 * Engine running in this process. Its only workflow is a segment of a run, which hands its seat to the run's driver.
 * The driver records each journal record as one step of that workflow.
 */
export interface Engine {
  start(workflow: string, run: string): Promise<Seat>;
  /** Stops taking runs from the queue. Resolves when the taken runs are over. */
  drain(): Promise<void>;
  /** Shuts the engine down without waiting for runs. */
  close(): Promise<void>;
}

export interface Seat {
  readonly workflow: string;
  /** Returns the recorded output of the next step, or runs `work` and resolves once its result is on disk. */
  step(name: string, work: () => Promise<string>): Promise<string>;
  leave(): Promise<void>;
}

/** Settings for taking queued runs, including those that dead processes left. */
export interface Queue {
  readonly concurrency: number;
  /** Drives a run from its seat to the end of the segment. */
  readonly take: (run: string, seat: Seat) => Promise<void>;
}

/** Version of the journal format, not of the code, so that a new release still resumes older runs. */
export const FORMAT = "skillflow.run/1";
export const APPLICATION = "skillflow";
export const QUEUE = "skillflow";
export const SEGMENT = "segment";
/** Limit on recoveries, so that a run that crashes its worker is not resumed forever. */
const MOST_RECOVERIES = 20;
const POLL_MS = 100;
const SWEEP_MS = 1000;

/** Serializer that stores values as plain JSON, which other tools can read. */
const SERIALIZER = {
  name: () => "skillflow_json",
  stringify: (value: unknown) => JSON.stringify(value ?? null),
  parse: (text: string | null | undefined): unknown => (text ? JSON.parse(text) : null),
};

export function openEngineClient(database: Database): Promise<DbosClient> {
  return loadDbos().openClient({ ...configOf(database), applicationName: APPLICATION });
}

function configOf({ url, pool }: Database) {
  return {
    systemDatabaseUrl: url,
    systemDatabasePool: pool,
    systemDatabaseSchemaName: ENGINE_SCHEMA,
    serializer: SERIALIZER,
    logger: SILENT,
  };
}

const nothing = () => undefined;
const SILENT = { info: nothing, debug: nothing, warn: nothing, error: nothing };

/** The engine is a process-wide singleton and serves one database at a time. */
let working: { readonly place: string; readonly engine: Promise<Engine> } | undefined;

interface EnginePlace {
  readonly database: Database;
  readonly executor: string;
  readonly locks: Locks;
}

/** Starts the engine. Its executor lock shows that this process is alive. Only workers pass a queue. */
export function openEngine(place: EnginePlace, queue?: Queue): Promise<Engine> {
  const { database } = place;
  if (working) {
    if (working.place === database.place && !queue) return working.engine;
    throw new SkillflowError("usage.invalid", "a process can use only one database", {});
  }
  const engine = launch(place, queue);
  working = { place: database.place, engine };
  engine.catch(() => {
    working = undefined;
  });
  return engine;
}

/** Resolvers of the seats that `start` waits for, by workflow. */
const expected = new Map<string, (seat: Seat) => void>();
let takes: Queue["take"] | undefined;
let segment: SegmentWork | undefined;

async function launch({ database, executor, locks }: EnginePlace, queue: Queue | undefined): Promise<Engine> {
  const { dbos, registerQueue, stopQueues } = loadDbos();
  await database.rows("select 1");
  await locks.take(executorLock(executor));
  segment ??= dbos.registerWorkflow(occupy, { name: SEGMENT, maxRecoveryAttempts: MOST_RECOVERIES });
  takes = queue?.take;
  if (queue) registerQueue(QUEUE, { workerConcurrency: queue.concurrency, minPollingIntervalMs: POLL_MS });
  dbos.setConfig({
    ...configOf(database),
    name: APPLICATION,
    applicationVersion: FORMAT,
    executorID: executor,
    useListenNotify: false,
  });
  await dbos.launch();
  // The engine polls its queues a moment later, and only workers may take queued runs.
  if (!queue) stopQueues();
  const sweeper = queue && setInterval(() => void sweep(database, executor, locks).catch(nothing), SWEEP_MS);
  const stop = async (how?: Parameters<typeof dbos.shutdown>[0]) => {
    clearInterval(sweeper);
    await dbos.shutdown(how);
    working = undefined;
  };
  return {
    async start(workflow, run) {
      const coming = new Promise<Seat>((resolve) => expected.set(workflow, resolve));
      const starting = dbos.startWorkflow(segment as SegmentWork, { workflowID: workflow })(run);
      const handle = await database.outage.during(starting);
      const seat = await coming;
      const over = handle.getResult().catch(nothing);
      // If another process took the segment, we must not wait for its end.
      let isOurs = true;
      return {
        workflow,
        async step(name, work) {
          try {
            return await seat.step(name, work);
          } catch (error) {
            isOurs = false;
            throw error;
          }
        },
        async leave() {
          await seat.leave();
          if (isOurs) await database.outage.during(over);
        },
      };
    },
    drain: () => stop({ workflowCompletionTimeoutMS: LONGEST_TIMER_MS }),
    close: () => stop(),
  };
}

/** Runs as the engine's workflow: hands the seat to a driver and waits until the driver leaves. */
async function occupy(run: string): Promise<void> {
  const { dbos } = loadDbos();
  const workflow = dbos.workflowID ?? "";
  const scope = new AsyncResource("skillflow-segment");
  const step: Seat["step"] = (name, work) => scope.runInAsyncScope(() => dbos.runStep(work, { name }));
  const sit = expected.get(workflow);
  expected.delete(workflow);
  if (!sit) return takes?.(run, { workflow, step, leave: async () => undefined });
  await new Promise<void>((resolve) => sit({ workflow, step, leave: async () => resolve() }));
}

function executorLock(executor: string): string {
  return `skillflow executor ${executor}`;
}

/**
 * Returns the runs of dead processes to the queue, because the engine leaves them to their own process. A dead process
 * has lost its lock. One worker at a time sweeps.
 */
async function sweep(database: Database, self: string, locks: Locks): Promise<void> {
  if (!(await locks.take(SWEEPER, 1))) return;
  try {
    const found = await database.rows<{ readonly executor: string }>(AT_WORK, APPLICATION, FORMAT, self);
    for (const { executor } of found) await recover(executor, locks);
  } finally {
    await locks.free(SWEEPER);
  }
}

const SWEEPER = "skillflow sweeper";

const AT_WORK = `
  select distinct executor_id as executor from ${ENGINE_SCHEMA}.workflow_status
  where status = 'PENDING' and application_name = $1 and application_version = $2 and executor_id <> $3`;

async function recover(executor: string, locks: Locks): Promise<void> {
  const lock = executorLock(executor);
  if (!(await locks.take(lock, 1))) return;
  try {
    await loadDbos().executor().systemDatabase.reenqueueWorkflowsForRecovery(executor, FORMAT, QUEUE);
  } finally {
    await locks.free(lock);
  }
}
