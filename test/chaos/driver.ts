import fs from "node:fs";
import { createRequire, syncBuiltinESMExports } from "node:module";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import type { main, Terminal } from "../../src/cli/main.ts";
import { processHost } from "../../src/entry/process-host.ts";
import type { Done, Life, Task } from "./life.ts";

/**
 * The built program with several command lines at once, so that several runs die with one process. Reads its task from
 * standard input, and prints a line for each command that ended.
 */

const life = JSON.parse(await text(process.stdin)) as Life;
const program = createRequire(import.meta.url)(life.program) as Loaded;
const { main: run } = program.loadProgram("run");
if (life.clock) stepClock(life.clock);
if (life.fall) fallAt(life.fall);
await Promise.all(life.tasks.map(carryOut));
program.keepCompiled({ pid: process.pid, uid: process.geteuid?.() ?? 0 });
process.exit(0);

interface Loaded {
  loadProgram(use: string): { main: typeof main };
  /** Saves the later processes the time to compile it. */
  keepCompiled(by: { pid: number; uid: number }): void;
}

async function carryOut({ id, argv, cwd, env }: Task): Promise<void> {
  const shown = { stdout: "", stderr: "" };
  const show = (stream: "stdout" | "stderr") => async (said: string) => {
    shown[stream] += said;
  };
  const terminal: Terminal = {
    runtime: { node: process.version, platform: process.platform },
    host: { ...processHost(), env, cwd, keys: undefined },
    out: show("stdout"),
    err: show("stderr"),
    isTerminal: false,
    columns: 80,
    outColumns: undefined,
    readInput: async () => "",
    input: () => Readable.from([]),
    ask: undefined,
    onInterrupt: () => undefined,
    onFault: (tell) => process.on("uncaughtException", tell),
    onIdle: () => undefined,
  };
  const code = await run(argv, terminal);
  const done: Done = { id, code, ...shown };
  tell(`${JSON.stringify(done)}\n`);
}

function tell(line: string): void {
  fs.writeFileSync(1, line);
}

/** The process kills itself at its nth file operation, so that it dies at the same place each time. */
function fallAt({ nth, moment }: NonNullable<Life["fall"]>): void {
  let left = nth;
  const isDue = () => {
    left -= 1;
    return left === 0;
  };
  const fall = (at: string) => {
    written(2, `fell ${moment} ${at}\n`);
    process.kill(process.pid, "SIGKILL");
  };
  const { writeSync: written } = fs;
  const around = (place: object, name: string) => {
    const work = Reflect.get(place, name) as (...given: unknown[]) => unknown;
    Reflect.set(place, name, (...given: unknown[]) => {
      if (!isDue()) return work.apply(place, given);
      if (moment === "before") fall(name);
      const half = moment === "midway" && name.startsWith("write") ? halfOf(given) : undefined;
      const came = work.apply(place, [...(half ?? given)]);
      if (!(came instanceof Promise)) fall(name);
      return Promise.resolve(came).then(() => fall(name));
    });
  };
  const making = ["writeFile", "rename", "rm", "rmdir", "mkdir"].map((name) => `${name}Sync`);
  for (const name of [...making, "writeSync", "fdatasyncSync", "fsyncSync", "ftruncateSync"]) around(fs, name);
  for (const name of ["writeFile", "rename", "rm", "mkdir"]) around(fs.promises, name);
  syncBuiltinESMExports();
}

/** Returns the arguments of a write with half of its content. */
function halfOf([place, content, ...rest]: readonly unknown[]): readonly unknown[] | undefined {
  if (typeof content === "string" && content.length > 1) return [place, content.slice(0, content.length / 2), ...rest];
  const [from, length, ...at] = rest as number[];
  if (!(content instanceof Uint8Array)) return undefined;
  if (length === undefined) return [place, content.subarray(0, content.length / 2), ...rest];
  return [place, content, from, Math.ceil(length / 2), ...at];
}

/** Sets the clock of the process again and again: days ahead, then days back. */
function stepClock({ everyMs, stepMs }: NonNullable<Life["clock"]>): void {
  const { now } = Date;
  const begun = now();
  const offset = () => (Math.floor((now() - begun) / everyMs) % 2 === 1 ? stepMs : 0);
  const Real = Date;
  const Stepped = function (this: unknown, ...given: []) {
    return given.length === 0 ? new Real(Stepped.now()) : new Real(...given);
  } as unknown as DateConstructor;
  Object.setPrototypeOf(Stepped, Real);
  Reflect.set(Stepped, "prototype", Real.prototype);
  Stepped.now = () => now() + offset();
  globalThis.Date = Stepped;
}
