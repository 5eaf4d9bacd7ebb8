import { chmodSync, lstatSync, mkdirSync, rmdirSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { inputError, type SkillflowError } from "../../../core/base/errors.ts";
import { withoutEnd } from "../../../core/base/preview.ts";
import type { Environment } from "../../../core/document/config.ts";
import { digestOf, makeFolder, readPlainNow } from "../../../files/files.ts";
import {
  type CommitFile,
  demand,
  entriesIn,
  git,
  type Repository,
  readFiles,
  writeFiles,
} from "../../sources/commit-files.ts";
import { isGitName, segmentsOf, shown } from "./paths.ts";

/** A run's own working copy of the repository. Nothing of it is in the checkout, and it has no remote and no hooks. */

interface CopyOptions {
  /** Root of the checkout. Only its objects are read. */
  readonly checkout: string;
  /** Id of the commit that the copy starts at. */
  readonly base: string;
  /** The copy's own folder. What is there is removed first. */
  readonly folder: string;
  readonly env: Environment;
}

export interface ChangedFile {
  readonly path: string;
  readonly change: "added" | "changed" | "deleted";
  /** Git's mode: `100644` or `100755`. */
  readonly mode: string;
  /** Digest of the content, of a deleted file's content at the base. */
  readonly sha256: string;
}

export interface LeftOut {
  readonly path: string;
  readonly why: "submodule" | "LFS file" | "large file" | "unsafe name";
}

export type Copy = ReturnType<typeof openCopy>;

/** Creates the copy, without any of the repository's filters and hooks. */
export function openCopy(options: CopyOptions) {
  const { base, folder, checkout } = options;
  rmSync(folder, { recursive: true, force: true });
  makeFolder(folder);
  chmodSync(folder, 0o700);
  const repository = openRepository(options);
  const found = listTree(repository, base);
  const tree = join(folder, "tree");
  const writeBase = (target: string) => {
    mkdirSync(target, { recursive: true, mode: 0o700 });
    writeFiles(repository, found.files, target);
    for (const { path, to } of found.links) link(target, { path, to });
  };
  writeBase(tree);
  const originals = new Map(found.files.map((file) => [file.path, file]));
  const present = new Set(originals.keys());
  const touched = new Set<string>();
  const plain = (path: string) => {
    const segments = segmentsOf(path);
    checkWay(tree, segments);
    return segments.join("/");
  };
  const modeOf = (path: string) => (originals.get(path)?.isProgram ? "100755" : "100644");
  return {
    checkout,
    tree,
    folder,
    leftOut: found.leftOut,
    paths: () => [...present].sort(),
    isOfBase: (path: string) => originals.has(path),
    /** Returns the content of a file. Throws `input.invalid` if there is none, or if it is not a plain file. */
    read(path: string) {
      const name = plain(path);
      if (!present.has(name)) throw missing(path, { present, found });
      return readPlainNow(join(tree, name));
    },
    /** Writes a file, or deletes it without content. Returns what it is now. */
    put(path: string, content: Buffer | undefined): ChangedFile {
      const name = plain(path);
      const existed = present.has(name);
      if (!existed && (content === undefined || lstatSync(join(tree, name), { throwIfNoEntry: false }))) {
        throw missing(path, { present, found });
      }
      const kept = content ?? readPlainNow(join(tree, name));
      if (content) writeOver(tree, name, content, modeOf(name));
      else removeFrom(tree, name);
      touched.add(name);
      if (content) present.add(name);
      else present.delete(name);
      const change = content ? (existed ? "changed" : "added") : "deleted";
      return { path: name, change, mode: modeOf(name), sha256: digestOf(kept) };
    },
    writeBase,
    change: async () => changeOf(repository, { base, tree, originals, touched, present, modeOf }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Creates an empty repository that reads the checkout's objects. It has no config of the checkout, so no helpers. */
function openRepository({ checkout, base, folder, env }: CopyOptions): Repository {
  const place = demand(git({ root: checkout, env }, ["rev-parse", "--git-path", "objects"]));
  const objects = resolve(checkout, place.stdout.toString("utf8").replace(/\n$/, ""));
  const root = join(folder, "git");
  for (const name of ["objects/info", "refs"]) mkdirSync(join(root, name), { recursive: true, mode: 0o700 });
  const format =
    base.length === 64
      ? "repositoryformatversion = 1\n[extensions]\nobjectformat = sha256"
      : "repositoryformatversion = 0";
  writeFileSync(join(root, "config"), `[core]\nbare = true\n${format}\n`);
  writeFileSync(join(root, "HEAD"), "ref: refs/heads/base\n");
  writeFileSync(join(root, "objects/info/alternates"), `${quotePath(objects)}\n`);
  return { root, env };
}

/** Writes a path for git's list of alternates, which reads quoted paths as C strings. */
function quotePath(path: string): string {
  return `"${path.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n")}"`;
}

interface Found {
  readonly files: CommitFile[];
  readonly links: { readonly path: string; readonly to: string }[];
  readonly leftOut: LeftOut[];
}

const MOST_FILE = 64 * 1024 * 1024;
const LFS_BYTES = 1024;
const LFS = /^version https:\/\/git-lfs\.github\.com\//;

export function listTree(repository: Repository, base: string): Found {
  const found: Found = { files: [], links: [], leftOut: [] };
  const small: CommitFile[] = [];
  for (const { mode, ...file } of entriesIn(repository, base)) {
    const { id, path } = file;
    if (path.split("/").some((part) => isGitName(part) || /^\.{0,2}$/.test(part)) || path.includes("\\")) {
      found.leftOut.push({ path, why: "unsafe name" });
    } else if (mode === "160000") found.leftOut.push({ path, why: "submodule" });
    else if (mode === "120000") found.links.push({ path, to: contentOf(repository, id).toString("utf8") });
    else if (file.size > MOST_FILE) found.leftOut.push({ path, why: "large file" });
    else (file.size < LFS_BYTES ? small : found.files).push(file);
  }
  for (const [file, content] of readFiles(repository, small)) {
    if (LFS.test(content.toString("latin1", 0, 60))) found.leftOut.push({ path: file.path, why: "LFS file" });
    else found.files.push(file);
  }
  return found;
}

function contentOf(repository: Repository, id: string): Buffer {
  return demand(git(repository, ["cat-file", "blob", id])).stdout;
}

/** Creates a link for commands to see, which the tools never follow. A crafted tree may have one below another link. */
function link(tree: string, { path, to }: Found["links"][number]): void {
  const folders = path.split("/");
  for (const [index] of folders.entries()) {
    const stats = lstatSync(join(tree, ...folders.slice(0, index + 1)), { throwIfNoEntry: false });
    if (stats && (!stats.isDirectory() || index === folders.length - 1)) return;
  }
  mkdirSync(dirname(join(tree, path)), { recursive: true, mode: 0o700 });
  symlinkSync(to, join(tree, path));
}

/** Throws if a folder on the way to a file is a link, or not a folder. */
export function checkWay(tree: string, segments: readonly string[]): void {
  for (let length = 1; length <= segments.length; length += 1) {
    const path = segments.slice(0, length).join("/");
    const stats = lstatSync(join(tree, path), { throwIfNoEntry: false });
    if (!stats) return;
    if (stats.isSymbolicLink()) throw inputError(`${shown(path)} is a link, and links are not followed or changed`);
    if (length < segments.length && !stats.isDirectory()) throw inputError(`${shown(path)} is a file, not a folder`);
  }
}

function missing(
  path: string,
  { present, found }: { readonly present: ReadonlySet<string>; readonly found: Found },
): SkillflowError {
  const left = found.leftOut.find((each) => each.path === path);
  if (left) return inputError(`${shown(path)} is not in the copy: it is a ${left.why}`);
  const folder = `${withoutEnd(path, "/")}/`;
  if (folder === "/" || [...present].some((each) => each.startsWith(folder)))
    return inputError(`${shown(path)} is a folder`);
  return inputError(`there is no file ${shown(path)} in the copy`);
}

function writeOver(tree: string, name: string, content: Buffer, mode: string): void {
  const path = join(tree, name);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  rmSync(path, { force: true });
  writeFileSync(path, content, { flag: "wx", mode: mode === "100755" ? 0o700 : 0o600 });
}

/** Removes a file and the folders that it leaves empty, which git does not know. */
function removeFrom(tree: string, name: string): void {
  unlinkSync(join(tree, name));
  for (let folder = dirname(name); folder !== "."; folder = dirname(folder)) {
    try {
      rmdirSync(join(tree, folder));
    } catch {
      return;
    }
  }
}

interface Standing {
  readonly base: string;
  readonly tree: string;
  readonly originals: ReadonlyMap<string, CommitFile>;
  readonly touched: ReadonlySet<string>;
  readonly present: ReadonlySet<string>;
  readonly modeOf: (path: string) => string;
}

/** Compares the copy with the base. The diff has git's format, with full object ids. It is empty if nothing changed. */
function changeOf(repository: Repository, { base, tree, originals, touched, present, modeOf }: Standing) {
  const files: ChangedFile[] = [];
  const lines: string[] = [];
  for (const path of [...touched].sort()) {
    const original = originals.get(path);
    const content = present.has(path) ? readPlainNow(join(tree, path)) : undefined;
    const before = original && contentOf(repository, original.id);
    if (content === undefined ? before === undefined : before?.equals(content)) continue;
    const change = content ? (before ? "changed" : "added") : "deleted";
    files.push({ path, change, mode: modeOf(path), sha256: digestOf(content ?? before ?? "") });
    const id = content && demand(git(repository, ["hash-object", "-w", "--no-filters", "--stdin"], content)).stdout;
    const zero = "0".repeat(base.length);
    lines.push(id ? `${modeOf(path)} ${id.toString("utf8").trim()}\t${path}` : `0 ${zero}\t${path}`);
  }
  if (files.length === 0) return { base, diff: "", files };
  demand(git(repository, ["read-tree", base]));
  demand(git(repository, ["update-index", "-z", "--index-info"], lines.map((line) => `${line}\0`).join("")));
  const changed = demand(git(repository, ["write-tree"]))
    .stdout.toString("utf8")
    .trim();
  const { stdout } = demand(git(repository, [...DIFF, base, changed]));
  return { base, diff: stdout.toString("utf8"), files };
}

const DIFF = [
  ...["diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames", "--no-color", "--no-ext-diff"],
  ...["--no-textconv", "--no-relative", "--src-prefix=a/", "--dst-prefix=b/", "--unified=3"],
];
