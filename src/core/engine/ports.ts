import type { BlobInfo, Blobs } from "../base/blobs.ts";
import type { Json } from "../base/values.ts";
import type { Logger } from "../skill/skill.ts";
import type { Entry, RunEvent, StepKey } from "./event/event.ts";
import type { Prompt, Reply } from "./event/prompt.ts";
import type { RunRecord } from "./event/record.ts";
import type { Purpose } from "./event/reply.ts";
import type { SkimmedRun } from "./event/skim.ts";
import type { StateEntry } from "./event/state-entry.ts";

/** About one model call, beside its prompt. */
export interface ModelCall {
  readonly key: StepKey;
  readonly purpose: Purpose;
  readonly node: string;
  /** The model's name as written, without a provider prefix (N7). */
  readonly model: string;
  readonly signal: AbortSignal;
  /** Text as it arrives: live only, never recorded. */
  readonly onDelta?: (text: string) => void;
  /** The bytes of an image of the prompt's turns; undefined where they are gone. */
  readonly image?: (image: BlobInfo) => Promise<Uint8Array | undefined>;
}

/**
 * Answers one prompt: no loop, no tools run, no memory, no repeating.
 *
 * - A reply is complete: a stream that ended early is an error, not a shorter reply.
 * - Failures throw a SkillflowError with a `model.*` code. `repeatable` is set when the same call may succeed later
 *   (429, 5xx, a broken connection, a garbled body) and carries what the provider asked us to wait.
 * - An aborted signal ends the call promptly with the signal's reason.
 * - Opaque parts of its own earlier replies are sent back unchanged; those of other providers are left out.
 */
export interface Model {
  /** `anthropic`, `openai`, … */
  readonly provider: string;
  reply(prompt: Prompt, call: ModelCall): Promise<Reply>;
}

/**
 * The whole durability contract of one run that is being driven.
 *
 * - `record` takes what `work` yields as the next record, and resolves once it would survive the process's death, and
 *   the machine's too where it holds something that was paid for or cannot be undone: a `model:reply`, a `tool:result`, a
 *   `tool:call` and a `workflow:end`. A machine's crash may make us decide again, never do again.
 * - What is `isRepeatable` announces calls that change nothing, and need not survive the machine's death by itself. It
 *   does once a later record has to: what survives is always the beginning of the list.
 * - Strictly one record after another; a call before the former resolved is a defect of the caller.
 * - What names no key of its own is recorded under `key`, of several under the first.
 * - A position already recorded is answered from the record, and `work` does not start. Where that begins with an event
 *   of another key, of none of several, it throws `journal.diverged`.
 * - If `work` throws, nothing is recorded and the same position may be tried again.
 * - A record is whole or absent after a crash, however many events it holds.
 * - Events carry a chain of digests, which goes on over every crash (trust 15). A run that began without goes on without.
 */
export interface Journal {
  /** How many times this run had been opened before: events carry it, so that a later process knows its own. */
  readonly epoch: number;
  record(
    key: StepKey | readonly StepKey[],
    work: () => Promise<readonly Entry[]>,
    isRepeatable?: boolean,
  ): Promise<readonly RunEvent[]>;
  close(): Promise<void>;
}

/** A process as a lock names it. */
export interface ProcessMark {
  readonly pid: number;
  readonly host: string;
  /** Tells a process from a later one of the same id. */
  readonly started: string;
}

/** A run as it stands in a store. */
export interface StoredRun {
  readonly record: RunRecord;
  readonly events: readonly RunEvent[];
}

/** What of a run's record is not as it was written. */
export interface RecordProblem {
  /** Of those that were made durable one by one: the run's own line is the first. */
  readonly record: number;
  readonly line: number;
  readonly what: string;
}

/** What a run's record shows of itself (trust 15). */
export interface RecordCheck {
  /** Undefined where it does not begin with a run's own line; without a problem, all that it holds. */
  readonly run: StoredRun | undefined;
  /** How many whole ones it has. */
  readonly records: number;
  /** The last one, which all before it goes into; undefined where it was recorded without a chain. */
  readonly digest: string | undefined;
  readonly problems: readonly RecordProblem[];
}

/**
 * Where runs live. One process at a time drives a run: `create` and `open` take its lock (`store.locked` if another
 * living process has it) until the journal is closed.
 */
export interface Store {
  /** Throws `run.exists` if there is a run of that id. */
  create(record: RunRecord): Promise<Journal>;
  /** Throws `run.unknown`, and `run.altered` as `read` does. The journal answers the recorded positions first. */
  open(run: string): Promise<StoredRun & { readonly journal: Journal }>;
  /** The run so far, without its lock. Throws `run.altered` where it is not what was recorded, as far as that shows. */
  read(run: string): Promise<StoredRun>;
  /** Whether the record is as it was written. Throws `run.unknown`, and where there is no run's record at all. */
  verify(run: string): Promise<RecordCheck>;
  /** As much of a run as its line in a list needs; much cheaper than to read it, and where many are asked for at once. */
  skim(run: string): Promise<SkimmedRun>;
  /** The ids of the runs, newest first. */
  list(): Promise<readonly string[]>;
  /** The large results of a run, there or not yet: kept for as long as the run is. */
  blobs(run: string): Blobs;
  /** Forgets a run with all that belongs to it, its blobs too. Throws `run.unknown`; `store.locked` while it is driven. */
  remove(run: string): Promise<void>;
}

/** What a state keeps at most. */
export interface StateLimits {
  readonly keepMs?: number | undefined;
  readonly maxEntries?: number | undefined;
}

/** What one run did to one key: it put it, or a map met it there, or it counted something. */
export interface StateChange {
  readonly key: string;
  /** ISO 8601. */
  readonly first: string;
  readonly last: string;
  /** 1 where the run put it, and had not before. */
  readonly runs: number;
  readonly seen: number;
  /** What it put last; absent where it only met it. */
  readonly data?: Json;
  readonly tainted?: true;
  /** Numbers that are added to those that stand there, in place of data. */
  readonly add?: Readonly<Record<string, number>>;
}

/** What a run writes into states. */
export interface StateDelta {
  /** By which it is known whether it was applied: the run's id, and which of its pieces it is. */
  readonly id: string;
  readonly states: Readonly<Record<string, StateChanges>>;
}

export interface StateChanges {
  readonly changes: readonly StateChange[];
  readonly limits: StateLimits;
}

/** Entries by the states' names. */
export type States = ReadonlyMap<string, readonly StateEntry[]>;

/**
 * Where what runs remember lives (extensions G32). Several processes may use it at once.
 *
 * - A state that nobody has written is empty.
 * - `apply` is whole or has not happened, whatever kills the process, and a delta of an id that was applied changes
 *   nothing. Deltas of runs at once are merged by key (`mergeChanges`): nothing of either is lost.
 * - What is broken throws `store.failed`: nothing is guessed, and nothing is written over it.
 */
export interface StateStore {
  read(names: readonly string[]): Promise<States>;
  /** Gives the entries of the states that the delta names, as they stand then. */
  apply(delta: StateDelta): Promise<States>;
  /** The names of the states that are there. */
  list(): Promise<readonly string[]>;
  /** Removes entries by key, or all of a state; gives the keys that are gone. */
  forget(name: string, keys: readonly string[] | "all"): Promise<readonly string[]>;
}

/** How many of something may be under way, or begin in a time. */
export interface Rate {
  /** What it bounds: `model anthropic:* per minute`. */
  readonly name: string;
  readonly most: number;
  /** The time in which so many begin; undefined where so many are under way at a time. */
  readonly perMs: number | undefined;
}

/** As much of an AbortSignal as whoever waits needs. */
export type Stopped = Pick<AbortSignal, "aborted" | "reason"> & {
  addEventListener(type: "abort", hear: () => void, how: { readonly once: true }): void;
  removeEventListener(type: "abort", hear: () => void): void;
};

/** Whose turn it is, first come, first served. A process that dies gives back what it had. */
export interface Turns {
  /** Gives what gives it back, once it is our turn; rejects with the signal's reason. `onWait` is told where it is not at once. */
  take(rate: Rate, signal: Stopped, onWait: () => void): Promise<() => void>;
}

/** How a worker goes about it: it drives a run that it took from the queue as any process would, by the store. */
export interface QueueWorker {
  /** How many runs at a time. */
  readonly concurrency: number;
  readonly drive: (run: string) => Promise<void>;
}

export interface QueueState {
  /** Of Postgres. */
  readonly version: string;
  /** How far its clock is ahead of ours. */
  readonly clockMs: number;
  /** Runs that wait for a worker, and that are driven. */
  readonly queued: number;
  readonly underWay: number;
  /** Processes that live and take runs, or drive one. */
  readonly workers: number;
}

/** Where runs are taken in, to be driven when there is room. */
export interface Intake extends Pick<RunQueue, "enqueue" | "requeue" | "work"> {
  /** How many wait to be driven. */
  waiting(): Promise<number>;
}

/** Runs that are recorded by one process and driven by another. */
export interface RunQueue {
  /** What runs remember, in the same place. */
  readonly states: StateStore;
  /** Over all processes of the database. */
  readonly turns: Turns;
  /** Of its database, without what is secret in the address. */
  readonly place: string;
  examine(): Promise<QueueState>;
  /** What is added to a run, each time that it is asked: first all that is there. */
  tail(run: string): () => Promise<readonly RunEvent[]>;
  /** Whether a process that lives drives the run. */
  isDriven(run: string): Promise<boolean>;
  /** Records a run for a worker to take, and drives nothing. Throws `run.exists`. */
  enqueue(record: RunRecord): Promise<void>;
  /** Leaves a run that goes on to a worker. Throws `run.unknown`; `store.locked` while it is driven. */
  requeue(run: string): Promise<void>;
  /**
   * Takes runs until it is told to stop, those too whose process died; then resolves once all under way are over.
   * A run that was queued is created in the store by whoever took it, with what it brings along; any other is opened.
   */
  work(worker: QueueWorker, stop: AbortSignal, onReady: () => void): Promise<void>;
}

/** A line that a skill logged. */
export interface SkillLog {
  readonly skill: string;
  readonly level: keyof Logger;
  readonly message: string;
}

/** Watches a run. Its failures never reach the run (X2, D42). */
export interface Observer {
  onEvent(event: RunEvent): unknown;
  /** `node:progress`: a message about a node at work, shown while it happens and never recorded. */
  onProgress?(progress: { readonly node: string; readonly message: string }): unknown;
  /** What a skill logs while one of its tools is called: live too. */
  onLog?(log: SkillLog): unknown;
  /** What is found where a recorded run goes on or is replayed: tools that are gone, a prompt that changed. Live too. */
  onWarning?(warning: { readonly message: string }): unknown;
  /** How much of an answer has arrived so far: live too. */
  onAnswering?(answering: { readonly node: string; readonly characters: number }): unknown;
}
