import type { EventBody, RunEvent, RunRecord } from "./event.ts";
import type { Prompt, Reply } from "./prompt.ts";
import type { SkimmedRun } from "./record/run-summary.ts";
import type { Json } from "./values.ts";

/** Names one position of a run: unique in it and the same whenever the run is driven again. `3:assess/0/2` */
export type StepKey = string;

/** Why a model is asked. Only `work` carries tools (D8). */
export type Purpose = "work" | "route" | "judge" | "reflect";

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
 *   the machine's too where it holds something that was paid for or cannot be undone: a machine's crash may make us decide
 *   again, never do again.
 * - Strictly one record after another; a call before the former resolved is a defect of the caller.
 * - A position already recorded is answered from the record, and `work` does not start. Another key there throws
 *   `journal.diverged`.
 * - If `work` throws, nothing is recorded and the same position may be tried again.
 * - A record is whole or absent after a crash, however many events it holds.
 */
export interface Journal {
  /** How many times this run had been opened before: events carry it, so that a later process knows its own. */
  readonly epoch: number;
  record(key: StepKey, work: () => Promise<readonly EventBody[]>): Promise<readonly RunEvent[]>;
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

/**
 * Where runs live. One process at a time drives a run: `create` and `open` take its lock (`store.locked` if another
 * living process has it) until the journal is closed.
 */
export interface Store {
  /** Throws `run.exists` if there is a run of that id. */
  create(record: RunRecord): Promise<Journal>;
  /** Throws `run.unknown`. The journal answers the recorded positions first. */
  open(run: string): Promise<StoredRun & { readonly journal: Journal }>;
  /** The run so far, without its lock. */
  read(run: string): Promise<StoredRun>;
  /** As much of a run as its line in a list needs; much cheaper than to read it. */
  skim(run: string): Promise<SkimmedRun>;
  /** The ids of the runs, newest first. */
  list(): Promise<readonly string[]>;
  /** Forgets a run with all that belongs to it, its blobs too. Throws `run.unknown`; `store.locked` while it is driven. */
  remove(run: string): Promise<void>;
}

/** A blob as it is spoken of; the content is fetched by its id. */
export interface BlobInfo {
  /** `blob:` and 32 hexadecimal digits, made from kind and content. */
  readonly blob_id: string;
  /** A MIME type. */
  readonly kind: string;
  readonly size_bytes: number;
}

/**
 * Data too large to be passed around, held by handle.
 *
 * - Content-addressed: the same content of the same kind is the same blob, and an id never changes what it stands for.
 * - `create` resolves once the blob would survive a crash (where the store survives one); throws `blob.refused` when it
 *   is larger than allowed, or when all of them together would be.
 * - An unknown or malformed id is undefined for `info` and throws `blob.unknown` for the others.
 */
export interface Blobs {
  create(content: Uint8Array, kind: string): Promise<BlobInfo>;
  info(id: string): Promise<BlobInfo | undefined>;
  /** `length` bytes from `offset`, fewer at the end. */
  read(id: string, offset: number, length: number): Promise<Uint8Array>;
  /** A file of this machine with the content, not to be written to. */
  file(id: string): Promise<string>;
}

/** A file or folder of this machine as a foreign program sees it. */
export interface Mount {
  /** Absolute, on this machine. */
  readonly source: string;
  /** Absolute, as the program sees it. */
  readonly target: string;
  readonly writable: boolean;
  /**
   * Of a writable folder: names in it that the program can neither change nor make, there or not. One that is a link keeps
   * the program from being run.
   */
  readonly protect?: readonly string[];
  /** Made for this program alone and thrown away after it, so that its files may be given to another user. */
  readonly disposable?: boolean;
}

/**
 * All of them hold together; what is reached ends the program and all that it started. A sandbox that isolates bounds
 * memory, processes and disk also where the command does not.
 */
export interface SandboxLimits {
  readonly wallMs: number;
  /** Of standard output and of standard error, each; what goes beyond is cut and marked, and far beyond ends it. */
  readonly outputBytes: number;
  readonly memoryBytes?: number;
  readonly cpuSeconds?: number;
  readonly processes?: number;
  /** Of any one file that it writes. */
  readonly fileBytes?: number;
  /** Written to disk by all of it together, where the system counts that. */
  readonly diskBytes?: number;
}

/** One foreign program to run, whole: what is not named here does not reach it. */
export interface ForeignCommand {
  /** The program and its arguments, each one argument, never a shell's text. A bare name is looked up on its PATH. */
  readonly argv: readonly [program: string, ...args: string[]];
  readonly stdin: string;
  /** Variables beside the minimal base: PATH, HOME, LANG and a TMPDIR of its own. */
  readonly env: Readonly<Record<string, string>>;
  /** Beside what every program needs to start (the system's programs and libraries, read-only). */
  readonly mounts: readonly Mount[];
  /** Where it starts, as it sees it. */
  readonly cwd: string;
  /**
   * None, this machine's, or these hosts alone (core/declared-host.ts) by HTTP and HTTPS, through the proxy that its
   * environment names. A sandbox that does not isolate cannot keep to hosts, and refuses them with `sandbox.failed`.
   */
  readonly network: boolean | readonly string[];
  readonly limits: SandboxLimits;
  readonly signal: AbortSignal;
}

export interface ForeignResult {
  /** What ended it. `exit` is also a signal of its own making; `time` is the wall clock or the processor's. */
  readonly ended: "exit" | "time" | "memory" | "processes" | "disk" | "output" | "aborted";
  /** Undefined when a signal ended it. */
  readonly code: number | undefined;
  readonly stdout: string;
  /** What it printed, with lines quoted that pass for ours (core/voice.ts); behind it ours, one for each refused place. */
  readonly stderr: string;
  /** Whether either was cut at `outputBytes`. */
  readonly truncated: boolean;
}

/**
 * Runs one foreign program to its end.
 *
 * - Nothing of it outlives the call: when `run` resolves, its whole process tree is gone, also one that left its group.
 * - It sees the environment, files and network that the command names, and nothing else of this machine, where
 *   `isolates`; otherwise the command's environment, limits and end hold, and files are the user's.
 * - A program that cannot be started throws `sandbox.failed`; what a program does, its exit status included, is a result.
 * - `stdin` that is never read, and output that is never read by anyone else, do not hold it up.
 */
export interface Sandbox {
  /** `process`, `bubblewrap`, `unshare`, … */
  readonly name: string;
  readonly isolates: boolean;
  run(command: ForeignCommand): Promise<ForeignResult>;
}

/** One call of a function that an ES module exports. */
export interface JavaScriptCall {
  /** The module's text. It can import nothing. */
  readonly module: string;
  /** Of the exported function; it may be asynchronous. */
  readonly name: string;
  readonly input: Json;
  readonly limits: Pick<SandboxLimits, "wallMs" | "outputBytes" | "memoryBytes">;
  readonly signal: AbortSignal;
}

export type JavaScriptEnd =
  | { readonly ended: "returned"; readonly value: Json }
  | { readonly ended: "threw"; readonly message: string }
  | { readonly ended: "time" | "memory" | "output" | "aborted" };

/** Watches a run. Its failures never reach the run (X2, D42). */
export interface Observer {
  onEvent(event: RunEvent): unknown;
  /** `node:progress`: a message about a node at work, shown while it happens and never recorded. */
  onProgress?(progress: { readonly node: string; readonly message: string }): unknown;
  /** How much of an answer has arrived so far: live too. */
  onAnswering?(answering: { readonly node: string; readonly characters: number }): unknown;
}
