import { type Git, PLAIN_DIFF, utc } from "./run-git.ts";

export interface Commit {
  readonly id: string;
  readonly parents: readonly string[];
  readonly author: string;
  /** Commit date. */
  readonly date: string;
  readonly subject: string;
  readonly body: string;
}

/** Returns the commits that `git log` lists for these arguments. */
export async function readCommits(git: Git, args: readonly string[]): Promise<readonly Commit[]> {
  // Names and messages cannot contain NUL, so they cannot forge a field.
  const format = ["%H", "%P", "%an <%ae>", "%ct", "%s", "%b"].join("%x00");
  // A search for text reads the files like a diff does.
  const options = ["-z", "--no-patch", "--no-show-signature", "--encoding=UTF-8", `--format=${format}`, ...PLAIN_DIFF];
  const { text } = await git(["log", ...options, ...args]);
  const parts = text.split("\0");
  const commits: Commit[] = [];
  for (let at = 0; at + 5 < parts.length; at += 6) {
    const [id = "", parents = "", author = "", date = "", subject = "", body = ""] = parts.slice(at, at + 6);
    const commit = { id, parents: parents.split(" ").filter(Boolean), author, date: utc(date), subject };
    commits.push({ ...commit, body: body.trim() });
  }
  return commits;
}

export interface ChangedFile {
  readonly path: string;
  readonly added: number | "binary";
  readonly deleted: number | "binary";
  readonly was?: string;
}

/** Two trees to compare. A commit without a parent is compared with an empty tree. */
export type Comparison = readonly [from: string, to: string] | readonly [root: string];

/** One path, or several. An empty list means all. */
type Paths = string | readonly string[];

/** Returns the comparison of a commit with its first parent. */
export function changeOf(commit: Commit): Comparison {
  const [parent] = commit.parents;
  return parent === undefined ? [commit.id] : [parent, commit.id];
}

/** Returns the changed files with their numbers of changed lines, the largest changes first. */
export async function readChangedFiles(git: Git, change: Comparison, path?: Paths): Promise<readonly ChangedFile[]> {
  const { text } = await git(["diff-tree", "-r", "-z", "--numstat", "-M", ...PLAIN_DIFF, ...treesOf(change, path)]);
  const parts = text.split("\0");
  const files: ChangedFile[] = [];
  for (let at = 0; at < parts.length; at++) {
    const [added, deleted, name] = (parts[at] ?? "").split("\t");
    if (added === undefined || deleted === undefined || name === undefined) continue;
    const counts = { added: countOf(added), deleted: countOf(deleted) };
    // A rename has an empty name, followed by the old and the new name.
    if (name !== "") files.push({ path: name, ...counts });
    else files.push({ path: parts[at + 2] ?? "", ...counts, was: parts[at + 1] ?? "" });
    if (name === "") at += 2;
  }
  return files.sort((a, b) => sizeOf(b) - sizeOf(a));
}

interface Patch {
  readonly text: string;
  /** Line to continue at if the text is cut, otherwise undefined. */
  readonly nextLine: number | undefined;
}

interface PatchOptions {
  readonly path?: Paths | undefined;
  readonly context_lines?: number | undefined;
  /** 1-based line of the whole patch to start at. */
  readonly from_line?: number | undefined;
  readonly most: number;
}

const LINE_SHOWN = 1000;

/** Returns part of a change as a patch: from a line on, up to a number of bytes, cut between lines. */
export async function readPatch(git: Git, change: Comparison, options: PatchOptions): Promise<Patch> {
  const { path, context_lines: context = 3, from_line: fromLine = 1, most } = options;
  const args = ["diff-tree", "-r", "-p", "-M", `-U${context}`, ...PLAIN_DIFF, ...treesOf(change, path)];
  const { text, truncated } = await git(args, { most, skipLines: fromLine - 1 });
  const lines = text.split("\n");
  if (!truncated) return { text: lines.map(shortened).join("\n"), nextLine: undefined };
  // The last line is incomplete. A single overlong line is shortened, and the next page starts after it.
  const whole = lines.length > 1 ? lines.slice(0, -1) : lines;
  return { text: whole.map(shortened).join("\n"), nextLine: fromLine + whole.length };
}

export function shortened(line: string): string {
  return line.length > LINE_SHOWN
    ? `${line.slice(0, LINE_SHOWN)}… [cut; the line has ${line.length} characters]`
    : line;
}

function treesOf(change: Comparison, path: Paths | undefined): readonly string[] {
  const trees = change.length === 1 ? ["--root", "--no-commit-id", ...change] : change;
  return [...trees, "--", ...(path === undefined ? [] : [path].flat())];
}

function countOf(text: string): number | "binary" {
  return text === "-" ? "binary" : Number(text);
}

function sizeOf({ added, deleted }: ChangedFile): number {
  return added === "binary" || deleted === "binary" ? 0 : added + deleted;
}
