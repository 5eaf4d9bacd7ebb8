import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire, isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { cachedDataVersionTag, setFlagsFromString } from "node:v8";
import { Script } from "node:vm";
import { crc32 } from "node:zlib";

/**
 * Loads the built program: once for all who ask, so that the command line, the library and the skills share what they
 * are made of. The code that V8 compiled is kept in the user's cache folder, which makes the next start faster.
 */

/** The program as build.mjs makes it. */
export interface Program {
  /** Works on the process's arguments, and gives the exit code. */
  commandLine(): Promise<number>;
  endProcess(code: number): never;
}

/** Where a command keeps compiled code. */
export interface Cache {
  /** Absolute. Undefined where the user has no cache folder, or turned it off. */
  readonly folder: string | undefined;
  /** The user. Undefined where users have no number (Windows). */
  readonly uid: number | undefined;
  readonly pid: number;
  /** The command: each needs other parts of the program. */
  readonly command: string;
}

const FILE = join(__dirname, "program.js");

let loaded: Program | undefined;
/** Scripts whose compiled code is to be kept, by file name, with the commands that it serves. */
const unkept = new Map<string, { readonly script: Script; readonly commands: readonly string[] }>();

export function loadProgram(cache?: Cache): Program {
  loaded ??= runProgram(cache);
  return loaded;
}

/** Largest total size of the cache folder. The most recently written files stay. */
const MOST_BYTES = 16 * 1024 * 1024;

/** Keeps what this command compiled. Call it when the work is done. Does nothing where that cannot be. */
export function keepCompiled({ folder, uid, pid }: Cache): void {
  if (unkept.size === 0 || folder === undefined) return;
  try {
    setFlagsFromString("--flush-bytecode");
    if (!makeFolder(folder, uid)) return;
    for (const [name, { script, commands }] of unkept) {
      const path = join(folder, name);
      const code = script.createCachedData();
      const head = JSON.stringify({ commands, checksum: crc32(code) });
      writeFileSync(`${path}.${pid}`, Buffer.concat([Buffer.from(`${head}\n`), code]), { mode: 0o600, flag: "wx" });
      renameSync(`${path}.${pid}`, path);
    }
    removeOldest(folder);
  } catch {
    // The program works without it.
  }
}

/** False where the folder is another user's, or would be made in one that is: as with `sudo` and the caller's HOME. */
function makeFolder(folder: string, uid: number | undefined): boolean {
  let above = folder;
  while (!existsSync(above)) above = dirname(above);
  const owner = statSync(above).uid;
  if (uid !== undefined && owner !== uid && owner !== 0) return false;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return isOurs(lstatSync(folder), uid);
}

/** No other user may write it. */
function isOurs(stats: Stats, uid: number | undefined): boolean {
  return uid === undefined || (stats.uid === uid && (stats.mode & 0o022) === 0);
}

/** Also files of killed processes, and of other versions once there is no room. */
function removeOldest(folder: string): void {
  const files = readdirSync(folder)
    .map((name) => ({ name, path: join(folder, name), stats: lstatSync(join(folder, name)) }))
    .sort((a, b) => b.stats.mtimeMs - a.stats.mtimeMs);
  let bytes = 0;
  for (const { name, path, stats } of files) {
    bytes += stats.size;
    if (bytes > MOST_BYTES || /\.\d+$/.test(name)) rmSync(path, { force: true });
  }
}

/** Of the build, its place (stack traces show it), and the version of V8 with its processor and the user's flags. */
const TAG = `${__BUILD__}-${[...__dirname]
  .reduce((tag, character) => (Math.imul(tag, 31) + character.charCodeAt(0)) >>> 0, cachedDataVersionTag())
  .toString(36)}`;

function runProgram(cache: Cache | undefined): Program {
  const module = { exports: {} as Program };
  const load = lazily(partsOf(createRequire(FILE), cache));
  const run = compile({ path: FILE, code: readFileSync(FILE, "latin1"), name: "program" }, cache);
  run(module, load, (id: string) => import(id), FILE, __dirname);
  return module.exports;
}

/** The packages that are files of their own, compiled as the program is: some of them take longer than all the rest. */
function partsOf(load: NodeJS.Require, cache: Cache | undefined) {
  const modules = new Map<string, { readonly exports: object }>();
  return (id: string): unknown => {
    const [, name] = /^\.\/vendor\/([^/]+)\.cjs$/.exec(id) ?? [];
    if (name === undefined || cache === undefined) return load(id);
    const known = modules.get(id);
    if (known) return known.exports;
    const path = load.resolve(id);
    const module = { exports: {} };
    const code = `(function(module,exports,require,__filename,__dirname){${readFileSync(path, "utf8")}\n})`;
    const run = compile({ path, code, name }, { ...cache, command: "" });
    run(module, module.exports, createRequire(path), path, dirname(path));
    modules.set(id, module);
    return module.exports;
  };
}

interface Source {
  readonly path: string;
  readonly code: string;
  readonly name: string;
}

/** Returns the function that the code consists of. */
function compile({ path, code, name }: Source, cache: Cache | undefined) {
  if (cache?.folder === undefined) return new Script(code, { filename: path }).runInThisContext();
  const file = `${name}-${TAG}`;
  const kept = readKept(join(cache.folder, file), cache.uid);
  setFlagsFromString("--flush-bytecode"); // kept code is refused under other flags
  const script = new Script(code, { filename: path, cachedData: kept?.code });
  const known = script.cachedDataRejected === true ? [] : (kept?.commands ?? []);
  if (!known.includes(cache.command)) unkept.set(file, { script, commands: [...known, cache.command] });
  // V8 would drop code that ran once before it is kept.
  if (unkept.size > 0) setFlagsFromString("--no-flush-bytecode");
  return script.runInThisContext();
}

/** V8 runs the code as it is: the file and its folder must be the user's own, and the file whole and readable to the user only. */
function readKept(path: string, uid: number | undefined): { commands: readonly string[]; code: Buffer } | undefined {
  let file: number | undefined;
  try {
    // Without O_NONBLOCK a named pipe would wait for its writer.
    file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
    const stats = fstatSync(file);
    if (!stats.isFile() || !isOurs(stats, uid) || !isOurs(lstatSync(dirname(path)), uid)) return undefined;
    if (uid !== undefined && (stats.mode & 0o077) !== 0) return undefined;
    const bytes = readFileSync(file);
    const end = bytes.indexOf("\n");
    const { commands, checksum } = JSON.parse(bytes.toString("utf8", 0, end));
    const code = bytes.subarray(end + 1);
    return Array.isArray(commands) && checksum === crc32(code) ? { commands, code } : undefined;
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
