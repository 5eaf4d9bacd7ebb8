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
import { brotliDecompressSync, crc32 } from "node:zlib";

/**
 * Loads the built program once per process, so that the command line, the library and skills share their modules. The
 * user's cache folder keeps V8's compiled code, so that the next start is faster.
 */

export interface Program {
  commandLine(): Promise<number>;
  endProcess(code: number): never;
}

export interface Cache {
  /** Absolute path. Undefined if the user has no cache folder or disabled it. */
  readonly folder: string | undefined;
  readonly uid: number | undefined;
  readonly pid: number;
  /** Name of the command, because each command uses other parts of the program. */
  readonly command: string;
}

let loaded: Program | undefined;
const unkept = new Map<string, { readonly script: Script; readonly commands: readonly string[] }>();

export function loadProgram(cache?: Cache): Program {
  loaded ??= runProgram(cache);
  return loaded;
}

/** Maximum total size of the cache folder. The most recently written files stay. */
const MOST_BYTES = 16 * 1024 * 1024;

/** Caches what this command compiled. Call it when the work is done. Ignores failures. */
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
    // The program works without a cache.
  }
}

/** Creates the folder. Returns false if another user owns it or its parent, as with `sudo` and the caller's HOME. */
function makeFolder(folder: string, uid: number | undefined): boolean {
  let above = folder;
  while (!existsSync(above)) above = dirname(above);
  const owner = statSync(above).uid;
  if (uid !== undefined && owner !== uid && owner !== 0) return false;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return isOurs(lstatSync(folder), uid);
}

/** Checks that the current user owns the path and that no other user can write to it. */
function isOurs(stats: Stats, uid: number | undefined): boolean {
  return uid === undefined || (stats.uid === uid && (stats.mode & 0o022) === 0);
}

/** Removes the oldest files beyond the size limit, and temporary files of killed processes. */
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

/** Cache key: the build, its folder (shown in stack traces), and V8's version with processor and flags. */
const TAG = `${__BUILD__}-${[...__dirname]
  .reduce((tag, character) => (Math.imul(tag, 31) + character.charCodeAt(0)) >>> 0, cachedDataVersionTag())
  .toString(36)}`;

const chunks = new Map<string, object>();

/** Names of the chunks that are loaded. The build needs them. */
export const loadedChunks = () => [...chunks.keys()];

function runProgram(cache: Cache | undefined): Program {
  const require = lazily(partsOf(createRequire(__filename), cache));
  const files = new Map<string, Readonly<Record<string, (exports: object) => void>>>();
  const read = (file: string) => {
    const path = join(__dirname, "program", `${file}.js`);
    const name = file === "program" ? file : `program.${file}`;
    const code = readFileSync(path, "latin1");
    if (!code.startsWith(`/*${__BUILD__}*/`))
      throw new Error("the installation changed while it was running: start it again");
    const run = compile({ path, code, name }, cache);
    const functions = run(load, standFor, require, (id: string) => import(id), __filename, __dirname);
    files.set(file, functions);
    return functions;
  };
  const load = (file: string, name: string): object => {
    const known = chunks.get(name);
    if (known) return known;
    const exports = {};
    chunks.set(name, exports);
    try {
      (files.get(file) ?? read(file))[name](exports);
    } catch (error) {
      // A file that could not be read now may be readable later.
      chunks.delete(name);
      throw error;
    }
    return exports;
  };
  return load("program", "parts") as Program;
}

/** Loads vendored packages with cached compilation, because some compile slower than the whole program. */
function partsOf(load: NodeJS.Require, cache: Cache | undefined) {
  const modules = new Map<string, { readonly exports: object }>();
  return (id: string): unknown => {
    const [, name] = /^\.\/vendor\/([^/]+)\.cjs$/.exec(id) ?? [];
    const known = modules.get(id);
    if (known) return known.exports;
    if (name === undefined) return load(id);
    const path = join(__dirname, "vendor", `${name}.cjs`);
    const isPacked = !existsSync(path);
    if (cache === undefined && !isPacked) return load(id);
    const module = { exports: {} };
    const text = isPacked ? brotliDecompressSync(readFileSync(`${path}.br`)) : readFileSync(path);
    const code = `(function(module,exports,require,__filename,__dirname){${text.toString("utf8")}\n})`;
    const run = compile({ path, code, name }, cache && { ...cache, command: "" });
    run(module, module.exports, createRequire(path), path, dirname(path));
    modules.set(id, module);
    return module.exports;
  };
}

function compile(
  { path, code, name }: { readonly path: string; readonly code: string; readonly name: string },
  cache: Cache | undefined,
) {
  if (cache?.folder === undefined) return new Script(code, { filename: path }).runInThisContext();
  const file = `${name}-${TAG}`;
  const kept = readKept(join(cache.folder, file), cache.uid);
  setFlagsFromString("--flush-bytecode"); // cached code is rejected under other flags
  const script = new Script(code, { filename: path, cachedData: kept?.code });
  const known = script.cachedDataRejected === true ? [] : (kept?.commands ?? []);
  if (!known.includes(cache.command)) unkept.set(file, { script, commands: [...known, cache.command] });
  // Otherwise V8 would discard code that ran once before it is cached.
  if (unkept.size > 0) setFlagsFromString("--no-flush-bytecode");
  return script.runInThisContext();
}

/** Reads cached code. V8 runs it unchecked, so file and folder must be the user's and the checksum must match. */
function readKept(path: string, uid: number | undefined): { commands: readonly string[]; code: Buffer } | undefined {
  let file: number | undefined;
  try {
    // Without O_NONBLOCK, opening a named pipe would wait for a writer.
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
