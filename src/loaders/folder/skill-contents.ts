import { createHash } from "node:crypto";
import { type BigIntStats, existsSync, lstatSync, readdirSync, readlinkSync, realpathSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { isWithin, readRegular } from "../../files/files.ts";
import { type CodeNames, languageOf, namesIn } from "./code-names.ts";
import { type Copier, copyPlaces, type Digested } from "./temporary-folders.ts";

/** Everything that would run of a skill or a server: what trust is bound to, and what is shown to its code (trust 6). */
export interface Contents {
  /** Where it is: absolute and real. */
  readonly path: string;
  /**
   * sha256 over all of it, as 64 hexadecimal digits. Read when it is first asked for; what is so then is what runs.
   * Undefined where too much belongs to it to be told.
   */
  readonly digest: () => string | undefined;
  /** Throws where something is no longer as it was when the digest was first asked for. */
  readonly check: () => void;
  /** Files, and whole folders, that belong to it and lie elsewhere. Absolute and real. */
  readonly outside: () => readonly string[];
  /** From now on, code runs from private copies of what was digested. */
  readonly pin: () => void;
  /** Where the code of a place runs from: its private copy if it is pinned. Throws if it is not what was digested. */
  readonly sourceOf: (place: string, copier: Copier) => string;
  /** Throws if text that is about to run is not what the file held when it was digested. */
  readonly verify: (file: string, text: string) => void;
}

export interface Parts {
  /** A skill's folder, or its one file. Absolute and real. */
  readonly path: string;
  /** In place of what is there: text, and files that run. Absolute. */
  readonly instead?: { readonly text: string; readonly files: () => readonly string[] };
}

export function openContents(parts: Parts): Contents {
  const known: Known = new Map();
  let first: Reading | undefined;
  let copies: ReadonlyMap<string, string> | undefined;
  let isPinned = false;
  const read = () => {
    first ??= readParts(parts, known);
    return first;
  };
  return {
    path: parts.path,
    digest: () => (read().isWhole ? digestOf(parts, read().files) : undefined),
    check() {
      const before = read().files;
      const now = readParts(parts, known).files;
      const changed = [...new Set([...before.keys(), ...now.keys()])].find((file) => {
        return before.get(file) !== now.get(file) && !isGitState(relative(parts.path, file));
      });
      if (changed !== undefined) throw fileChanged(changed);
    },
    outside: () => read().outside,
    pin() {
      isPinned = true;
    },
    sourceOf(place, copier) {
      if (!isPinned) return place;
      copies ??= copyOf(parts, read(), copier);
      return copies.get(place) ?? place;
    },
    verify(file, text) {
      const hash = isPinned ? read().files.get(file) : undefined;
      const fits = [text, `\ufeff${text}`].some((each) => hash?.endsWith(` ${sha256(each)}`));
      if (hash !== undefined && !fits) throw fileChanged(file);
    },
  };
}

function fileChanged(file: string): Error {
  return new Error(`its files changed after it was opened (${file}): nothing of it runs before it is opened again`);
}

function copyOf({ path }: Parts, { files, outside }: Reading, copier: Copier): ReadonlyMap<string, string> {
  const read = (file: string): Digested => {
    const hash = files.get(file) ?? "";
    if (hash.startsWith("link ")) return { link: hash.slice("link ".length) };
    const content = contentOf(file);
    if (!hash.endsWith(` ${sha256(content)}`)) throw fileChanged(file);
    return { content, isProgram: hash.startsWith("program ") };
  };
  const own = [...files.keys()].filter((file) => !isGitState(relative(path, file)));
  return copyPlaces([path, ...outside], own, read, copier);
}

/** With what else belongs to it. */
export function joinContents(own: Contents, more: readonly Contents[]): Contents {
  const all = [own, ...more];
  return {
    path: own.path,
    digest() {
      const digests = all.map((contents) => contents.digest());
      return digests.includes(undefined) ? undefined : digests.length === 1 ? digests[0] : sha256(digests.join("\n"));
    },
    check() {
      for (const contents of all) contents.check();
    },
    outside: () => all.flatMap((contents) => contents.outside()),
    pin() {
      for (const contents of all) contents.pin();
    },
    sourceOf: own.sourceOf,
    verify: own.verify,
  };
}

/** Where the code of something is, and the files that it names, by real path: what each holds. */
interface Reading {
  readonly files: ReadonlyMap<string, string>;
  readonly outside: readonly string[];
  /** False where the rest was left. */
  readonly isWhole: boolean;
}

/** What is known of a file's content, as long as nothing says that it was written to. */
type Known = Map<string, { readonly stamp: string; readonly hash: string; readonly names: CodeNames | undefined }>;

function digestOf({ path, instead }: Parts, files: Reading["files"]): string {
  const lines = [...files].map(([file, hash]) => `${relative(path, file)}\0${hash}`).sort();
  return sha256([instead?.text ?? "", ...lines].join("\n"));
}

function sha256(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

const MOST_FILES = 100_000;

/** Reads a skill's folder, and follows what its code names for as long as there is more. */
function readParts({ path: root, instead }: Parts, known: Known): Reading {
  const files = new Map<string, string>();
  const outside: string[] = [];
  const home = lstatSync(root).isDirectory() ? root : dirname(root);
  const own = instead ? [] : [root];
  const isKnown = (place: string) => files.has(place) || [...own, ...outside].some((folder) => isWithin(folder, place));
  const about: Surroundings = { home, surroundings: foldersAbove(home), isKnown, packages: new Map() };

  const addFile = (file: string) => {
    if (files.has(file) || files.size >= MOST_FILES) return;
    const { hash, names } = readFile(file, known);
    files.set(file, hash);
    if (names) for (const named of placesOf(file, names, about)) add(named);
  };
  const addFolder = (folder: string) => {
    for (const entry of readFolder(folder)) {
      const below = join(folder, entry.name);
      if (below === join(root, ".skillflow", "runs")) continue;
      if (entry.isDirectory()) addFolder(below);
      else if (entry.isFile()) addFile(below);
      else if (entry.isSymbolicLink()) addLink(below);
    }
  };
  const addLink = (link: string) => {
    files.set(link, `link ${textOf(() => readlinkSync(link))}`);
    const target = realOf(link);
    if (target !== undefined) add(target);
  };
  /** What is elsewhere, where it is not known yet. */
  const add = (place: string) => {
    // A folder around the skill's own is not its code.
    if (isKnown(place) || isWithin(place, root)) return;
    outside.push(place);
    if (lstatSync(place).isDirectory()) addFolder(place);
    else addFile(place);
  };

  if (instead) for (const place of realPlaces(instead.files())) add(place);
  else if (home === root) addFolder(root);
  else addFile(root);
  return { files, outside, isWhole: files.size < MOST_FILES };
}

/** In the order of names; none where it cannot be read, for then it cannot run either. */
function readFolder(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return [];
  }
}

/** Larger ones are bundles, whose names are their own. */
const MOST_READ = 4 * 1024 * 1024;

function readFile(file: string, known: Known) {
  const stats = lstatSync(file, { bigint: true });
  const stamp = stampOf(stats);
  const before = known.get(file);
  if (before?.stamp === stamp) return before;
  const content = contentOf(file);
  const text = content.length > MOST_READ ? "" : content.toString("utf8");
  const language = languageOf(file, text);
  const names = language && namesIn(language, text, file);
  const found = { stamp, hash: `${stats.mode & 0o111n ? "program" : "file"} ${sha256(content)}`, names };
  // Written to within the tick of its own clock, a file would look the same.
  if (Date.now() - Number(stats.ctimeMs) > 2000) known.set(file, found);
  return found;
}

function stampOf({ dev, ino, size, mode, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mode, mtimeNs, ctimeNs].join(" ");
}

/** What cannot be read cannot run either. */
function contentOf(file: string): Buffer {
  try {
    return readRegular(file);
  } catch (error) {
    return Buffer.from((error as NodeJS.ErrnoException).code ?? "unreadable");
  }
}

/** What Git itself writes in its folder changes while we look. */
function isGitState(path: string): boolean {
  return /^\.git\/(?:index|HEAD|FETCH_HEAD|ORIG_HEAD|COMMIT_EDITMSG|packed-refs|.*\.lock$|logs\/|objects\/|refs\/)/.test(
    path,
  );
}

// ---- from names to places

interface Surroundings {
  /** The skill's folder. */
  readonly home: string;
  /** Folders around it, as far as its repository goes. */
  readonly surroundings: readonly string[];
  /** Whether a path is looked at anyway. */
  readonly isKnown: (place: string) => boolean;
  /** What was found for a name from a folder. */
  readonly packages: Map<string, readonly string[]>;
}

/** Real paths of the files and packages that are meant. */
function placesOf(
  file: string,
  names: CodeNames,
  { home, surroundings, isKnown, packages: found }: Surroundings,
): string[] {
  const here = dirname(file);
  const paths = names.paths.flatMap((path) =>
    [...new Set([here, home])].flatMap((from) => (isKnown(join(from, path)) ? [] : candidates(from, path))),
  );
  const packages = names.packages.flatMap((name) => {
    const key = `${here}\0${name}`;
    const places = found.get(key) ?? packageOf(here, name);
    found.set(key, places);
    return places;
  });
  const around = [here, home, ...surroundings];
  const folders = names.folders.flatMap((folder) => around.map((from) => join(from, folder))).filter(isFolder);
  const modules = names.modules.flatMap((name) => pythonFiles(name, here, [...around, ...folders]));
  return realPlaces([...paths, ...packages, ...modules]);
}

/** Those that are there. */
function realPlaces(paths: readonly string[]): string[] {
  return [...new Set(paths)].flatMap((path) => {
    const real = realOf(path);
    return real === undefined ? [] : [real];
  });
}

function realOf(path: string): string | undefined {
  try {
    const real = realpathSync.native(path);
    const stats = lstatSync(real);
    return stats.isFile() || stats.isDirectory() ? real : undefined;
  } catch {
    return undefined;
  }
}

function textOf(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

const ENDINGS = ["ts", "mts", "cts", "js", "mjs", "cjs", "json", "tsx", "jsx", "node"];

/** An import may leave out the extension, name a folder, or name the .js that a .ts becomes. */
function candidates(from: string, written: string): string[] {
  const path = written.startsWith("file:")
    ? textOf(() => fileURLToPath(written))
    : resolve(from, written.replace(/[?#].*/s, ""));
  if (path === "") return [];
  const stem = path.replace(/\.([cm]?)js$/, ".$1ts");
  const all = [path, stem, ...ENDINGS.map((ending) => `${path}.${ending}`)].filter(existsSync);
  const inside = ["package.json", ...ENDINGS.map((ending) => `index.${ending}`)].map((name) => join(path, name));
  return isFolder(path) ? [...all.filter((found) => found !== path), ...inside.filter(existsSync)] : all;
}

/** Ours are given to modules by the program itself. */
const OWN = /^skillflow(?:\/|$)/;

/** The folder of a package that is installed for a folder, and of `#name` the manifest that says what it is. */
function packageOf(from: string, specifier: string): string[] {
  if (specifier.startsWith("#")) return nearestUp(from, "package.json");
  const name = /^(?:@[\w.~-]+\/)?[\w.~-]+/.exec(specifier)?.[0];
  if (name === undefined || isBuiltin(specifier) || OWN.test(specifier)) return [];
  return nearestUp(from, join("node_modules", name));
}

function nearestUp(from: string, name: string): string[] {
  const found = [from, ...foldersAbove(from, "/")].map((folder) => join(folder, name)).find((path) => existsSync(path));
  return found === undefined ? [] : [found];
}

/** `a.b.c` is a/b/c.py or a folder of that name, with what stands in the folders on the way. */
function pythonFiles(name: string, here: string, around: readonly string[]): string[] {
  const dots = /^\.*/.exec(name)?.[0].length ?? 0;
  const segments = name.slice(dots).split(".").filter(Boolean);
  const from = dots === 0 ? around : [resolve(here, ...Array<string>(dots - 1).fill(".."))];
  const heads = segments.map((_, index) => segments.slice(0, index + 1).join(sep));
  return from.flatMap((folder) =>
    heads.flatMap((head) =>
      [`${head}.py`, join(head, "__init__.py"), join(head, "__main__.py")].map((file) => join(folder, file)),
    ),
  );
}

/** The folders that a folder lies in, up to the root of its repository; its parent alone where there is none. */
function foldersAbove(from: string, most?: string): string[] {
  const above: string[] = [];
  for (let folder = from; folder !== dirname(folder); folder = dirname(folder)) {
    if (most === undefined && existsSync(join(folder, ".git"))) return above;
    above.push(dirname(folder));
  }
  return most === undefined ? above.slice(0, 1) : above;
}
