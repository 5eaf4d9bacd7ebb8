import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { BenchRow } from "./measure.ts";

const SMALL = 64 * 1024 ** 2;
const ROUNDS = 3;
const NEEDLES = ["status=502", "ERROR", "checkout-7", "not there at all"];

/**
 * The logs skill's search against `grep -c` on one file, run in turn: wall time of the search in a process of its own (without
 * starting it), and that process's peak memory beside the one for a small file.
 */
export function benchLogs(bytes: number): readonly BenchRow[] {
  const folder = mkdtempSync(join(tmpdir(), "bench-logs-"));
  try {
    const program = resolve("bench/dist/logs-search.js");
    writeLog(join(folder, "large.log"), bytes);
    writeLog(join(folder, "small.log"), SMALL);
    const small = search(program, folder, "small.log", "ERROR");
    const rows = NEEDLES.map((needle) => ({ needle, ...compare(program, folder, needle) }));
    const peak = Math.max(...rows.map((row) => row.megabytes));
    return [...rows.map((row) => speedRow(row, bytes)), memoryRow(peak, small.megabytes)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Measured {
  readonly seconds: number;
  readonly megabytes: number;
  readonly matched: number;
}

/** The best of some rounds for each, taken in turn so that both meet the same machine. */
function compare(program: string, folder: string, needle: string) {
  const rounds = Array.from({ length: ROUNDS }, () => ({
    grep: grep(folder, needle),
    ours: search(program, folder, "large.log", needle),
  }));
  for (const { grep, ours } of rounds) {
    if (grep.matched !== ours.matched) throw new Error(`grep counts ${grep.matched} lines, search ${ours.matched}`);
  }
  return {
    grep: Math.min(...rounds.map((round) => round.grep.seconds)),
    ours: Math.min(...rounds.map((round) => round.ours.seconds)),
    megabytes: Math.max(...rounds.map((round) => round.ours.megabytes)),
  };
}

function speedRow({ needle, grep, ours }: { needle: string; grep: number; ours: number }, bytes: number): BenchRow {
  const speed = (seconds: number) => `${(bytes / 1e9 / seconds).toFixed(2)} GB/s`;
  return {
    name: `logs: search "${needle}"`,
    value: speed(ours),
    target: `${speed(grep * 3)} (a third of grep -c)`,
    ratio: (grep * 3) / ours,
  };
}

function memoryRow(peak: number, small: number): BenchRow {
  const most = small + 32;
  return { name: "logs: peak memory", value: `${peak} MB`, target: `${most} MB (64 MB file + 32)`, ratio: most / peak };
}

function grep(folder: string, needle: string): Omit<Measured, "megabytes"> {
  const begin = performance.now();
  const command = `grep -c -F -- '${needle}' large.log || true`;
  const matched = Number(execFileSync("sh", ["-c", command], { cwd: folder, encoding: "utf8" }));
  return { seconds: (performance.now() - begin) / 1000, matched };
}

function search(program: string, folder: string, file: string, needle: string): Measured {
  const output = execFileSync(process.execPath, [program, file, needle], { cwd: folder, encoding: "utf8" });
  return JSON.parse(output);
}

function writeLog(path: string, bytes: number): void {
  const file = openSync(path, "w");
  let written = 0;
  for (let first = 0; written < bytes; first += 5000) {
    const lines = Array.from({ length: 5000 }, (_, index) => lineOf(first + index)).join("");
    written += writeSync(file, lines.slice(0, bytes - written));
  }
  closeSync(file);
}

function lineOf(index: number): string {
  const time = new Date(1.7e12 + index * 7).toISOString();
  const request = Math.imul(index, 0x9e3779b1) >>> 0;
  const level = index % 97 === 0 ? "ERROR" : "INFO";
  const status = index % 101 === 0 ? 502 : 200;
  return `${time} ${level} service=checkout-${index % 13} request=${request.toString(16)} path=/orders/${index} status=${status} duration_ms=${index % 977}\n`;
}
