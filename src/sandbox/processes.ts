import { existsSync, openSync, readdirSync, readFileSync } from "node:fs";

/** One living process as Linux shows it. */
export interface LivingProcess {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Tells a process from a later one of the same id. */
  readonly started: string;
}

/** Every process that lives; none where the system has no /proc. */
export function livingProcesses(): readonly LivingProcess[] {
  return processIds().flatMap((pid) => livingProcess(pid) ?? []);
}

function processIds(): number[] {
  try {
    return readdirSync("/proc").map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

/** Undefined also for one that is dead and only waits for its parent. */
export function livingProcess(pid: number): LivingProcess | undefined {
  const stat = readProcess(pid, "stat");
  // The name stands in brackets and may hold any character.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state = "", parent, group, session] = fields;
  if (state === "" || "ZX".includes(state)) return undefined;
  return { pid, parent: Number(parent), group: Number(group), session: Number(session), started: fields[19] ?? "" };
}

/** Whether a process was started with this entry in its environment. */
export function startedWith(pid: number, entry: string): boolean {
  return readProcess(pid, "environ").split("\0").includes(entry);
}

/** Bytes that the processes hold together; what they share counts once where that is worth finding out. */
export function memoryOf(pids: readonly number[], worthExactness: number): number {
  const own = pids.map((pid) => kilobytes(readProcess(pid, "status"), /^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm));
  if (sum(own) <= worthExactness) return sum(own);
  const shared = pids.map((pid, i) => {
    const rollup = readProcess(pid, "smaps_rollup");
    return rollup === "" ? (own[i] ?? 0) : kilobytes(rollup, /^Pss_(?:Anon|Shmem):\s+(\d+) kB$/gm);
  });
  return sum(shared);
}

function kilobytes(text: string, lines: RegExp): number {
  return sum([...text.matchAll(lines)].map(([, count]) => Number(count) * 1024));
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

const CLOSED_AT_START = 0o2000000;

/** Our open files that a program started by us would have too, and one that is empty. Node closes all that it opens. */
export function inheritedFiles(): { readonly places: readonly number[]; readonly nothing: number } {
  const open = existsSync("/proc/self/fd") ? readdirSync("/proc/self/fd").map(Number) : [];
  const places = open.filter((place) => place > 2 && isInherited(place));
  return { places, nothing: openSync("/dev/null", "r+") };
}

function isInherited(place: number): boolean {
  const path = `/proc/self/fdinfo/${place}`;
  if (!existsSync(path)) return false; // the one that listed the others
  const flags = /^flags:\s+(\d+)$/m.exec(readFileSync(path, "latin1"))?.[1] ?? "0";
  return (Number.parseInt(flags, 8) & CLOSED_AT_START) === 0;
}

/** Empty when it is gone, or not ours to read. */
function readProcess(pid: number, file: "stat" | "status" | "environ" | "smaps_rollup"): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return "";
  }
}
