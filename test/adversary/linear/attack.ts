import { type Pump, pumped, pumpsOfFunction, pumpsOfPattern } from "./pumps.ts";
import type { Pattern, TextFunction } from "./sources.ts";

/** The process that reads the strings. Its parent kills it when a string takes too long, and starts another. */

export type Job = { readonly pattern: Pattern } | { readonly call: TextFunction };
/** Each job has one in `share` of its pumps: other ones from job to job. */
export type Work = "load all" | { readonly jobs: readonly Job[]; readonly thorough: boolean; readonly share: number };
export type Report = { readonly doing: number; readonly pump?: Pump } | { readonly done: number };

/** The times of these two lengths show a superlinear reader. The whole length decides. */
const SMALL = 2_000;
const LARGE = 8_000;
/** Milliseconds below which a reader of the large length is not examined further: it reads the whole length in seconds. */
const QUICK = 1;
const WHOLE = 1_000_000;

type Module = Readonly<Record<string, unknown>>;
type Loads = Readonly<Record<string, () => Module>>;
type Reader = (text: string) => unknown;

export function serve(loads: Loads): void {
  const seen = globalThis as { builtPatterns?: unknown[] };
  process.once("message", async (work: Work) => {
    process.exit = () => {
      throw new Error("process.exit was called");
    };
    if (work === "load all") {
      for (const load of Object.values(loads)) load();
      await send(seen.builtPatterns);
    } else {
      delete seen.builtPatterns;
      await read(loads, work);
    }
    process.disconnect();
  });
  // Whatever the modules left open does not keep it. A parent that died ends it, too.
  const { exit } = process;
  process.once("disconnect", () => exit(0));
}

async function read(loads: Loads, { jobs, thorough, share }: Exclude<Work, "load all">): Promise<void> {
  for (const [doing, job] of jobs.entries()) {
    const reader = "pattern" in job ? readerOfPattern(job.pattern) : readerOfCall(loads, job.call);
    await send({ doing });
    for (const pump of await slowPumps(reader, pumpsOf(job, doing, share), thorough)) {
      await send({ doing, pump });
      await reader(pumped(pump, WHOLE));
    }
  }
  await send({ done: jobs.length });
}

function pumpsOf(job: Job, turn: number, share: number): readonly Pump[] {
  if ("pattern" in job) return pumpsOfPattern(job.pattern.source).filter((_, index) => (index + turn) % share === 0);
  return pumpsOfFunction(job.call.words, share, turn);
}

/** Resolves when the message is sent: a reader that hangs would delay it. */
function send(message: unknown): Promise<void> {
  return new Promise((resolve) => process.send?.(message, undefined, {}, () => resolve()));
}

function readerOfPattern({ source, flags }: Pattern): Reader {
  const pattern = new RegExp(source, flags.includes("g") ? flags : `${flags}g`);
  return (text) => text.replace(pattern, "");
}

/** Calls may fail, and a call that waits for something is left alone: only the time that it keeps the process counts. */
function readerOfCall(loads: Loads, { file, name, parameters, at }: TextFunction): Reader {
  const called = loads[file]?.()[name] as (...values: unknown[]) => unknown;
  return async (text) => {
    try {
      const answer = called(...parameters.map((value, index) => (index === at ? text : value)));
      if (!(answer instanceof Promise)) return;
      answer.catch(() => "a refusal, too");
      await Promise.race([answer, new Promise((resolve) => setImmediate(resolve))]);
    } catch {
      // A refusal is an answer.
    }
  };
}

/**
 * The pumps whose time grows faster than their length. They are then tried in full, and only that decides. The
 * thorough form tries the three slowest in full, too.
 */
async function slowPumps(reader: Reader, pumps: readonly Pump[], thorough: boolean): Promise<readonly Pump[]> {
  const tried: { pump: Pump; time: number; isSlow: boolean }[] = [];
  for (const pump of pumps) {
    const time = await timeOf(reader, pumped(pump, LARGE));
    tried.push({ pump, time, isSlow: time > QUICK && (await growsFast(reader, pump)) });
  }
  tried.sort((one, other) => other.time - one.time);
  return tried.filter(({ isSlow }, place) => isSlow || (thorough && place < 3)).map(({ pump }) => pump);
}

/** Whether it does so three times: a single time may include the compiler and the garbage collector. */
async function growsFast(reader: Reader, pump: Pump): Promise<boolean> {
  for (let attempt = 0; attempt < 3; attempt++) {
    const large = await timeOf(reader, pumped(pump, LARGE));
    if (large < QUICK || large < 8 * (await timeOf(reader, pumped(pump, SMALL)))) return false;
  }
  return true;
}

/** Processor time in milliseconds, which other work of the machine does not lengthen. */
async function timeOf(reader: Reader, text: string): Promise<number> {
  const from = process.cpuUsage();
  await reader(text);
  const { user, system } = process.cpuUsage(from);
  return (user + system) / 1000;
}
