import { spawn } from "node:child_process";
import { cpus, loadavg, totalmem, type } from "node:os";
import type { Name } from "./pages.ts";
import type { Cell, Column, Machine, Result, Row } from "./results.ts";

/** Method of all measurements here. */

/** One table, as data: its description, and its contestants. */
export interface Bench {
  readonly name: Name;
  readonly title: string;
  readonly how: string;
  /** Counts, and measures no time: the load of the machine does not matter. */
  readonly isCounted?: true;
  measure(effort: Effort): Promise<Measured>;
}

export interface Effort {
  readonly isThorough: boolean;
  /** Rounds of a table: its own number by default, or more. */
  rounds(usual: number): number;
}

export interface Measured {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly rounds: number;
}

/** Row before it is measured. */
export type Contestant = Omit<Row, "cells">;

/** A number for each column, or the reason why there is none, after which the contestant is skipped. */
export type Values = readonly number[] | string;

/** Runs every contestant in turn, round by round. One that fails is skipped, and keeps its rounds so far. */
export async function interleave<One>(
  contestants: readonly One[],
  columns: readonly string[],
  rounds: number,
  measure: (one: One, round: number) => Values | Promise<Values>,
): Promise<ReadonlyMap<One, Readonly<Record<string, Cell>>>> {
  const cells = new Map<One, Record<string, Cell>>(contestants.map((one) => [one, {}]));
  const resting = new Set<One>();
  for (let round = 0; round < rounds; round++) {
    for (const [one, own] of cells) {
      if (resting.has(one)) continue;
      const values = await measure(one, round);
      if (typeof values === "string") resting.add(one);
      columns.forEach((column, index) => {
        const before = roundsOf(own[column]);
        if (typeof values !== "string") own[column] = [...before, values[index] ?? Number.NaN];
        else if (before.length === 0) own[column] = values;
      });
    }
  }
  return cells;
}

export function roundsOf(cell: Cell | undefined): readonly number[] {
  return Array.isArray(cell) ? cell : [];
}

/** In milliseconds. */
export async function timed(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

export interface Ended {
  /** Output. For a program that failed, its last message. */
  readonly output: string;
  /** Null if it was stopped at its time limit. */
  readonly code: number | null;
  readonly ms: number;
}

export interface Start {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly mostMs?: number;
  /** Called immediately. */
  readonly onSpawn?: (pid: number, at: number) => void;
}

/** A process from its start to its end. Runs Node unless another program is named. */
export function ended(args: readonly string[], start: Start = {}, program = process.execPath): Promise<Ended> {
  const { cwd, env, mostMs = 600_000, onSpawn } = start;
  const begun = performance.now();
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  onSpawn?.(child.pid ?? 0, begun);
  let printed = "";
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-4000);
  });
  const limit = setTimeout(() => child.kill("SIGKILL"), mostMs);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      clearTimeout(limit);
      resolve({ output: code === 0 ? printed : said || printed, code, ms: performance.now() - begun });
    });
  });
}

/** Like `ended`, for programs that must succeed. */
export async function succeeded(args: readonly string[], start: Start = {}, program?: string): Promise<Ended> {
  const done = await ended(args, start, program);
  if (done.code !== 0)
    throw new Error(`${args.slice(0, 3).join(" ")} ended with ${done.code}: ${lastLine(done.output)}`);
  return done;
}

/** Returns the message of a failed program: its last error, or else its last line. */
export function lastLine(text: string): string {
  const lines = text.trim().split("\n");
  return (lines.findLast((line) => /error\b.*:/i.test(line)) ?? lines.at(-1) ?? "").trim().slice(0, 120);
}

export async function resultOf(bench: Bench, effort: Effort): Promise<Result> {
  const machine = thisMachine();
  const { columns, rows, rounds } = await bench.measure(effort);
  const { name, title, how, isCounted } = bench;
  const at = new Date().toISOString();
  const text = { schema: "skillflow.bench/1", name, title, how, at, rounds, isThorough: effort.isThorough } as const;
  return { ...text, ...(isCounted ? { isCounted } : {}), machine, columns: [...columns], rows: rows.map(rounded) };
}

/** Earlier failures of this kind are errors of the bench itself. */
const LOAD = Number((loadavg()[0] ?? 0).toFixed(1));

function thisMachine(): Machine {
  const [{ model = "unknown" } = {}] = cpus();
  const memoryGb = Math.round(totalmem() / 1024 ** 3);
  return { cpu: model.trim(), cores: cpus().length, memoryGb, system: type(), node: process.versions.node, load: LOAD };
}

/** More digits than are significant. */
function rounded(row: Row): Row {
  const cells = Object.entries(row.cells).map(([column, cell]) => {
    return [column, typeof cell === "string" ? cell : cell.map((value) => Number(value.toPrecision(4)))] as const;
  });
  return { ...row, cells: Object.fromEntries(cells) };
}

/** Returns the length of the common start of two texts. */
export function commonLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return length;
}
