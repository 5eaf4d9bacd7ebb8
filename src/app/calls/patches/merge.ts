import { createHash } from "node:crypto";
import { join } from "node:path";
import { SkillflowError } from "../../../core/base/errors.ts";
import type { Patch } from "../../../core/engine/event/patch.ts";
import { changedPaths, type Entry, type FileState, type OwnFolder, stateIn } from "./git.ts";

/** Applies a patch onto a newer commit: a three-way merge of the files that it names, without a working tree. */

/** A file as the branch is to have it. Undefined content deletes it. */
export interface MergedFile {
  readonly path: string;
  readonly state: FileState | undefined;
}

interface Merging {
  readonly folder: OwnFolder;
  /** Git directory of the checkout, which has the base. Only read. */
  readonly checkout: string;
  readonly patch: Patch;
  /** Reads the new head. */
  readonly fileAt: (path: string) => Promise<FileState | undefined>;
  readonly list: (folder: string) => Promise<readonly Entry[]>;
}

/** Returns the files that differ from the new head. Empty if it has the change already. Throws at conflicts. */
export async function mergePatch({ folder, checkout, patch, fileAt, list }: Merging): Promise<readonly MergedFile[]> {
  const { diff, files, base } = patch;
  const objects = { GIT_ALTERNATE_OBJECT_DIRECTORIES: join(checkout, "objects") };
  const known = await folder.git(["cat-file", "-e", `${base}^{commit}`], { env: objects, may: [0, 1, 128] });
  if (known.status !== 0)
    throw refusal(`the commit ${base.slice(0, 12)} that the change starts from is not in this checkout`);
  const before: MergedFile[] = [];
  const now: MergedFile[] = [];
  for (const { path } of files) {
    before.push({ path, state: await stateIn(folder, { tree: base, path, env: objects }) });
    now.push({ path, state: await fileAt(path) });
  }
  const baseTree = await writeTree(folder, before);
  const index = { GIT_INDEX_FILE: "index" };
  await folder.git(["apply", "--cached", "--whitespace=nowarn", "--unidiff-zero", "-"], { input: diff, env: index });
  const changed = await folder.text(["write-tree"], { env: index });
  await holdToDigests(folder, { patch, baseTree, changed });
  const head = await writeTree(folder, now);
  const start = await commit(folder, baseTree);
  const sides = [await commit(folder, changed, start), await commit(folder, head, start)];
  const merge = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ...sides];
  const { status, stdout } = await folder.git(merge, { may: [0, 1] });
  const [tree = "", ...conflicts] = stdout.toString("utf8").split("\0").filter(Boolean);
  if (status === 1) {
    const paths = files.map(({ path }) => path);
    // If upstream made the file a link, git reports it under its path, `~` and a commit.
    const pathOf = (name: string) =>
      paths.find((path) => path === name) ?? paths.find((path) => name.startsWith(`${path}~`));
    throw conflict([...new Set(conflicts.map((name) => pathOf(name) ?? name))].join(", "));
  }
  const merged = await differences(folder, head, tree.trim());
  const gone = new Set(merged.flatMap(({ path, state }) => (state ? [] : [path])));
  const isNew = (path: string) => now.some((one) => one.path === path && !one.state);
  for (const { path } of merged.filter(({ path, state }) => state && isNew(path))) {
    const lost = await inTheWay(list, path, gone);
    if (lost !== undefined) throw conflict(`${path}, where it has ${lost}`);
  }
  return merged;
}

/** Returns what a new file would replace and the change does not delete: an entry below its path, or at a parent. */
async function inTheWay(list: Merging["list"], path: string, gone: ReadonlySet<string>): Promise<string | undefined> {
  const names = path.split("/");
  // The folder itself nearly always exists, so one list is enough.
  for (let depth = names.length - 1; depth >= 0; depth--) {
    const entries = await list(names.slice(0, depth).join("/"));
    if (entries.length === 0) continue;
    const found = entries.find(({ name }) => name === names[depth]);
    return found ? firstLeft(list, names.slice(0, depth + 1).join("/"), { found, gone }) : undefined;
  }
  return undefined;
}

/** Returns the first path at or below an entry that the change does not delete. Ends there, so it lists few folders. */
async function firstLeft(
  list: Merging["list"],
  path: string,
  { found, gone }: { readonly found: Entry; readonly gone: ReadonlySet<string> },
): Promise<string | undefined> {
  if (found.type !== "tree") return gone.has(path) ? undefined : path;
  for (const below of await list(path)) {
    const left = await firstLeft(list, `${path}/${below.name}`, { found: below, gone });
    if (left !== undefined) return left;
  }
  return undefined;
}

function conflict(where: string): SkillflowError {
  return refusal(`the base has moved and the change conflicts in ${where}`);
}

/** An outcome that a person must resolve. Nothing was written. */
export function refusal(message: string): SkillflowError {
  return new SkillflowError("call.refused", message, { acted: "no" });
}

async function writeTree(folder: OwnFolder, files: readonly MergedFile[]): Promise<string> {
  const env = { GIT_INDEX_FILE: "index" };
  await folder.git(["read-tree", "--empty"], { env });
  const lines: string[] = [];
  for (const { path, state } of files) {
    if (!state) continue;
    const id = await folder.text(["hash-object", "-w", "--stdin"], { input: state.content });
    lines.push(`${state.mode} ${id}\t${path}\0`);
  }
  await folder.git(["update-index", "-z", "--index-info"], { env, input: lines.join("") });
  return folder.text(["write-tree"], { env });
}

function commit(folder: OwnFolder, tree: string, parent?: string): Promise<string> {
  return folder.text(["commit-tree", tree, ...(parent === undefined ? [] : ["-p", parent])], { input: "merge" });
}

/** Throws if the diff makes other files than those that were approved by their digests. */
async function holdToDigests(
  folder: OwnFolder,
  { patch, baseTree, changed }: { readonly patch: Patch; readonly baseTree: string; readonly changed: string },
): Promise<void> {
  const made = new Map((await differences(folder, baseTree, changed)).map(({ path, state }) => [path, state]));
  const isAs = patch.files.every(({ path, change, mode, sha256 }) => {
    const state = made.get(path);
    if (change === "deleted") return made.has(path) && state === undefined;
    return state?.mode === mode && createHash("sha256").update(state.content).digest("hex") === sha256;
  });
  if (!isAs || made.size !== patch.files.length) throw refusal("the diff does not make the files that were approved");
}

/** Returns the files of `to` that differ from `from`. */
async function differences(folder: OwnFolder, from: string, to: string): Promise<MergedFile[]> {
  const paths = await changedPaths(folder, from, to);
  return Promise.all(paths.map(async (path) => ({ path, state: await stateIn(folder, { tree: to, path }) })));
}
