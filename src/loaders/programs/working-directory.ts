import { type Dirent, existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { attempt } from "../../core/base/errors.ts";
import { type Mount, readOnly } from "../../core/skill/sandbox.ts";
import { isWithin } from "../../files/files.ts";
import type { LoaderHost } from "../folder/host.ts";

/**
 * Mounts the working directory for code in the sandbox. All of it is readable. If the operator makes it writable, paths
 * that this machine or the skill (`own`) could execute stay read-only.
 */
export function mountWorkDir(
  { writable }: Pick<LoaderHost, "writable">,
  workDir: string,
  own: readonly string[],
): Mount {
  const unwritable = readOnly(workDir);
  if (!writable) return unwritable;
  const root = realpathSync(workDir);
  const named = [...writable.keep(), ...own, ...submodules(root), ...repositoriesOf(writable, root)];
  const kept = named.flatMap((path) => (existsSync(path) ? [path, realpathSync(path)] : [path]));
  if (kept.some((path) => isWithin(path, root))) return unwritable;
  const first = kept.filter((path) => isWithin(root, path)).map((path) => relative(root, path).split(sep)[0] ?? "");
  const ours = readdirSync(root).filter((name) => name.startsWith(".skillflow") || OURS.includes(name));
  return { ...unwritable, writable: true, protect: [...new Set([...ALWAYS, ...ours, ...first])].sort() };
}

/** Paths that programs on this machine execute or trust. */
const ALWAYS = [".git", ".github", ".skillflow", ".skillflow.yml", "node_modules"];

const MODULES = ".gitmodules";
/** More of them, which count only if they exist. */
const OURS = [MODULES, "skillflow.lock"];
const MOST_FOLDERS = 10_000;

const searched = new WeakMap<object, readonly string[]>();

/** Searches once for all calls of a workspace. */
function repositoriesOf(writable: object, root: string): readonly string[] {
  const found = searched.get(writable) ?? repositories(root);
  searched.set(writable, found);
  return found;
}

/**
 * Returns the folders of the root that are or contain Git repositories, whose hooks and config can name programs. Does
 * not search `node_modules`, and also returns folders that it cannot read completely or that exceed the limit.
 */
function repositories(root: string): readonly string[] {
  const found: string[] = [];
  const folders = [root];
  for (let index = 0; index < folders.length && index < MOST_FOLDERS; index++) {
    const folder = folders[index] ?? root;
    const entries = attempt((): Dirent[] => readdirSync(folder, { withFileTypes: true }));
    if (folder !== root && (!entries || entries.some(({ name }) => name === ".git"))) found.push(folder);
    else
      for (const entry of entries ?? []) if (isSearched(entry, folder === root)) folders.push(join(folder, entry.name));
  }
  const kept = [...found, ...folders.slice(MOST_FOLDERS)].map((folder) => relative(root, folder).split(sep)[0] ?? "");
  return [...new Set(kept)].map((name) => join(root, name));
}

function isSearched(entry: Dirent, isTop: boolean): boolean {
  return entry.isDirectory() && entry.name !== "node_modules" && !(isTop && ALWAYS.includes(entry.name));
}

/** Returns the paths of Git submodules. Git reads the config files inside them, which can name programs. */
function submodules(root: string): readonly string[] {
  const file = join(root, MODULES);
  const text = lstatSync(file, { throwIfNoEntry: false })?.isFile() ? readFileSync(file, "utf8") : "";
  return [...text.matchAll(/^[ \t]*path[ \t]*=[ \t]*(\S.*)/gm)].map(([, path = ""]) =>
    join(root, path.trimEnd().replace(/^"|"$/g, "")),
  );
}
