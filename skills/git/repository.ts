import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Inside, openInside, resolveInside, type ToolContext } from "skillflow";
import { type Git, withGit } from "./run-git.ts";

export interface Repository {
  readonly git: Git;
  /** History ends early, as in a checkout of depth 1. */
  readonly shallow: boolean;
}

/** Lends the repository that a tool's input names, else the configured one, else the working directory. */
export async function withRepository<T>(
  wanted: string | undefined,
  context: ToolContext,
  use: (repository: Repository) => Promise<T>,
): Promise<T> {
  const gitDir = await findGitDir(wanted, context);
  const shallow = await exists(join(gitDir, "shallow"));
  return withGit(gitDir, context, (git) => use({ git, shallow }));
}

async function findGitDir(wanted: string | undefined, context: ToolContext): Promise<string> {
  const configured = context.config["GIT_REPOSITORY"];
  // The operator's choice may lie anywhere; the model's lies in the working directory.
  if (wanted === undefined && configured) {
    const path = resolve(context.workDir, configured);
    const place = await resolveInside(path, ".");
    if (!place.inside) throw new Error(`GIT_REPOSITORY ${configured} ${place.message}`);
    return gitDirAt(place, configured, context, true);
  }
  const name = wanted ?? ".";
  const place = await resolveInside(context.workDir, name);
  if (!place.inside)
    throw new Error(`the repository ${name} ${place.message}; name a directory in the working directory`);
  return gitDirAt(place, name, context, false);
}

async function gitDirAt(place: Inside, name: string, context: ToolContext, trusted: boolean): Promise<string> {
  if ((await stat(place.path)).isFile()) return unpackedBundle(place, name, context);
  const inner = join(place.path, ".git");
  const gitDir = (await exists(inner)) ? await followLink(inner) : place.path;
  for (const part of ["HEAD", "objects"]) {
    if (!(await exists(join(gitDir, part))))
      throw new Error(`${name} is no git repository; name its directory in \`repository\``);
  }
  if (!trusted) await checkSelfContained(gitDir, name, context);
  return gitDir;
}

/** In a linked working tree `.git` is a file that names the directory. */
async function followLink(path: string): Promise<string> {
  if ((await stat(path)).isDirectory()) return path;
  const target = /^gitdir: (.+)$/m.exec(await readFile(path, "utf8"))?.[1]?.trim();
  return target ? resolve(path, "..", target) : path;
}

/** A repository in the working tree must not lend objects of another one: all its parts lie below the working directory. */
async function checkSelfContained(gitDir: string, name: string, context: ToolContext): Promise<void> {
  const common = await textOf(join(gitDir, "commondir"));
  const commonDir = common === undefined ? gitDir : resolve(gitDir, common);
  const borrowed = (await textOf(join(commonDir, "objects", "info", "alternates")))?.split("\n") ?? [];
  const parts = [
    gitDir,
    commonDir,
    ...["HEAD", "config", "packed-refs", "refs", "objects", "objects/pack"].map((part) => join(commonDir, part)),
    ...borrowed.filter((line) => line !== "").map((line) => resolve(commonDir, "objects", line)),
  ];
  for (const part of parts) {
    const place = await resolveInside(context.workDir, part);
    if (!place.inside && place.reason !== "missing") {
      throw new Error(
        `${name} keeps parts of its repository outside of the working directory; set GIT_REPOSITORY to allow it`,
      );
    }
  }
}

/** Unpacked bundles by path, size and time: each is unpacked once in a process and left to the system's temp cleaning. */
const bundles = new Map<string, Promise<string>>();

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
      // Another call's end is no failure of this one.
      if (!known || context.signal.aborted || !isAbort(error)) throw error;
    }
  }
}

async function unpackBundle(place: Inside, name: string, context: ToolContext): Promise<string> {
  await checkBundle(place, name);
  const folder = await mkdtemp(join(tmpdir(), "git-bundle-"));
  const target = join(folder, "repository.git");
  try {
    await withGit(undefined, context, (git) =>
      git(["clone", "--quiet", "--mirror", "--template=", "--no-local", "--", place.path, target]),
    );
    return target;
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

async function checkBundle(place: Inside, name: string): Promise<void> {
  const opened = await openInside(place);
  if (!("file" in opened)) throw new Error(`${name} ${opened.message}`);
  try {
    const { buffer } = await opened.file.read(Buffer.alloc(16), 0, 16, 0);
    if (!/^# v[23] git bundle/.test(buffer.toString("latin1"))) {
      throw new Error(`${name} is a file but no git bundle; name a repository's directory or a bundle`);
    }
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

async function textOf(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").then(
    (text) => text.trim(),
    () => undefined,
  );
}
