import { type ChildProcess, spawn } from "node:child_process";
import type { Server } from "node:net";
import type { Duplex, Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { setImmediate as nextRound, setTimeout as pause } from "node:timers/promises";
import { messageOf, SkillflowError } from "../core/base/errors.ts";
import { CUT_MARK } from "../core/base/redact/cut-edges.ts";
import { LONGEST_TIMER_MS } from "../core/base/values.ts";
import type { ForeignCommand, ForeignResult, SandboxLimits, Turn } from "../core/skill/sandbox.ts";
import type { SandboxHost } from "./host.ts";
import { followTree, inheritedFiles, livingProcess, membersOf, type Usage, usageInside, usageOf } from "./processes.ts";

/** Program to start. All processes that it starts belong to its tree. */
export interface Launch extends Pick<ForeignCommand, "argv" | "stdin" | "env" | "cwd" | "limits" | "signal"> {
  /** Program name for messages. `argv` may start with a launcher. */
  readonly program: string;
  /** Unique environment entry `NAME=value`, used to find processes that left the group. */
  readonly mark?: string;
  /** True if the launcher reports, by `adopt`, the first process of a process namespace, whose end ends all others. */
  readonly contained?: boolean;
  /** Called when the program's time starts. Returns a check for too much disk use that process counters missed. */
  readonly watchDisk?: () => () => boolean;
  /** File descriptors 3, 4, … of a launcher, in addition to the program's own streams. */
  readonly channels?: readonly Channel[];
  /** Receives the server that the program hands over in its first message. The message channel is then closed. */
  readonly onServer?: (server: Server) => void;
}

export interface Channel {
  /** Text written at the start. The channel is then closed. */
  readonly text?: string | Buffer;
  /** Called with all text received so far, each time more arrives. */
  readonly onText?: (text: string, launched: Launched) => void;
}

/** Running launcher, as its channels see it. */
interface Launched {
  readonly pid: number;
  /** Counts the first process inside as part of the tree from now on, whatever its parent. */
  adopt(pid: number): void;
  /** Writes to a channel and closes it. */
  answer(channel: number, text: string): void;
}

export interface TreeEnd extends ForeignResult {
  readonly signalled: NodeJS.Signals | undefined;
}

type Ended = ForeignResult["ended"];

/** Delay between SIGTERM and SIGKILL. */
const GRACE_MS = 500;
const WATCH_MS = 100;
/** Shorter interval for contained trees, because a process namespace is cheap to inspect. */
const WATCH_CONTAINED_MS = 20;
/** Multiple of `outputBytes` after which a program is ended. */
const WILD = 64;

/** Runs a program until its whole tree is gone. With a turn, the program waits for it before it starts work. */
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
  // A process outside the tree may still hold the streams. Do not wait for it.
  await Promise.race([closed, pause(GRACE_MS, undefined, { ref: false })]);
  // The exit event can arrive before the last output, and the deadline can pass while we are busy.
  await nextRound();
  for (const stream of child.stdio) stream?.destroy();
  if (begun === "gone") throw new SkillflowError("sandbox.failed", `${launch.program} ended before its turn`);
  return resultOf(ended, outputs, child);
}

/** Waits for the turn. Returns undefined if the turn never comes. */
async function atItsTurn(launch: Launch, turn: Promise<Turn | undefined>): Promise<Launch | undefined> {
  const given = await turn;
  if (!given) return undefined;
  const { stdin, signal, wallMs } = given;
  return { ...launch, stdin, signal, limits: { ...launch.limits, wallMs } };
}

async function runBegun(host: SandboxHost, child: ChildProcess, watched: Watched): Promise<Ended> {
  child.stdin?.on("error", () => undefined); // programs need not read all of their input
  child.stdin?.end(watched.launch.stdin);
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
    // A separate session gives one group to kill and no terminal for input.
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

/** Replaces inherited open files with /dev/null, because our parent may leak files to all children. */
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

type ProcessTree = ReturnType<typeof trackTree>;

function trackTree({ pid: root }: ChildProcess, { mark, contained = false }: Launch) {
  if (!root) throw new SkillflowError("internal.fault", "a program was started and has no process id");
  const tree = followTree(root, mark);
  const { known, older } = tree;
  let first: number | undefined;
  const members = () => membersOf(tree);
  return {
    root,
    adopt(pid: number) {
      const living = livingProcess(pid);
      if (!living) return;
      known.set(pid, living.started);
      first = pid;
    },
    /** Returns the ids of live members, found by scanning all processes. */
    members,
    /** Returns what must end: all members, or only the launcher and the first process of a contained tree. */
    vital(): readonly number[] {
      // Look among all processes for those that must end: an id may have been reused since the last look.
      older.clear();
      // Until the first inner process is known, treat the tree as not contained.
      if (!contained || first === undefined) return members();
      return [first, root].filter((pid) => known.has(pid) && livingProcess(pid)?.started === known.get(pid));
    },
    /** Returns the current resource usage. Undefined while it cannot be measured. */
    usage(): Usage | undefined {
      if (!contained) return usageOf(members());
      return first === undefined ? undefined : usageInside(first);
    },
  };
}

interface Output {
  text(): string;
  isCut(): boolean;
  /** Called when the output far exceeds the limit. */
  onWild: () => void;
}

/** Keeps output up to a limit and drains the rest, so that the program does not block. */
function collect(stream: Readable | null, cap: number): Output {
  const kept: Buffer[] = [];
  let total = 0;
  const output: Output = {
    // Drop a character that the limit cut in half, and mark the cut: half a secret would not be recognized.
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

interface Watched {
  readonly launch: Launch;
  readonly exited: Promise<void>;
  readonly tree: ProcessTree;
  readonly outputs: readonly Output[];
}

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

function reachedLimit(tree: ProcessTree, { memoryBytes, processes, diskBytes }: SandboxLimits): Ended | undefined {
  if (memoryBytes === undefined && processes === undefined && diskBytes === undefined) return undefined;
  const usage = tree.usage();
  if (!usage) return undefined;
  // Check the cheap limits first: memory is slow to measure for many processes.
  if (processes !== undefined && usage.processes > processes) return "processes";
  if (diskBytes !== undefined && usage.written() > diskBytes) return "disk";
  return memoryBytes !== undefined && usage.bytes(memoryBytes) > memoryBytes ? "memory" : undefined;
}

/** Sends SIGTERM, but not to a contained tree's launcher, whose end would kill all processes at once. */
async function askToEnd(host: SandboxHost, { tree, exited, launch }: Watched): Promise<void> {
  if (!launch.contained) host.kill(-tree.root, "SIGTERM");
  const asked = tree.members().filter((pid) => !launch.contained || pid !== tree.root);
  for (const pid of asked) host.kill(pid, "SIGTERM");
  await Promise.race([exited, pause(GRACE_MS, undefined, { ref: false })]);
}

const ROUNDS = 200;

/** Kills the tree repeatedly, because a process may start another one in the meantime. */
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
    hint: "end them by hand: they changed users, or are waiting for a disk or network share that does not answer",
  });
}
