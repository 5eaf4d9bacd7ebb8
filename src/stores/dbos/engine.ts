import { AsyncResource } from "node:async_hooks";
import { SkillflowError } from "../../core/base/errors.ts";
import { type Database, ENGINE_SCHEMA } from "./database.ts";
import type { Locks } from "./locks.ts";
import { type DbosClient, loadDbos, type SegmentWork } from "./packages.ts";

/**
 * The engine at work in this process. It sees one workflow, a segment of a run, which does nothing but to give its seat to
 * whoever drives the run: each record of the run's journal is one step there, asked for from outside.
 */
export interface Engine {
  /** A new segment, whose seat is ours. */
  start(workflow: string, run: string): Promise<Seat>;
  /** Takes no more from the queue; resolves once what it took is over. */
  drain(): Promise<void>;
  /** Ends what it does, and waits for no run. */
  close(): Promise<void>;
}

/** A place in the engine from which a run is driven. */
export interface Seat {
  readonly workflow: string;
  /** The next step: what it was recorded as, or else what `work` yields, which is on disk when this resolves. */
  step(name: string, work: () => Promise<string>): Promise<string>;
  /** The segment is over, and recorded to be. */
  leave(): Promise<void>;
}

/** Takes what waits in the queue, and what the dead have left. */
export interface Queue {
  readonly concurrency: number;
  /** Drives a run from its seat to the end of the segment. */
  readonly take: (run: string, seat: Seat) => Promise<void>;
}

/** The journal format's, not the code's: a release of ours leaves no run behind (engines "applicationVersion"). */
export const FORMAT = "skillflow.run/1";
export const APPLICATION = "skillflow";
export const QUEUE = "skillflow";
export const SEGMENT = "segment";
/** A run that brings its worker down is not taken up for ever. */
const MOST_RECOVERIES = 20;
const POLL_MS = 100;
const SWEEP_MS = 1000;
/** That a timer can wait. */
const LONGEST_MS = 2 ** 31 - 1;

/** What the engine keeps of values: as JSON, which others can read. */
export const SERIALIZER = {
  name: () => "skillflow_json",
  stringify: (value: unknown) => JSON.stringify(value ?? null),
  parse: (text: string | null | undefined): unknown => (text ? JSON.parse(text) : null),
};

/** The engine's tables without the engine. */
export function openEngineClient(database: Database): Promise<DbosClient> {
  return loadDbos().openClient({
    systemDatabaseUrl: database.url,
    systemDatabasePool: database.pool,
    systemDatabaseSchemaName: ENGINE_SCHEMA,
    serializer: SERIALIZER,
    applicationName: APPLICATION,
    logger: SILENT,
  });
}

const nothing = () => undefined;
const SILENT = { info: nothing, debug: nothing, warn: nothing, error: nothing };

/** The engine is its process's own: it works on one database at a time. */
let working: { readonly place: string; readonly engine: Promise<Engine> } | undefined;

/** Starts the engine, as an executor whose lock says that it lives; the queue is only a worker's. */
export function openEngine(database: Database, executor: string, locks: Locks, queue?: Queue): Promise<Engine> {
  if (working) {
    if (working.place === database.place && !queue) return working.engine;
    throw new SkillflowError("usage.invalid", "one process drives the runs of one database", {});
  }
  const engine = launch(database, executor, locks, queue);
  working = { place: database.place, engine };
  engine.catch(() => {
    working = undefined;
  });
  return engine;
}

/** Registered once in a process: the seats that are expected, by their workflows, and who takes the others. */
const expected = new Map<string, (seat: Seat) => void>();
let takes: Queue["take"] | undefined;
let segment: SegmentWork | undefined;

async function launch(database: Database, executor: string, locks: Locks, queue: Queue | undefined): Promise<Engine> {
  const { dbos, registerQueue, stopQueues } = loadDbos();
  await database.rows("select 1");
  await locks.take(executorLock(executor));
  segment ??= dbos.registerWorkflow(occupy, { name: SEGMENT, maxRecoveryAttempts: MOST_RECOVERIES });
  takes = queue?.take;
  if (queue) registerQueue(QUEUE, { workerConcurrency: queue.concurrency, minPollingIntervalMs: POLL_MS });
  dbos.setConfig({
    name: APPLICATION,
    systemDatabaseUrl: database.url,
    systemDatabasePool: database.pool,
    systemDatabaseSchemaName: ENGINE_SCHEMA,
    applicationVersion: FORMAT,
    executorID: executor,
    serializer: SERIALIZER,
    useListenNotify: false,
    logger: SILENT,
  });
  await dbos.launch();
  // Its first look at any queue comes a moment later: only workers take what waits there.
  if (!queue) stopQueues();
  const sweeper = queue && setInterval(() => void sweep(database, executor, locks).catch(nothing), SWEEP_MS);
  return {
    async start(workflow, run) {
      const coming = new Promise<Seat>((resolve) => expected.set(workflow, resolve));
      const handle = await dbos.startWorkflow(segment as SegmentWork, { workflowID: workflow })(run);
      const seat = await coming;
      const over = handle.getResult().catch(nothing);
      // Of one that was taken from us the end is another's.
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
          if (isOurs) await over;
        },
      };
    },
    async drain() {
      clearInterval(sweeper);
      await dbos.shutdown({ workflowCompletionTimeoutMS: LONGEST_MS });
      working = undefined;
    },
    async close() {
      clearInterval(sweeper);
      await dbos.shutdown();
      working = undefined;
    },
  };
}

/** What the engine runs: from its begin to its end somebody has the seat. */
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

export function executorLock(executor: string): string {
  return `skillflow executor ${executor}`;
}

interface Executor {
  readonly executor: string;
}

/**
 * The engine itself leaves a dead process's runs to that process. Its lock ended with it: whoever gets it gives the runs
 * back to the queue. One of all workers looks at a time.
 */
async function sweep(database: Database, self: string, locks: Locks): Promise<void> {
  if (!(await locks.take(SWEEPER, 1))) return;
  try {
    const found = await database.rows<Executor>(AT_WORK, APPLICATION, FORMAT, self);
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
