import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire, isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { cachedDataVersionTag, setFlagsFromString } from "node:v8";
import { Script } from "node:vm";

/**
 * Loads the built program: once for all who ask, so that the command line, the library and the skills share what they
 * are made of. What Node compiled of it for a command is kept beside it, and spares the next start from doing so again.
 */

/** The program as build.mjs makes it. */
export interface Program {
  /** Works on the process's arguments, and gives the exit code. */
  commandLine(): Promise<number>;
  endProcess(code: number): never;
}

const FILE = join(__dirname, "program.js");
/** Whoever may write here may write the program too: what is kept needs no more trust than that. */
const FOLDER = join(__dirname, "compiled");

let loaded: Program | undefined;
/** What was compiled anew, by the names that it is kept under. */
const unkept = new Map<string, Script>();

/** `use` names what the program is loaded for: each command needs other parts of it. */
export function loadProgram(use?: string): Program {
  loaded ??= runProgram(use);
  return loaded;
}

/** To be called when the work is done, so that all that was needed is kept. Does nothing where that cannot be. */
export function keepCompiled({ pid, uid }: { readonly pid: number; readonly uid?: number }): void {
  if (unkept.size === 0) return;
  try {
    if (uid !== statSync(FILE).uid) return; // what others leave here its owner could not remove
    setFlagsFromString("--flush-bytecode");
    mkdirSync(FOLDER, { recursive: true, mode: 0o755 });
    // Those of programs that were killed, and of one that keeps its own just now, which does so the next time.
    for (const name of readdirSync(FOLDER)) if (/\.\d+$/.test(name)) rmSync(join(FOLDER, name), { force: true });
    for (const [name, script] of unkept) {
      const file = keptFile(name);
      writeFileSync(`${file}.${pid}`, script.createCachedData(), { mode: 0o644, flag: "wx" });
      renameSync(`${file}.${pid}`, file);
    }
  } catch {
    // An installation that nobody may write to is no fault.
  }
}

/** Of this build in this place, which stack traces tell, and of this version of V8 with its flags and on such a processor. */
function keptFile(name: string): string {
  let tag = cachedDataVersionTag();
  for (const character of FOLDER) tag = (Math.imul(tag, 31) + character.charCodeAt(0)) >>> 0;
  return join(FOLDER, `${name}-${__BUILD__}-${tag.toString(36)}`);
}

function runProgram(use: string | undefined): Program {
  const module = { exports: {} as Program };
  const load = lazily(partsOf(createRequire(FILE), use));
  compile(FILE, readFileSync(FILE, "latin1"), use)(module, load, (id: string) => import(id), FILE, __dirname);
  return module.exports;
}

/** The packages that are files of their own, compiled as the program is: some of them take longer than all the rest. */
function partsOf(load: NodeJS.Require, use: string | undefined) {
  const modules = new Map<string, { readonly exports: object }>();
  return (id: string): unknown => {
    const [, name] = /^\.\/vendor\/([^/]+)\.cjs$/.exec(id) ?? [];
    if (name === undefined || use === undefined) return load(id);
    const known = modules.get(id);
    if (known) return known.exports;
    const path = load.resolve(id);
    const module = { exports: {} };
    const code = `(function(module,exports,require,__filename,__dirname){${readFileSync(path, "utf8")}\n})`;
    compile(path, code, name)(module, module.exports, createRequire(path), path, dirname(path));
    modules.set(id, module);
    return module.exports;
  };
}

/** The function that the code is. */
function compile(filename: string, code: string, name: string | undefined) {
  const cachedData = name === undefined ? undefined : readKept(keptFile(name));
  // What has run once would be forgotten before it is kept.
  if (name !== undefined && cachedData === undefined) setFlagsFromString("--no-flush-bytecode");
  const script = new Script(code, { filename, cachedData });
  const isKept = cachedData !== undefined && script.cachedDataRejected !== true;
  if (name !== undefined && !isKept) unkept.set(name, script);
  return script.runInThisContext();
}

/** V8 runs what it is given: it must be from whoever wrote the program. */
function readKept(path: string): Buffer | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, "r");
    const { uid, mode } = fstatSync(file);
    return uid === statSync(FILE).uid && (mode & 0o022) === 0 ? readFileSync(file) : undefined;
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Modules of Node that take their time are loaded when something of them is used. */
function lazily(load: (id: string) => unknown) {
  const stands = new Map<string, object>();
  return (id: string): unknown => {
    if (!SLOW.test(id) || !isBuiltin(id)) return load(id);
    const stand = stands.get(id) ?? standFor(() => load(id) as object);
    stands.set(id, stand);
    return stand;
  };
}

const SLOW =
  /^(?:node:)?(?:child_process|crypto|dns|fs\/promises|https?|http2|net|readline|stream|tls|worker_threads|zlib)(?:\/promises)?$/;

function standFor(load: () => object): object {
  return new Proxy(
    {},
    {
      get: (_, name) => Reflect.get(load(), name),
      set: (_, name, value) => Reflect.set(load(), name, value),
      has: (_, name) => Reflect.has(load(), name),
      ownKeys: () => Reflect.ownKeys(load()),
      getOwnPropertyDescriptor(_, name) {
        const found = Reflect.getOwnPropertyDescriptor(load(), name);
        return found && { ...found, configurable: true };
      },
    },
  );
}

declare const __BUILD__: string;
