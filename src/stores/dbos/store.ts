import { once } from "node:events";
import { SkillflowError } from "../../core/base/errors.ts";
import type { RunRecord } from "../../core/engine/event/record.ts";
import type { Journal, ProcessMark, RunQueue, Store, StoredRun } from "../../core/engine/ports.ts";
import { digestOf } from "../../files/files.ts";
import { parseRun, type Stored, storedOf, verifyBytes } from "../file/run-lines.ts";
import { checkRunId, existingRun } from "../file/store.ts";
import { createJournal, newestFirst } from "../journal.ts";
import { lockedError } from "../lock.ts";
import { storeError } from "../store-error.ts";
import { databaseBlobs } from "./blobs.ts";
import { type Database, ENGINE_SCHEMA, openDatabase } from "./database.ts";
import type { EmbeddedPlace } from "./embedded.ts";
import { APPLICATION, FORMAT, openEngine, openEngineClient, QUEUE, SEGMENT, type Seat } from "./engine.ts";
import { LOCKING, type Locks, openLocks } from "./locks.ts";
import type { Watching } from "./outage.ts";
import type { Session } from "./packages.ts";
import { type Kept, keepSkim, listKept, openSkims, readKept, tailKept } from "./runs.ts";
import { databaseState } from "./states.ts";
import { databaseTurns } from "./turns.ts";

interface DbosStoreOptions {
  readonly database: Database;
  readonly self: ProcessMark;
  readonly locks: Locks;
  readonly now?: () => Date;
}

export interface DbosStore extends Store, RunQueue {
  close(): Promise<void>;
}

/** Opens the runs of an existing Postgres database for one process. Connects on first use. */
export function openDbosStore(address: string | EmbeddedPlace, self: ProcessMark, watching: Watching = {}): DbosStore {
  const database = openDatabase(address, watching);
  return dbosStore({ database, self, locks: openLocks(database, executorOf(self)) });
}

/**
 * Creates a store in Postgres that drives runs through the engine. Each journal record is one durable step, so any
 * worker can resume the run of a dead process. The driver of a run holds its lock, which ends with the process.
 */
export function dbosStore({ database, self, locks, now }: DbosStoreOptions): DbosStore {
  const wallClock = now ?? (() => new Date());
  const open: OpenStore = { database, locks, now, executor: executorOf(self), seats: new Map() };
  const { place } = database;
  const skim = openSkims(database);
  const bytesOf = async (run: string) => (await readKept(database, checkRunId(run))).bytes;
  return {
    place,
    create: (record) => createRun(open, record),
    open: (run) => openRun(open, run),
    read: async (run) => storedOf(parseRun(await bytesOf(run), place, run)),
    verify: async (run) => verifyBytes(await bytesOf(run), run),
    skim: (run) => skim(checkRunId(run)),
    tail: (run) => tailKept(database, checkRunId(run)),
    list: async () => newestFirst(await listKept(database)),
    blobs: (run) => databaseBlobs(database, checkRunId(run), { self }),
    remove: (run) => removeRun(open, run),
    examine: () => examine(database, wallClock),
    states: databaseState(database, wallClock),
    turns: databaseTurns(database, open.executor, locks),
    driverOf: (run) => locks.ownerOf(runLock(run)),
    queued: async () =>
      new Set((await database.rows<{ readonly run: string }>(WAITING, APPLICATION)).map(({ run }) => run)),
    enqueue: (record) => enqueue(database, record),
    requeue: (run) => requeue(open, run),
    work: (worker, stop, onReady) => work(open, worker, { stop, onReady }),
    async close() {
      await locks.close();
      await database.close();
    },
  };
}

interface OpenStore extends Pick<DbosStoreOptions, "database" | "locks"> {
  readonly now: (() => Date) | undefined;
  readonly executor: string;
  readonly seats: Map<string, Seat>;
}

/** Takes the run's lock, which `work` releases unless it throws. */
async function locked<Value>({ locks }: OpenStore, run: string, work: () => Promise<Value>): Promise<Value> {
  const lock = runLock(run);
  if (!(await locks.take(lock))) throw lockedError(`run ${run} is being driven`, await locks.ownerOf(lock));
  try {
    return await work();
  } catch (error) {
    await locks.free(lock);
    throw storeError(error, `run ${run} cannot be opened`);
  }
}

interface Driven {
  readonly run: string;
  readonly seat: Seat;
  readonly stored: Stored;
  readonly epoch: number;
}

function driveRun({ database, locks, now }: OpenStore, { run, seat, stored, epoch }: Driven): Journal {
  const { record, digest } = stored;
  const events = [...stored.events];
  let isOurs = true;
  return createJournal({
    record,
    events: stored.events,
    epoch,
    digest,
    now,
    async append({ lines, events: added }) {
      const text = lines();
      const step = seat.step(added[0]?.key ?? "", async () => text);
      isOurs = false;
      await recorded(run, database.outage.during(step));
      isOurs = true;
      for (const event of added) events.push(event);
    },
    async close() {
      // If this fails, lists read the run's events instead.
      if (isOurs) await keepSkim(database, seat.workflow, { record, events }).catch(nothing);
      await seat.leave();
      await database.outage.during(locks.free(runLock(run)));
    },
  });
}

async function createRun(open: OpenStore, record: RunRecord): Promise<Journal> {
  const { database, seats } = open;
  const { run } = record;
  const taken = seats.get(checkRunId(run));
  if (!taken && (await database.rows(KNOWN, run)).length > 0) throw existingRun(run);
  return locked(open, run, async () => {
    const line = JSON.stringify(record);
    const seat = taken ?? (await firstSegment(open, record, line));
    if (taken) await database.rows(BEGIN, run, line);
    const stored = { record, events: [], length: 0, digest: digestOf(line) };
    return driveRun(open, { run, seat, stored, epoch: 0 });
  });
}

async function firstSegment(open: OpenStore, record: RunRecord, line: string): Promise<Seat> {
  const working = await openEngine(open);
  await open.database.transaction((session) => insertRun(session, record, line));
  return working.start(record.run, record.run);
}

async function openRun(open: OpenStore, run: string): Promise<StoredRun & { readonly journal: Journal }> {
  const { database, seats } = open;
  await readKept(database, checkRunId(run)); // an unknown run must not leave a lock
  return locked(open, run, async () => {
    const taken = seats.get(run);
    const kept = await (taken ? readKept(database, run) : endLast(database, run));
    const stored = parseRun(kept.bytes, database.place, run);
    const seat = taken ?? (await (await openEngine(open)).start(await beginNext(database, run, kept), run));
    const epoch = (stored.events.at(-1)?.epoch ?? -1) + 1;
    return { ...storedOf(stored), journal: driveRun(open, { run, seat, stored, epoch }) };
  });
}

async function removeRun(open: OpenStore, run: string): Promise<void> {
  const { database, locks } = open;
  await readKept(database, checkRunId(run));
  await locked(open, run, async () => {
    const { segments } = await readKept(database, run);
    const client = await openEngineClient(database);
    await client.deleteWorkflows(segments.map(({ workflow }) => workflow));
    await database.transaction(async (session) => {
      await session.query("delete from skillflow.blobs where run = $1", [run]);
      await session.query("delete from skillflow.runs where run = $1", [run]);
    });
    await locks.free(runLock(run));
  });
}

async function examine(database: Database, clock: () => Date) {
  const before = clock().getTime();
  const [found] = await database.rows<ExaminedRow>(EXAMINED, APPLICATION, `${LOCKING}%`);
  const after = clock().getTime();
  if (!found) throw new SkillflowError("internal.fault", "the database returned no status");
  const { version, queued, under_way, workers } = found;
  const clockMs = Math.round(Number(found.clock) - (before + after) / 2);
  return { version, clockMs, queued: Number(queued), underWay: Number(under_way), workers: Number(workers) };
}

async function enqueue(database: Database, record: RunRecord): Promise<void> {
  const { run } = record;
  await database.rows("select 1");
  const client = await openEngineClient(database);
  await database.transaction(async (session) => {
    await insertRun(session, record, JSON.stringify(record));
    await client.enqueueInTransaction(session, { ...QUEUED, workflowID: checkRunId(run) }, run);
  });
}

async function requeue(open: OpenStore, run: string): Promise<void> {
  const { database, locks } = open;
  await readKept(database, checkRunId(run));
  await locked(open, run, async () => {
    const client = await openEngineClient(database);
    const kept = await endLast(database, run);
    const alsoDo = (session: Session, workflowID: string) =>
      client.enqueueInTransaction(session, { ...QUEUED, workflowID }, run);
    await beginNext(database, run, kept, alsoDo);
    await locks.free(runLock(run));
  });
}

async function work(
  open: OpenStore,
  { concurrency, drive }: Parameters<RunQueue["work"]>[0],
  { stop, onReady }: { stop: AbortSignal; onReady: () => void },
): Promise<void> {
  const { database, seats } = open;
  const take = async (run: string, seat: Seat) => {
    // The engine counts steps from the first, so those that another process recorded are replayed.
    const { segments } = await readKept(database, run);
    const known = segments.find(({ workflow }) => workflow === seat.workflow)?.steps ?? [];
    for (const name of known) await seat.step(name, missing);
    seats.set(run, seat);
    await drive(run).finally(() => seats.delete(run));
  };
  const working = await openEngine(open, { concurrency, take });
  onReady();
  if (!stop.aborted) await once(stop, "abort");
  await database.outage.unlessOver(working.drain());
}

const nothing = () => undefined;

/** Returns an id that is unique among live processes. */
function executorOf({ pid, host, started }: ProcessMark): string {
  return [host.slice(0, 24), pid, started].join(":");
}

interface ExaminedRow {
  readonly version: string;
  readonly clock: string;
  readonly queued: string;
  readonly under_way: string;
  readonly workers: string;
}

const EXAMINED = `
  select current_setting('server_version') as version, extract(epoch from clock_timestamp()) * 1000 as clock,
    (select count(*) from ${ENGINE_SCHEMA}.workflow_status
      where application_name = $1 and status in ('ENQUEUED', 'DELAYED')) as queued,
    (select count(*) from ${ENGINE_SCHEMA}.workflow_status
      where application_name = $1 and status = 'PENDING') as under_way,
    (select count(*) from pg_stat_activity
      where datname = current_database() and application_name like $2) as workers`;

const WAITING = `
  select s.run from ${ENGINE_SCHEMA}.workflow_status w join skillflow.segments s on s.workflow = w.workflow_uuid
  where w.application_name = $1 and w.status in ('ENQUEUED', 'DELAYED')`;

function runLock(run: string): string {
  return `skillflow run ${run}`;
}

async function insertRun(session: Session, { run, at }: RunRecord, line: string): Promise<void> {
  const { rows } = await session.query(INSERT, [run, at, line]);
  if (rows.length === 0) throw existingRun(run);
  await session.query(SEGMENT_BEGINS, [run, 1, run]);
}

const KNOWN = "select nr from skillflow.runs where run = $1";
const INSERT = `
  insert into skillflow.runs (run, began, record) values ($1, $2, $3) on conflict do nothing returning nr`;
/** Query that replaces a queued run's record when a worker starts it. */
const BEGIN = "update skillflow.runs set record = $2 where run = $1";
const SEGMENT_BEGINS = "insert into skillflow.segments (run, nr, workflow) values ($1, $2, $3)";
const UNKNOWN_NOW = "update skillflow.runs set skim = null where run = $1";
const SEGMENT_ENDS = "update skillflow.segments set records = $3 where run = $1 and nr = $2";

/** Options of a segment that any worker on the queue may take. */
const QUEUED = { workflowName: SEGMENT, queueName: QUEUE, appVersion: FORMAT, applicationName: APPLICATION };

/** Cancels the last segment, so that its driver cannot record anything more. */
async function endLast(database: Database, run: string): Promise<Kept> {
  const { segments } = await readKept(database, run);
  const client = await openEngineClient(database);
  await client.cancelWorkflows(segments.slice(-1).map(({ workflow }) => workflow));
  return readKept(database, run);
}

async function beginNext(
  database: Database,
  run: string,
  kept: Kept,
  alsoDo: (session: Session, workflow: string) => Promise<unknown> = async () => undefined,
): Promise<string> {
  const last = kept.segments.at(-1);
  const nr = (last?.nr ?? 0) + 1;
  const workflow = `${run}:${nr}`;
  await database.transaction(async (session) => {
    if (last) await session.query(SEGMENT_ENDS, [run, last.nr, last.steps.length]);
    await session.query(SEGMENT_BEGINS, [run, nr, workflow]);
    await session.query(UNKNOWN_NOW, [run]);
    await alsoDo(session, workflow);
  });
  return workflow;
}

async function missing(): Promise<never> {
  throw new SkillflowError("internal.fault", "a recorded step is missing");
}

/** Engine errors that mean that another process has taken the run. */
const NOT_OURS: ReadonlySet<string> = new Set(["DBOSWorkflowConflictError", "DBOSWorkflowCancelledError"]);

async function recorded(run: string, step: Promise<unknown>): Promise<void> {
  try {
    await step;
  } catch (error) {
    if (!(error instanceof Error) || !NOT_OURS.has(error.constructor.name)) {
      throw storeError(error, `run ${run} cannot be recorded`);
    }
    throw new SkillflowError("store.locked", `another process has resumed run ${run}`, { cause: error });
  }
}
