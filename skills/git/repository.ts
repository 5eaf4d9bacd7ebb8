import { createWriteStream, rmSync } from "node:fs";
import { type FileHandle, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import process from "node:process";
import { pipeline } from "node:stream/promises";
import type { Lack, RunOutlook, ToolContext } from "skillflow";
import { type Inside, openInside, resolveInside } from "skillflow";
import { checkOwn, elsewhere, type Git, type Parts, USUAL_PATH, withGit } from "./run-git.ts";

export interface Repository {
  readonly git: Git;
  /** True if the history is cut off, as in a checkout of depth 1. */
  readonly shallow: boolean;
}

/** Calls `use` with the repository that the input names, or the configured one, or the working directory. */
export async function withRepository<T>(
  wanted: string | undefined,
  context: ToolContext,
  use: (repository: Repository) => Promise<T>,
): Promise<T> {
  const parts = await findParts(wanted, context);
  return withGit(parts, context, (git) => use({ git, shallow: parts.shallow }));
}

async function findParts(wanted: string | undefined, context: ToolContext): Promise<Parts> {
  const configured = context.config["GIT_REPOSITORY"];
  // The operator may choose any directory, the model only one in the working directory.
  if (wanted === undefined && configured) {
    const path = resolve(context.workDir, configured);
    const place = await resolveInside(path, ".");
    if (!place.inside) throw new Error(`GIT_REPOSITORY ${configured} ${place.message}`);
    return partsAt(place, configured, context, anyPlace);
  }
  const name = wanted ?? ".";
  const place = await resolveInside(context.workDir, name);
  if (!place.inside)
    throw new Error(`the repository ${name} ${place.message}; give a directory in the working directory`);
  const parts = await partsAt(place, name, context, (path) => placeInside(path, name, context));
  await checkOwn(parts, name, context.signal);
  return parts;
}

const MOST_NAMES = 5000;

/** Reports if git is not installed, or if neither the config, the working directory nor a text has a repository. */
export async function lacksRepository({ config, workDir, texts }: RunOutlook): Promise<Lack | undefined> {
  const folders = (config["PATH"] ?? USUAL_PATH).split(delimiter);
  if (!(await isAny(folders, (folder) => exists(join(folder, "git")))))
    return { kind: "machine", reason: "the program git is not on the PATH", fix: "install git, or set PATH" };
  const configured = config["GIT_REPOSITORY"];
  if (configured) {
    if (await isRepository(resolve(workDir, configured), ".")) return undefined;
    const reason = "GIT_REPOSITORY is neither a git repository nor a bundle";
    return { kind: "config_form", reason, fix: FIX };
  }
  const words = texts.flatMap((text) => [
    text,
    ...text.split(/[\s"'`()<>,;]+/).map((word) => word.replace(/(?<![.:])[.:]+$/, "")),
  ]);
  const names = [".", ...new Set(words)].filter((name) => name !== "" && name.length <= 500).slice(0, MOST_NAMES);
  if (await isAny(names, (name) => isRepository(workDir, name))) return undefined;
  const unnamed = texts.length === 0 ? "" : " the run's input and texts name no repository,";
  const reason = `the working directory is not a git repository,${unnamed} and GIT_REPOSITORY is not set`;
  return { kind: "not_applicable", reason, fix: FIX };
}

const FIX = "run in a git repository, or set GIT_REPOSITORY to its directory or a bundle";

async function isAny(texts: readonly string[], fits: (text: string) => Promise<boolean>): Promise<boolean> {
  for (const text of texts) if (await fits(text)) return true;
  return false;
}

async function isRepository(workDir: string, name: string): Promise<boolean> {
  if (name.includes("\0") || !(await exists(resolve(workDir, name)))) return false;
  const place = await resolveInside(workDir, name);
  if (!place.inside) return false;
  const looked = (await stat(place.path)).isFile() ? checkBundle(place, name) : checkDirectory(place.path, name);
  return looked.then(
    () => true,
    () => false,
  );
}

async function checkDirectory(path: string, name: string): Promise<void> {
  const inner = join(path, ".git");
  await partsOf((await exists(inner)) ? await followFile(inner, anyPlace) : path, name, anyPlace);
}

/** Resolves a path that comes from the repository itself. */
type Follow = (path: string) => Promise<string>;

const anyPlace: Follow = async (path) => path;

async function placeInside(path: string, name: string, context: ToolContext): Promise<string> {
  const place = await resolveInside(context.workDir, path);
  if (!place.inside) throw elsewhere(name);
  return place.path;
}

async function partsAt(place: Inside, name: string, context: ToolContext, follow: Follow): Promise<Parts> {
  if ((await stat(place.path)).isFile()) return partsOf(await unpackedBundle(place, name, context), name, anyPlace);
  const inner = join(place.path, ".git");
  return partsOf((await exists(inner)) ? await followFile(await follow(inner), follow) : place.path, name, follow);
}

/** Follows the `.git` file of a linked working tree, which names the git directory. */
async function followFile(path: string, follow: Follow): Promise<string> {
  const target = /^gitdir: (.+)$/m.exec((await textOf(path)) ?? "")?.[1]?.trim();
  return target ? follow(resolve(path, "..", target)) : path;
}

/** Returns a repository's parts. A linked working tree has only HEAD; `commondir` names the main directory. */
async function partsOf(gitDir: string, name: string, follow: Follow): Promise<Parts> {
  const common = await textOf(join(gitDir, "commondir"));
  const commonDir = common ? await follow(resolve(gitDir, common)) : gitDir;
  const parts = [join(commonDir, "objects"), join(commonDir, "refs")].map(exists);
  if (!(await Promise.all([isFile(join(gitDir, "HEAD")), ...parts])).every(Boolean))
    throw new Error(`${name} is not a git repository; give its directory in \`repository\``);
  return { gitDir, commonDir, shallow: await isFile(join(commonDir, "shallow")) };
}

/** Unpacked bundles by path, size and time. A process unpacks each one once and removes it at its end. */
const bundles = new Map<string, Promise<string>>();
const folders = new Set<string>();

function removeFolders(): void {
  for (const folder of folders) {
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {
      // A git that is still writing can prevent this, which must not change the exit code.
    }
  }
}

async function unpackedBundle(place: Inside, name: string, context: ToolContext): Promise<string> {
  const { size, mtimeMs } = await stat(place.path);
  const key = `${place.path}\0${size}\0${mtimeMs}`;
  for (;;) {
    const known = bundles.get(key);
    const unpacking = known ?? unpackBundle(place, name, context);
    bundles.set(key, unpacking);
    try {
      return await unpacking;
    } catch (error) {
      if (bundles.get(key) === unpacking) bundles.delete(key);
      // Another call's abort must not fail this call.
      if (!known || context.signal.aborted || !isAbort(error)) throw error;
    }
  }
}

async function unpackBundle(place: Inside, name: string, context: ToolContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "git-bundle-"));
  if (folders.size === 0) process.once("exit", removeFolders);
  folders.add(folder);
  const target = join(folder, "repository.git");
  // git prefers a repository x.git to the bundle x in the same folder. The folder of the copy has none.
  const copy = join(folder, "copy.bundle");
  try {
    await withBundle(place, name, (file) =>
      pipeline(file.createReadStream({ start: 0, autoClose: false }), createWriteStream(copy)),
    );
    await withGit(undefined, context, (git) =>
      git(["clone", "--quiet", "--mirror", "--template=", "--no-local", "--", copy, target]),
    );
    await rm(copy);
    return target;
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

const checkBundle = (place: Inside, name: string) => withBundle(place, name, async () => undefined);

/** Opens a bundle for `work`. Throws if the file is none. */
async function withBundle(place: Inside, name: string, work: (file: FileHandle) => Promise<void>): Promise<void> {
  const opened = await openInside(place);
  if (!("file" in opened)) throw new Error(`${name} ${opened.message}`);
  try {
    const { buffer } = await opened.file.read(Buffer.alloc(16), 0, 16, 0);
    if (!/^# v[23] git bundle/.test(buffer.toString("latin1"))) {
      throw new Error(`${name} is a file but not a git bundle; give a repository's directory or a bundle`);
    }
    await work(opened.file);
  } finally {
    await opened.file.close();
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === "AbortError" || error.name === "TimeoutError");
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Returns the text of a regular file. Opening anything else might block forever. */
async function textOf(path: string): Promise<string | undefined> {
  return (await isFile(path)) ? (await readFile(path, "utf8")).trim() : undefined;
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isFile(),
    () => false,
  );
}
