import { type ChildProcess, spawn } from "node:child_process";
import type { Server } from "node:net";
import type { Duplex, Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { setImmediate as nextRound, setTimeout as pause } from "node:timers/promises";
import { messageOf, SkillflowError } from "../core/base/errors.ts";
import { CUT_MARK } from "../core/base/redact/cut-edges.ts";
import type { ForeignCommand, ForeignResult, SandboxLimits, Turn } from "../core/skill/sandbox.ts";
import type { SandboxHost } from "./host.ts";
import { findMembers, inheritedFiles, livingProcess, type Usage, usageInside, usageOf } from "./processes.ts";

/** A program to start, and with it everything that it starts. */
export interface Launch extends Pick<ForeignCommand, "argv" | "stdin" | "env" | "cwd" | "limits" | "signal"> {
  /** As messages name it: a launcher stands before it in `argv`. */
  readonly program: string;
  /** `NAME=value` of its environment that no other process has: finds those that left its group. */
  readonly mark?: string;
  /** A launcher that tells us, by `adopt`, of the first process of a process namespace: all others end with it. */
  readonly contained?: boolean;
  /** Called when its time begins; tells from there on whether more was taken on disk than its processes were counted for. */
  readonly watchDisk?: () => () => boolean;
  /** File descriptors 3, 4, … of a launcher, which it reads or writes beside the program's own streams. */
  readonly channels?: readonly Channel[];
  /** Given the server that the program hands over as its first message; then the channel for messages is closed. */
  readonly onServer?: (server: Server) => void;
}

export interface Channel {
  /** Written at the start; the end of the text is its end. */
  readonly text?: string | Buffer;
  /** Given all that has arrived so far, each time more does. */
  readonly onText?: (text: string, launched: Launched) => void;
}

/** A launcher at work, as its channels see it. */
export interface Launched {
  readonly pid: number;
  /** The first process inside: counted to the tree from now on, whoever its parent becomes. */
  adopt(pid: number): void;
  /** Writes to the channel of this place and ends it. */
  answer(channel: number, text: string): void;
}

export interface TreeEnd extends ForeignResult {
  readonly signalled: NodeJS.Signals | undefined;
}

type Ended = ForeignResult["ended"];

/** Between SIGTERM and SIGKILL. */
const GRACE_MS = 500;
const WATCH_MS = 100;
/** Looking into a namespace of its own costs little. */
const WATCH_CONTAINED_MS = 20;
/** Times `outputBytes` that a program may print before it is ended. */
const WILD = 64;

/** Runs a program until it and all that it started are gone; one that has a turn to wait for does nothing until then. */
export async function runTree(host: SandboxHost, launch: Launch, turn?: Promise<Turn | undefined>): Promise<TreeEnd> {
  if (launch.signal.aborted) return resultOf("aborted", [], undefined);
  const child = await start(launch);
  child.once("message", (_message, handle) => {
    launch.onServer?.(handle as Server);
    child.disconnect();
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const tree = trackTree(child, launch);
  const outputs = [child.stdout, child.stderr].map((stream) => collect(stream, launch.limits.outputBytes));
  serveChannels(child, launch.channels ?? [], tree);
  const begun = turn ? await Promise.race([atItsTurn(launch, turn), exited.then(() => "gone" as const)]) : launch;
  const ended =
    begun && begun !== "gone" ? await runBegun(host, child, { launch: begun, exited, tree, outputs }) : "aborted";
  await killAll(host, tree);
  await exited;
  // Whoever still holds the streams is not of this tree, and must not hold us.
  await Promise.race([closed, pause(GRACE_MS, undefined, { ref: false })]);
  // The end may be told before what was printed is read, and the time be over while we were busy elsewhere.
  await nextRound();
  for (const stream of child.stdio) stream?.destroy();
  if (begun === "gone") throw new SkillflowError("sandbox.failed", `${launch.program} ended before its turn`);
  return resultOf(ended, outputs, child);
}

/** Undefined where it is never to have one. */
async function atItsTurn(launch: Launch, turn: Promise<Turn | undefined>): Promise<Launch | undefined> {
  const given = await turn;
  if (!given) return undefined;
  const { stdin, signal, wallMs } = given;
  return { ...launch, stdin, signal, limits: { ...launch.limits, wallMs } };
}

async function runBegun(host: SandboxHost, child: ChildProcess, watched: Watched): Promise<Ended> {
  feed(child, watched.launch.stdin);
  const ended = await firstEnd(watched);
  if (ended === "time" || ended === "aborted") await askToEnd(host, watched);
  return ended;
}

function resultOf(ended: Ended, outputs: readonly Output[], child: ChildProcess | undefined): TreeEnd {
  return {
    ended,
    code: child?.exitCode ?? undefined,
    signalled: child?.signalCode ?? undefined,
    stdout: outputs[0]?.text() ?? "",
    stderr: outputs[1]?.text() ?? "",
    truncated: outputs.some((output) => output.isCut()),
  };
}

async function start(launch: Launch): Promise<ChildProcess> {
  const { program, argv, cwd, env, channels = [], onServer } = launch;
  const [file, ...args] = argv;
  const pipes = ["stdin", "stdout", "stderr", ...channels].map(() => "pipe" as const);
  const stdio = withoutInherited([...pipes, ...(onServer ? (["ipc"] as const) : [])]);
  try {
    // In a session of its own: a group to end as one, and no terminal to type into.
    const child = spawn(file, args, { cwd, env, detached: true, stdio });
    await new Promise<void>((resolve, reject) => child.once("spawn", resolve).once("error", reject));
    return child;
  } catch (error) {
    throw new SkillflowError("sandbox.failed", `${program} could not be started in ${cwd}: ${messageOf(error)}`, {
      hint: "check that the program is installed and may be run, and that the folder exists",
      cause: error,
    });
  }
}

/** Puts nothing in the place of each file that we were started with: whoever starts us may leave some open to all. */
function withoutInherited(pipes: readonly ("pipe" | "ipc")[]): ("pipe" | "ipc" | "ignore" | number)[] {
  inherited ??= inheritedFiles();
  const stdio: ("pipe" | "ipc" | "ignore" | number)[] = [...pipes];
  for (const place of inherited.places) {
    while (stdio.length <= place) stdio.push("ignore");
    if (place >= pipes.length) stdio[place] = inherited.nothing;
  }
  return stdio;
}

let inherited: ReturnType<typeof inheritedFiles> | undefined;

interface ProcessTree {
  readonly root: number;
  adopt(pid: number): void;
  /** Ids of those that live, found by looking at every process of the machine. */
  members(): readonly number[];
  /** Those whose end is everyone's: all of them, but of a contained tree the launcher and the first inside. */
  vital(): readonly number[];
  /** What it uses by now; undefined while that cannot be told. */
  usage(): Usage | undefined;
}

function trackTree({ pid: root }: ChildProcess, { mark, contained = false }: Launch): ProcessTree {
  if (!root) throw new SkillflowError("internal.fault", "a program was started and has no process id");
  /** By id, when it started: an id is used again. */
  const known = new Map<number, string>();
  let first: number | undefined;
  const note = (pid: number) => {
    const living = livingProcess(pid);
    if (living) known.set(pid, living.started);
    return living;
  };
  const lives = (pid: number) => livingProcess(pid)?.started === known.get(pid);
  note(root);
  return {
    root,
    adopt: (pid) => {
      if (note(pid)) first = pid;
    },
    members: () => {
      findMembers(known, root, mark);
      return [...known.keys()];
    },
    vital() {
      // Until the first inside is known, it is a child like any other.
      if (!contained || first === undefined) return this.members();
      return [first, root].filter((pid) => known.has(pid) && lives(pid));
    },
    usage() {
      if (!contained) return usageOf(this.members());
      return first === undefined ? undefined : usageInside(first);
    },
  };
}

interface Output {
  text(): string;
  isCut(): boolean;
  /** Called once it goes on far beyond what is kept. */
  onWild: () => void;
}

/** Reads on beyond the cap, so that the program is not held up, and keeps nothing of it. */
function collect(stream: Readable | null, cap: number): Output {
  const kept: Buffer[] = [];
  let total = 0;
  const output: Output = {
    // A character cut in half at the cap is left out, and what was cut says so: half a secret is known by it (trust 5).
    text: () => {
      const bytes = Buffer.concat(kept);
      return total > cap ? `${new StringDecoder("utf8").write(bytes)}${CUT_MARK}` : bytes.toString("utf8");
    },
    isCut: () => total > cap,
    onWild: () => undefined,
  };
  stream?.on("data", (chunk: Buffer) => {
    if (total < cap) kept.push(chunk.subarray(0, cap - total));
    total += chunk.length;
    if (total > cap * WILD) output.onWild();
  });
  return output;
}

function serveChannels(child: ChildProcess, channels: readonly Channel[], tree: ProcessTree): void {
  const streamOf = (place: number) => child.stdio[place + 3] as Duplex | null | undefined;
  const launched: Launched = {
    pid: tree.root,
    adopt: tree.adopt,
    answer: (place, text) => streamOf(place)?.end(text),
  };
  for (const [place, { text, onText }] of channels.entries()) {
    let arrived = "";
    const stream = streamOf(place)?.on("error", () => undefined);
    if (text !== undefined) stream?.end(text);
    stream?.on("data", (chunk: Buffer) => {
      arrived += chunk.toString("utf8");
      onText?.(arrived, launched);
    });
  }
}

/** A program that does not read its input, or ends before it has, is no failure. */
function feed(child: ChildProcess, text: string): void {
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(text);
}

interface Watched {
  readonly launch: Launch;
  readonly exited: Promise<void>;
  readonly tree: ProcessTree;
  readonly outputs: readonly Output[];
}

/** Whatever happens first: the program's end, or a limit. */
function firstEnd({
  launch: { limits, signal, contained, watchDisk },
  exited,
  tree,
  outputs,
}: Watched): Promise<Ended> {
  const fillsDisk = watchDisk?.();
  return new Promise((resolve) => {
    const end = (ended: Ended) => {
      clearTimeout(wall);
      clearInterval(watch);
      signal.removeEventListener("abort", onAbort);
      resolve(ended);
    };
    const onAbort = () => end("aborted");
    const wall = setTimeout(() => end("time"), Math.min(limits.wallMs, LONGEST_TIMER_MS));
    const look = () => {
      const reached = reachedLimit(tree, limits) ?? (fillsDisk?.() ? "disk" : undefined);
      if (reached) end(reached);
    };
    const watch = setInterval(look, contained ? WATCH_CONTAINED_MS : WATCH_MS);
    for (const output of outputs) output.onWild = () => end("output");
    void exited.then(() => end("exit"));
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort);
  });
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

function reachedLimit(tree: ProcessTree, { memoryBytes, processes, diskBytes }: SandboxLimits): Ended | undefined {
  if (memoryBytes === undefined && processes === undefined && diskBytes === undefined) return undefined;
  const usage = tree.usage();
  if (!usage) return undefined;
  // First what is quickly told: many processes are slow to look into.
  if (processes !== undefined && usage.processes > processes) return "processes";
  if (diskBytes !== undefined && usage.written() > diskBytes) return "disk";
  return memoryBytes !== undefined && usage.bytes(memoryBytes) > memoryBytes ? "memory" : undefined;
}

/** A launcher itself is not asked: its end would be everyone's at once. */
async function askToEnd(host: SandboxHost, { tree, exited, launch }: Watched): Promise<void> {
  if (!launch.contained) host.kill(-tree.root, "SIGTERM");
  const asked = tree.members().filter((pid) => !launch.contained || pid !== tree.root);
  for (const pid of asked) host.kill(pid, "SIGTERM");
  await Promise.race([exited, pause(GRACE_MS, undefined, { ref: false })]);
}

const ROUNDS = 200;

/** Again and again, because a process may start another while we look. */
async function killAll(host: SandboxHost, tree: ProcessTree): Promise<void> {
  host.kill(-tree.root, "SIGKILL");
  for (let round = 0; round < ROUNDS; round++) {
    const pids = tree.vital();
    if (pids.length === 0) return;
    for (const pid of pids) host.kill(pid, "SIGKILL");
    await pause(Math.min(1 + round, 50));
  }
  throw new SkillflowError("sandbox.failed", `processes of a foreign program cannot be ended: ${tree.vital()}`, {
    acted: "unknown",
    hint: "end them by hand: they became another user's, or wait for a disk or network share that does not answer",
  });
}
