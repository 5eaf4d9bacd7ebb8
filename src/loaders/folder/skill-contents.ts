import { lstatSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { attempt } from "../../core/base/errors.ts";
import { lazy } from "../../core/base/values.ts";
import { digestOf, foldersUp, isWithin, readRegular } from "../../files/files.ts";
import { type CodeNames, languageOf, namesIn } from "./code-names.ts";
import { openSight, type Sight } from "./sight.ts";
import { type Copier, copyPlaces, type Digested } from "./temporary-folders.ts";

/** All files that a skill or server would run. Trust is bound to them, and only their approved content runs. */
export interface Contents {
  /** Absolute real path. */
  readonly path: string;
  /**
   * Returns the sha256 of all files in hexadecimal. They are read on the first call, and only that content may run.
   * Returns undefined if there are too many files.
   */
  readonly digest: () => string | undefined;
  /** Throws if a file has changed since the files were first read. */
  readonly check: () => void;
  /** Returns the files and folders outside `path` that the code uses. Absolute real paths. */
  readonly outside: () => readonly string[];
  /** Makes code run from private copies of the digested files from now on. */
  readonly pin: () => void;
  /** Returns the path to run a place's code from: the private copy if pinned. Throws if a file has changed. */
  readonly sourceOf: (place: string, copier: Copier) => string;
  /** Throws if code that is about to run differs from the digested file. */
  readonly verify: (file: string, text: string) => void;
}

export interface Parts {
  /** Absolute real path of a skill's folder or single file. */
  readonly path: string;
  /** Replacement for the content of `path`: a text, and absolute paths of files that run. */
  readonly instead?: { readonly text: string; readonly files: () => readonly string[] };
}

export function openContents(parts: Parts): Contents {
  const known: Known = new Map();
  const read = lazy(() => readParts(parts, known, openSight()));
  let copies: ReadonlyMap<string, string> | undefined;
  let isUnchanged: (() => boolean) | undefined;
  let isPinned = false;
  return {
    path: parts.path,
    digest: () => (read().isWhole ? wholeDigest(parts, read().files) : undefined),
    check() {
      if (isUnchanged?.()) return;
      const before = read().files;
      const sight = openSight();
      const now = readParts(parts, known, sight).files;
      const changed = [...new Set([...before.keys(), ...now.keys()])].find((file) => {
        return before.get(file) !== now.get(file) && !GIT_STATE.test(relative(parts.path, file));
      });
      if (changed !== undefined) throw fileChanged(changed);
      isUnchanged = sight.keep();
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
      const fits = [text, `\ufeff${text}`].some((each) => hash?.endsWith(` ${digestOf(each)}`));
      if (hash !== undefined && !fits) throw fileChanged(file);
    },
  };
}

function fileChanged(file: string): Error {
  return new Error(`its files changed after it was loaded (${file}): start the run again to use them`);
}

function copyOf({ path }: Parts, { files, outside }: Reading, copier: Copier): ReadonlyMap<string, string> {
  const read = (file: string): Digested => {
    const hash = files.get(file) ?? "";
    if (hash.startsWith("link ")) return { link: hash.slice("link ".length) };
    const content = contentOf(file);
    if (!hash.endsWith(` ${digestOf(content)}`)) throw fileChanged(file);
    return { content, isProgram: hash.startsWith("program ") };
  };
  const own = [...files.keys()].filter((file) => !GIT_STATE.test(relative(path, file)));
  return copyPlaces([path, ...outside], own, read, copier);
}

/** Adds the contents of other parts that run with a skill. */
export function joinContents(own: Contents, more: readonly Contents[]): Contents {
  if (more.length === 0) return own;
  const all = [own, ...more];
  return {
    path: own.path,
    digest() {
      const digests = all.map((contents) => contents.digest());
      return digests.includes(undefined) ? undefined : digestOf(digests.join("\n"));
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

/** Content hashes of the code and the files that it names, by real path. */
interface Reading {
  readonly files: ReadonlyMap<string, string>;
  readonly outside: readonly string[];
  /** False if the limit of files was reached. */
  readonly isWhole: boolean;
}

/** Cache of file hashes, valid while a file's stamp does not change. */
type Known = Map<string, { readonly stamp: string; readonly hash: string; readonly names: CodeNames | undefined }>;

function wholeDigest({ path, instead }: Parts, files: Reading["files"]): string {
  const lines = [...files].map(([file, hash]) => `${relative(path, file)}\0${hash}`).sort();
  return digestOf([instead?.text ?? "", ...lines].join("\n"));
}

const MOST_FILES = 100_000;

/** Reads a skill's folder, and recursively the files that its code names. */
function readParts({ path: root, instead }: Parts, known: Known, sight: Sight): Reading {
  const files = new Map<string, string>();
  const outside: string[] = [];
  const home = lstatSync(root).isDirectory() ? root : dirname(root);
  const own = instead ? [] : [root];
  const isKnown = (place: string) => files.has(place) || [...own, ...outside].some((folder) => isWithin(folder, place));
  const about: Surroundings = { home, surroundings: surroundingsOf(home, sight), isKnown, packages: new Map(), sight };

  const addFile = (file: string) => {
    if (files.has(file) || files.size >= MOST_FILES) return;
    sight.note(file);
    const { hash, names } = readFile(file, known);
    files.set(file, hash);
    if (names) for (const named of placesOf(file, names, about)) add(named);
  };
  const addFolder = (folder: string) => {
    for (const entry of sight.list(folder)) {
      const below = join(folder, entry.name);
      if (below === join(root, ".skillflow", "runs")) continue;
      if (entry.isDirectory()) addFolder(below);
      else if (entry.isFile()) addFile(below);
      else if (entry.isSymbolicLink()) addLink(below);
    }
  };
  const addLink = (link: string) => {
    files.set(link, `link ${sight.link(link)}`);
    const target = sight.real(link);
    if (target !== undefined) add(target);
  };
  /** Adds a file or folder elsewhere, unless it is already known. */
  const add = (place: string) => {
    // A folder that contains the skill's own folder is not part of its code.
    if (isKnown(place) || isWithin(place, root)) return;
    outside.push(place);
    if (lstatSync(place).isDirectory()) addFolder(place);
    else addFile(place);
  };

  if (instead) for (const place of realPlaces(instead.files(), sight)) add(place);
  else if (home === root) addFolder(root);
  else addFile(root);
  return { files, outside, isWhole: files.size < MOST_FILES };
}

/** Larger files are bundles, which contain what they need. */
const MOST_READ = 4 * 1024 * 1024;

function readFile(file: string, known: Known) {
  const stats = lstatSync(file, { bigint: true });
  const { dev, ino, size, mode, mtimeNs, ctimeNs } = stats;
  const stamp = [dev, ino, size, mode, mtimeNs, ctimeNs].join(" ");
  const before = known.get(file);
  if (before?.stamp === stamp) return before;
  const content = contentOf(file);
  const text = content.length > MOST_READ ? "" : content.toString("utf8");
  const language = languageOf(file, text);
  const names = language && namesIn(language, text, file);
  const found = { stamp, hash: `${mode & 0o111n ? "program" : "file"} ${digestOf(content)}`, names };
  // A write within the clock's resolution would leave the stamp unchanged, so recent files are not cached.
  if (Date.now() - Number(stats.ctimeMs) > 2000) known.set(file, found);
  return found;
}

/** Returns a file's content, or the error code if it cannot be read, because then it cannot run either. */
function contentOf(file: string): Buffer {
  try {
    return readRegular(file);
  } catch (error) {
    return Buffer.from((error as NodeJS.ErrnoException).code ?? "unreadable");
  }
}

/** Files in .git that Git itself changes at any time. */
const GIT_STATE =
  /^\.git\/(?:index|HEAD|FETCH_HEAD|ORIG_HEAD|COMMIT_EDITMSG|packed-refs|.*\.lock$|logs\/|objects\/|refs\/)/;

// ---- from names to places

interface Surroundings {
  readonly home: string;
  /** Folders above it, up to the root of its repository. */
  readonly surroundings: readonly string[];
  readonly isKnown: (place: string) => boolean;
  /** Results by folder and package name. */
  readonly packages: Map<string, readonly string[]>;
  readonly sight: Sight;
}

function placesOf(file: string, names: CodeNames, about: Surroundings): string[] {
  const { home, surroundings, isKnown, packages: found, sight } = about;
  const here = dirname(file);
  const around = [here, home, ...surroundings];
  const filesIn = (folders: Iterable<string>, paths: readonly string[]) =>
    paths.flatMap((path) =>
      [...folders].flatMap((from) => (isKnown(join(from, path)) ? [] : candidates(from, path, sight))),
    );
  const packages = names.packages.flatMap((name) => {
    const key = `${here}\0${name}`;
    const places = found.get(key) ?? packageOf(here, name, sight);
    found.set(key, places);
    return places;
  });
  const folders = names.folders.flatMap((folder) => around.map((from) => join(from, folder))).filter(sight.isFolder);
  const modules = names.modules.flatMap((name) => pythonFiles(name, here, [...around, ...folders]));
  const paths = [...filesIn(new Set([here, home]), names.paths), ...filesIn(around, names.started)];
  return realPlaces([...paths, ...packages, ...modules], sight);
}

function realPlaces(paths: readonly string[], sight: Sight): string[] {
  return [...new Set(paths)].flatMap((path) => sight.real(path) ?? []);
}

const ENDINGS = ["ts", "mts", "cts", "js", "mjs", "cjs", "json", "tsx", "jsx", "node"];

/** Lists files that an import may mean. It may omit the extension, name a folder, or name the output of a .ts file. */
function candidates(from: string, written: string, sight: Sight): string[] {
  const isAddress = written.startsWith("file:");
  const path = isAddress ? attempt(() => fileURLToPath(written)) : resolve(from, written.replace(/[?#].*/s, ""));
  if (path === undefined) return [];
  const stem = path.replace(/\.([cm]?)js$/, ".$1ts");
  const all = [path, stem, ...ENDINGS.map((ending) => `${path}.${ending}`)].filter(sight.exists);
  const inside = ["package.json", ...ENDINGS.map((ending) => `index.${ending}`)].map((name) => join(path, name));
  return sight.isFolder(path) ? [...all.filter((found) => found !== path), ...inside.filter(sight.exists)] : all;
}

/** The program provides these modules itself. */
const OWN = /^skillflow(?:\/|$)/;

/** Returns the folder of an installed package. For `#name`, returns the package.json that defines it. */
function packageOf(from: string, specifier: string, sight: Sight): string[] {
  if (specifier.startsWith("#")) return nearestUp(from, "package.json", sight);
  const name = /^(?:@[\w.~-]+\/)?[\w.~-]+/.exec(specifier)?.[0];
  if (name === undefined || isBuiltin(specifier) || OWN.test(specifier)) return [];
  return nearestUp(from, join("node_modules", name), sight);
}

function nearestUp(from: string, name: string, sight: Sight): string[] {
  const found = foldersUp(from)
    .map((folder) => join(folder, name))
    .find(sight.exists);
  return found === undefined ? [] : [found];
}

/** Lists candidates for a Python module `a.b.c`: a/b/c.py, a folder of that name, and the files of its parents. */
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

/** Lists the folders above a skill's folder, up to the root of its repository. Without one, lists only the parent. */
function surroundingsOf(home: string, sight: Sight): string[] {
  const folders = foldersUp(home);
  const root = folders.findIndex((folder) => sight.exists(join(folder, ".git")));
  return folders.slice(1, root < 0 ? 2 : root + 1);
}
