import type { BlobInfo, Blobs } from "../base/blobs.ts";
import type { Json } from "../base/values.ts";
import type { Logger } from "../skill/skill.ts";
import type { Entry, RunEvent, StepKey } from "./event/event.ts";
import type { Prompt, Reply } from "./event/prompt.ts";
import type { RunRecord, StateEntry } from "./event/record.ts";
import type { Purpose } from "./event/reply.ts";
import type { SkimmedRun } from "./event/skim.ts";

/** Details of one model call, in addition to its prompt. */
export interface ModelCall {
  readonly key: StepKey;
  readonly purpose: Purpose;
  readonly node: string;
  /** The model's name as written, without the provider prefix. */
  readonly model: string;
  readonly signal: AbortSignal;
  /** Receives text as it arrives. Deltas are never recorded. */
  readonly onDelta?: (text: string) => void;
  /** Returns the bytes of an image in the prompt. Undefined if they no longer exist. */
  readonly image?: (image: BlobInfo) => Promise<Uint8Array | undefined>;
}

/**
 * A model that answers one prompt. It does not loop, run tools, keep state or retry.
 *
 * - Replies are complete: a stream that ends early is an error, not a shorter reply.
 * - Failures throw a SkillflowError with a `model.*` code. `repeatable` is set if the same call may succeed later
 *   (429, 5xx, a broken connection, a garbled body). It carries the delay that the provider asked for.
 * - An aborted signal ends the call promptly with the signal's reason.
 * - Opaque parts of the provider's own earlier replies are sent back unchanged. Those of other providers are omitted.
 */
export interface Model {
  /** `anthropic`, `openai`, … */
  readonly provider: string;
  reply(prompt: Prompt, call: ModelCall): Promise<Reply>;
}

/**
 * Durable log of a run while a process drives it.
 *
 * - `record` appends the result of `work` and resolves once the record survives the death of the process. Without
 *   waiting for anything, it may return the events at once, so that a decision costs no promise.
 * - A record also survives a power failure before `record` resolves if something that cannot be undone depends on it:
 *   an announced write, its result, an operation, an approval, a state delta, the run's end. So does everything before
 *   it, because records are never lost from the middle. A power failure may lose the last model replies and results of
 *   reads. These are asked again; a write is never lost or repeated.
 * - Set `isRepeatable` for records that only announce calls without effects.
 * - If the disk fails, the next record throws `store.failed`, and so do all that follow.
 * - Records must not overlap: wait for each one before adding the next.
 * - Entries without their own key get `key`, or the first of several.
 * - If the position is already recorded, the journal returns that record and does not run `work`. It throws
 *   `journal.diverged` if the record starts with an event whose key was not given.
 * - If `work` throws, nothing is recorded and the same position can be tried again.
 * - After a crash, each record is complete or absent.
 * - Events form a chain of digests, which continues after a crash. A run that began without a chain stays without one.
 */
export interface Journal {
  /** Number of times that the run was opened before. Each event carries it, to distinguish the processes. */
  readonly epoch: number;
  record(
    key: StepKey | readonly StepKey[],
    work: () => readonly Entry[] | Promise<readonly Entry[]>,
    isRepeatable?: boolean,
  ): readonly RunEvent[] | Promise<readonly RunEvent[]>;
  close(): Promise<void>;
}

/** Identity of the process that holds a lock. */
export interface ProcessMark {
  readonly pid: number;
  readonly host: string;
  /** Distinguishes the process from a later one with the same id. */
  readonly started: string;
}

export interface StoredRun {
  readonly record: RunRecord;
  readonly events: readonly RunEvent[];
}

/** A place where a run's record is invalid, or was changed after it was written. */
export interface RecordProblem {
  /** Number of the record. The run's own line is record 1. */
  readonly record: number;
  readonly line: number;
  readonly what: string;
}

/** Result of checking a run's record against its chain of digests. */
export interface RecordCheck {
  /** The run as far as it can be read. Undefined if the record does not begin with the run's own line. */
  readonly run: StoredRun | undefined;
  readonly records: number;
  /** Last digest of the chain. It covers all earlier events. Undefined if the run has no chain. */
  readonly digest: string | undefined;
  readonly problems: readonly RecordProblem[];
}

/**
 * Storage for runs. Only one process at a time drives a run: `create` and `open` lock it until the journal is closed.
 * They throw `store.locked` if another live process holds the lock.
 */
export interface Store {
  /** Throws `run.exists` if a run has that id. */
  create(record: RunRecord): Promise<Journal>;
  /** Throws `run.unknown`, or `run.altered` as `read` does. The journal first replays the recorded positions. */
  open(run: string): Promise<StoredRun & { readonly journal: Journal }>;
  /** Reads the run so far without locking it. Throws `run.altered` if the record was visibly changed. */
  read(run: string): Promise<StoredRun>;
  /** Checks whether the record was changed. Throws `run.unknown`. */
  verify(run: string): Promise<RecordCheck>;
  /** Reads the part of a run that a list shows. Much faster than `read`. */
  skim(run: string): Promise<SkimmedRun>;
  /** Lists the ids of the runs, newest first. */
  list(): Promise<readonly string[]>;
  /** Returns the storage for a run's large results. The run need not exist yet. The blobs live as long as the run. */
  blobs(run: string): Blobs;
  /** Deletes a run and its blobs. Throws `run.unknown`, or `store.locked` while a process drives the run. */
  remove(run: string): Promise<void>;
}

export interface StateLimits {
  readonly keepMs?: number | undefined;
  readonly maxEntries?: number | undefined;
}

/** Changes by one run to one key: writes, matches by a map, or additions to counters. */
export interface StateChange {
  readonly key: string;
  /** Times of the first and last change, in ISO 8601. */
  readonly first: string;
  readonly last: string;
  /** 1 if the run wrote the key and none of its earlier deltas did, otherwise 0. */
  readonly runs: number;
  readonly seen: number;
  /** Data that the run wrote last. Absent if a map only matched the key. */
  readonly data?: Json;
  readonly tainted?: true;
  /** Numbers to add to the stored ones, instead of writing data. */
  readonly add?: Readonly<Record<string, number>>;
}

export interface StateDelta {
  /** Id of the run and number of the delta, to recognize a delta that was already applied. */
  readonly id: string;
  readonly states: Readonly<Record<string, StateChanges>>;
}

export interface StateChanges {
  readonly changes: readonly StateChange[];
  readonly limits: StateLimits;
}

export type States = ReadonlyMap<string, readonly StateEntry[]>;

/**
 * Storage for the states that runs share. Several processes may use it at once.
 *
 * - A state that was never written is empty.
 * - `apply` is atomic, even if the process dies. A delta whose id was already applied changes nothing.
 * - Deltas of concurrent runs are merged by key (`mergeChanges`), so that no change is lost.
 * - Damaged storage throws `store.failed` and is not overwritten.
 */
export interface StateStore {
  read(names: readonly string[]): Promise<States>;
  /** Returns the entries of the delta's states after the change. */
  apply(delta: StateDelta): Promise<States>;
  list(): Promise<readonly string[]>;
  /** Removes entries by key, or all entries of a state. Returns the removed keys. */
  forget(name: string, keys: readonly string[] | "all"): Promise<readonly string[]>;
}

/** A limit on how many calls or runs are active at once, or start within a period. */
export interface Rate {
  /** Unique name, such as `model anthropic:* per minute`. */
  readonly name: string;
  readonly most: number;
  /** Period within which `most` may start. Undefined if `most` limits how many are active at once. */
  readonly perMs: number | undefined;
}

/** The part of an AbortSignal that a waiting caller needs. */
export type Stopped = Pick<AbortSignal, "aborted" | "reason"> & {
  addEventListener(type: "abort", hear: () => void, how: { readonly once: true }): void;
  removeEventListener(type: "abort", hear: () => void): void;
};

/** Turns under rate limits, first come, first served. The turns of a process that dies become free. */
export interface Turns {
  /** Resolves with a function that releases the turn. Calls `onWait` if it must wait. Rejects if the signal aborts. */
  take(rate: Rate, signal: Stopped, onWait: () => void): Promise<() => void>;
}

/** Settings of a queue worker. It drives runs through the store, as any other process does. */
interface QueueWorker {
  readonly concurrency: number;
  readonly drive: (run: string) => Promise<void>;
}

export interface QueueState {
  readonly version: string;
  /** Milliseconds by which the database's clock is ahead of the local one. */
  readonly clockMs: number;
  /** Number of runs that wait for a worker. `underWay` counts those that a worker drives. */
  readonly queued: number;
  readonly underWay: number;
  /** Number of live processes that take or drive runs. */
  readonly workers: number;
}

/** Queue that accepts runs and drives them when there is capacity. */
export interface Intake extends Pick<RunQueue, "enqueue" | "requeue" | "work"> {
  waiting(): Promise<number>;
  /**
   * Claims the queue for this process until the returned function is called. Throws `store.locked` if another process has
   * it. Undefined if several processes can share the queue.
   */
  readonly claim?: () => () => void;
}

/** Queue of runs in a database: one process records a run, and another drives it. */
export interface RunQueue {
  /** States in the same database. */
  readonly states: StateStore;
  /** Rate limits shared by all processes that use the database. */
  readonly turns: Turns;
  /** Address of the database, without secrets. */
  readonly place: string;
  examine(): Promise<QueueState>;
  /** Returns a function that reads a run's new events: all of them at first, then those since its last call. */
  tail(run: string): () => Promise<readonly RunEvent[]>;
  /** Describes the process that drives a run. Undefined if none does. */
  driverOf(run: string): Promise<string | undefined>;
  /** Returns the ids of the runs that no worker has taken yet. */
  queued(): Promise<ReadonlySet<string>>;
  /** Records a run for a worker to drive. Throws `run.exists`. */
  enqueue(record: RunRecord): Promise<void>;
  /** Queues a run that continues. Throws `run.unknown`, or `store.locked` while a process drives the run. */
  requeue(run: string): Promise<void>;
  /**
   * Drives runs until `stop` aborts, including runs whose process died. Resolves when all active runs are over.
   * The worker creates a queued run in the store from its record, and opens any other run.
   */
  work(worker: QueueWorker, stop: AbortSignal, onReady: () => void): Promise<void>;
}

export interface SkillLog {
  readonly skill: string;
  readonly level: keyof Logger;
  readonly message: string;
}

/** Receives notifications about a run. Errors in an observer never affect the run. */
export interface Observer {
  onEvent(event: RunEvent): unknown;
  /** Receives a message about an active node (`node:progress`). Live only, never recorded. */
  onProgress?(progress: { readonly node: string; readonly message: string }): unknown;
  /** Receives log messages of a skill during a tool call. Live only. */
  onLog?(log: SkillLog): unknown;
  /** Receives warnings about a resumed or replayed run, such as missing tools or a changed prompt. Live only. */
  onWarning?(warning: { readonly message: string }): unknown;
  /** Receives the number of characters of an answer that arrived so far. Live only. */
  onAnswering?(answering: { readonly node: string; readonly characters: number }): unknown;
}
