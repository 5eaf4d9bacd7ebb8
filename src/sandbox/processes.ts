import { existsSync, openSync, readdirSync, readFileSync } from "node:fs";
import { attempt } from "../core/base/errors.ts";

/** Lists the live processes. Returns none if the system has no /proc. */
export function livingProcesses() {
  return processIds("/proc").flatMap((pid) => livingProcess(pid) ?? []);
}

function processIds(proc: string): number[] {
  return (attempt(() => readdirSync(proc)) ?? []).map(Number).filter(Number.isInteger);
}

/** Reads one process. Returns undefined for dead processes, including zombies. */
export function livingProcess(pid: number) {
  return parseStat(pid, readProcess(pid, "stat"));
}

/** `started` is the start time, which distinguishes a process from a later one with the same id. */
function parseStat(pid: number, stat: string) {
  // The name is in parentheses and may contain any character.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state = "", parent, group, session] = fields;
  if (state === "" || "ZX".includes(state)) return undefined;
  return { pid, parent: Number(parent), group: Number(group), session: Number(session), started: fields[19] ?? "" };
}

function startedWith(pid: number, entry: string | undefined): boolean {
  return entry !== undefined && readProcess(pid, "environ").split("\0").includes(entry);
}

/** Begins to follow a tree. `mark` is an environment entry that finds processes which left their group and parent. */
export function followTree(root: number, mark?: string) {
  const started = livingProcess(root)?.started;
  /** Start times of its live members by id, because ids are reused. */
  const known = new Map(started === undefined ? [] : [[root, started]]);
  /** Processes that started before the root, and so do not belong to it. They are not read again while they exist. */
  const older = new Set<number>();
  return { root, mark, known, older, since: Number(started ?? 0) };
}

/** Follows a process tree. Each call returns its live members, including those that left their group or parent. */
export function followProcess(root: number, mark: string): () => readonly number[] {
  const tree = followTree(root, mark);
  return () => membersOf(tree);
}

export function membersOf(tree: ReturnType<typeof followTree>): readonly number[] {
  const { root, mark, known, older, since } = tree;
  const ids = new Set(processIds("/proc"));
  for (const pid of older) if (!ids.has(pid)) older.delete(pid);
  const living = [...ids].flatMap((pid) => (older.has(pid) ? [] : (livingProcess(pid) ?? [])));
  const before = new Map(known);
  known.clear();
  for (const { pid, started } of living) if (before.get(pid) === started) known.set(pid, started);
  const strangers = () => living.filter(({ pid }) => !known.has(pid) && !older.has(pid));
  for (const { pid, group, session, started } of strangers()) {
    if (Number(started) < since) older.add(pid);
    else if (group === root || session === root || startedWith(pid, mark)) known.set(pid, started);
  }
  for (let size = -1; size !== known.size; ) {
    size = known.size;
    for (const { pid, parent, started } of strangers()) if (known.has(parent)) known.set(pid, started);
  }
  return [...known.keys()];
}

export type Usage = ReturnType<typeof usageOf>;

export function usageOf(pids: readonly number[], proc = "/proc") {
  /** Returns the memory used. Measures shared pages exactly only if a quick estimate exceeds `worthExactness`. */
  const bytes = (worthExactness: number) => {
    const own = pids.map((pid) => kilobytes(readProcess(pid, "status", proc), /^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm));
    if (sum(own) <= worthExactness) return sum(own);
    const exact = pids.map((pid, i) => {
      const rollup = readProcess(pid, "smaps_rollup", proc);
      return rollup === "" ? (own[i] ?? 0) : kilobytes(rollup, /^Pss_(?:Anon|Shmem):\s+(\d+) kB$/gm);
    });
    return sum(exact);
  };
  /** Returns the bytes written to disk, including those of ended child processes. */
  const written = () =>
    sum(pids.map((pid) => Number(/^write_bytes: (\d+)$/m.exec(readProcess(pid, "io", proc))?.[1] ?? 0)));
  return { processes: pids.length, bytes, written };
}

/** Measures a process namespace by its first process, which is not counted. Undefined until it has its own /proc. */
export function usageInside(first: number): Usage | undefined {
  const proc = `/proc/${first}/root/proc`;
  const started = parseStat(1, readProcess(1, "stat", proc))?.started;
  if (started === undefined || started !== livingProcess(first)?.started) return undefined;
  const usage = usageOf(processIds(proc), proc);
  return { ...usage, processes: usage.processes - 1 };
}

function kilobytes(text: string, lines: RegExp): number {
  return sum([...text.matchAll(lines)].map(([, count]) => Number(count) * 1024));
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

const CLOSED_AT_START = 0o2000000;

/** Finds open files that a child process would inherit, and opens /dev/null to replace them. Skips Node's own files. */
export function inheritedFiles(): { readonly places: readonly number[]; readonly nothing: number } {
  const open = existsSync("/proc/self/fd") ? readdirSync("/proc/self/fd").map(Number) : [];
  const places = open.filter((place) => place > 2 && isInherited(place));
  return { places, nothing: places.length === 0 ? -1 : openSync("/dev/null", "r+") };
}

function isInherited(place: number): boolean {
  const told = attempt(() => readFileSync(`/proc/self/fdinfo/${place}`, "latin1"));
  if (told === undefined) return false; // the directory handle of the listing itself, or a file closed since
  const flags = /^flags:\s+(\d+)$/m.exec(told)?.[1] ?? "0";
  return (Number.parseInt(flags, 8) & CLOSED_AT_START) === 0;
}

type ProcessFile = "stat" | "status" | "environ" | "smaps_rollup" | "io";

/** Reads a file in /proc. Returns an empty string if the process is gone or not readable. */
function readProcess(pid: number, file: ProcessFile, proc = "/proc"): string {
  return attempt(() => readFileSync(`${proc}/${pid}/${file}`, "latin1")) ?? "";
}
