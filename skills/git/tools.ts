import type { ToolContext } from "skillflow";
import { type Commit, changeOf, readChangedFiles, readCommits, readPatch, shortened } from "./history.ts";
import { type Repository, withRepository } from "./repository.ts";
import { checkPath, listRefs, resolveCommit } from "./revision.ts";
import type { Git } from "./run-git.ts";

interface Input {
  readonly repository?: string | undefined;
}
interface Range {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly path?: string | undefined;
}

const BYTES_SHOWN = 16 * 1024;
const PATCH_SHOWN = 12 * 1024;
const FILES_SHOWN = 50;

interface LogInput extends Input, Range {
  readonly author?: string | undefined;
  readonly grep?: string | undefined;
  readonly changes_text?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly files?: boolean | undefined;
  readonly limit?: number | undefined;
  readonly skip?: number | undefined;
}

export function showLog(input: LogInput, context: ToolContext) {
  return withRepository(input.repository, context, async ({ git, shallow }) => {
    const { limit = 20, skip = 0 } = input;
    const args = [`--max-count=${limit + 1}`, `--skip=${skip}`, ...filtersOf(input), ...(await rangeOf(git, input))];
    const found = await readCommits(git, args);
    const commits = [];
    for (const commit of found.slice(0, limit)) {
      const files = input.files ? await readChangedFiles(git, changeOf(commit)) : undefined;
      commits.push({ ...summary(commit), ...(files ? someFiles(files, 20) : {}) });
    }
    const shown = fitting(commits);
    const truncated = shown.length < found.length;
    const more = `call again with skip: ${skip + shown.length}, or narrow with path, author, grep, since or from`;
    return {
      returned: shown.length,
      truncated,
      commits: shown,
      ...(truncated ? { more } : {}),
      ...shallowNote(shallow),
    };
  });
}

interface ShowInput extends Input {
  readonly commit: string;
  readonly path?: string | undefined;
  readonly context_lines?: number | undefined;
  readonly from_line?: number | undefined;
}

export function showCommit(input: ShowInput, context: ToolContext) {
  return withRepository(input.repository, context, async ({ git }) => {
    const commit = await readCommit(git, await resolveCommit(git, input.commit));
    const files = await readChangedFiles(git, changeOf(commit), pathOf(input));
    const patch = await boundedPatch(git, changeOf(commit), input);
    const message = commit.body === "" ? commit.subject : `${commit.subject}\n\n${commit.body}`;
    return {
      id: commit.id,
      parents: commit.parents,
      author: commit.author,
      date: commit.date,
      message: cut(message, 3000),
      ...(commit.parents.length > 1 ? { note: "a merge; the change is against its first parent" } : {}),
      ...someFiles(files, FILES_SHOWN),
      ...patch,
    };
  });
}

interface DiffInput extends Input {
  readonly from: string;
  readonly to?: string | undefined;
  readonly path?: string | undefined;
  readonly context_lines?: number | undefined;
  readonly from_line?: number | undefined;
}

export function showDiff(input: DiffInput, context: ToolContext) {
  return withRepository(input.repository, context, async ({ git }) => {
    const change = [await resolveCommit(git, input.from), await resolveCommit(git, input.to ?? "HEAD")] as const;
    const files = await readChangedFiles(git, change, pathOf(input));
    return {
      from: change[0],
      to: change[1],
      ...someFiles(files, FILES_SHOWN),
      ...(await boundedPatch(git, change, input)),
    };
  });
}

interface ChangedInput extends Input {
  readonly from: string;
  readonly to?: string | undefined;
  readonly path?: string | undefined;
  readonly limit?: number | undefined;
}

export function showChangedFiles(input: ChangedInput, context: ToolContext) {
  return withRepository(input.repository, context, async ({ git, shallow }) => {
    const change = [await resolveCommit(git, input.from), await resolveCommit(git, input.to ?? "HEAD")] as const;
    const { limit = 100 } = input;
    const files = await readChangedFiles(git, change, pathOf(input));
    const path = pathOf(input);
    const range = ["--end-of-options", change[1], `^${change[0]}`, "--", ...(path ? [path] : [])];
    const found = await readCommits(git, [`--max-count=${limit + 1}`, ...range]);
    const shownFiles = fitting(files.slice(0, limit), BYTES_SHOWN / 2);
    const commits = fitting(found.slice(0, limit).map(oneLine), BYTES_SHOWN / 2);
    const truncated = shownFiles.length < files.length || commits.length < found.length;
    return {
      from: change[0],
      to: change[1],
      files_changed: files.length,
      files: shownFiles,
      commits,
      truncated,
      ...(truncated
        ? { more: "give `path`, or raise `limit`; log with the same from and to pages through the commits" }
        : {}),
      ...shallowNote(shallow),
    };
  });
}

interface LinesInput extends Input {
  readonly path: string;
  readonly ref?: string | undefined;
  readonly start_line?: number | undefined;
  readonly end_line?: number | undefined;
}

const LINES_USUAL = 100;

export function showBlame(input: LinesInput, context: ToolContext) {
  return withRepository(input.repository, context, async ({ git, shallow }) => {
    const commit = await resolveCommit(git, input.ref ?? "HEAD");
    const path = checkPath(input.path);
    await readEntry(git, commit, path);
    const { start, end } = linesOf(input, LINES_USUAL);
    const options = ["--porcelain", "--no-textconv", "-L", `${start},${end}`];
    const output = await git(["blame", ...options, commit, "--", path], { mayFail: true });
    if (output.code !== 0) throw new Error(blameFault(output.errors, path));
    const { lines, commits } = parseBlame(output.text);
    const shown = fitting(lines);
    const ids = new Set(shown.map((line) => line.commit));
    const truncated = shown.length < lines.length;
    return {
      path,
      at: commit,
      lines: shown.map((line) => `${line.number} ${line.commit} ${shortened(line.text)}`),
      commits: commits.filter((each) => ids.has(each.id)),
      truncated,
      ...(truncated ? { more: `call again with start_line: ${start + shown.length}` } : {}),
      ...shallowNote(shallow),
    };
  });
}

export function readFileAt(input: LinesInput, context: ToolContext) {
  return withRepository(input.repository, context, async ({ git }) => {
    const commit = await resolveCommit(git, input.ref ?? "HEAD");
    const path = checkPath(input.path);
    const entry = await readEntry(git, commit, path);
    const { start, end } = linesOf(input, LINES_USUAL * 4);
    const blob = await git(["cat-file", "blob", entry.id], { most: FILE_READ, skipLines: start - 1 });
    if (blob.bytes.subarray(0, 8000).includes(0)) throw new Error(`${path} is a binary file of ${entry.bytes} bytes`);
    const all = blob.text.split("\n");
    // What follows the last line end, and a line that was cut, is no line.
    if (blob.truncated ? all.length > 1 : all.at(-1) === "") all.pop();
    if (all.length === 0 && start > 1) throw new Error(`${path} ends before line ${start}`);
    const wanted = all.slice(0, end - start + 1).map((line, index) => `${start + index}: ${shortened(line)}`);
    const shown = fitting(wanted);
    const truncated = shown.length < all.length || blob.truncated;
    return {
      path,
      at: commit,
      bytes: entry.bytes,
      ...(entry.link ? { note: "a symbolic link; its text is where it points" } : {}),
      text: shown.join("\n"),
      truncated,
      ...(truncated ? { more: `call again with start_line: ${start + shown.length}` } : {}),
    };
  });
}

const FILE_READ = 256 * 1024;

export function showRefs(input: Input & { readonly limit?: number | undefined }, context: ToolContext) {
  return withRepository(input.repository, context, async ({ git, shallow }) => {
    const { limit = 40 } = input;
    const head = await git(["rev-parse", "--abbrev-ref", "HEAD"], { mayFail: true });
    const refs = await listRefs(git, limit + 1);
    const shown = fitting(refs.slice(0, limit));
    return { head: head.text.trim(), refs: shown, truncated: shown.length < refs.length, ...shallowNote(shallow) };
  });
}

function filtersOf({ author, grep, changes_text: text, since, until }: LogInput): readonly string[] {
  return [
    ...(author || grep ? ["--fixed-strings", "--regexp-ignore-case"] : []),
    ...(author ? [`--author=${author}`] : []),
    ...(grep ? [`--grep=${grep}`] : []),
    ...(text ? [`-S${text}`] : []),
    ...(since ? [`--since=${instantOf(since)}`] : []),
    ...(until ? [`--until=${instantOf(until)}`] : []),
  ];
}

/** Git reads a date without a clock as that day at the present clock time, so it is always given in full. */
function instantOf(text: string): string {
  const time = /^\d{4}-\d\d-\d\d/.test(text)
    ? Date.parse(/[Tt ]/.test(text) && !ZONED.test(text) ? `${text}Z` : text)
    : NaN;
  if (Number.isNaN(time)) throw new Error(`${text} is no date; write 2026-01-31 or 2026-01-31T13:55:00Z`);
  return new Date(time).toISOString();
}

const ZONED = /(?:Z|[+-]\d\d:?\d\d)$/i;

async function rangeOf(git: Git, { from, to, path }: Range): Promise<readonly string[]> {
  const head = await resolveCommit(git, to ?? "HEAD");
  const base = from === undefined ? [] : [`^${await resolveCommit(git, from)}`];
  return ["--end-of-options", head, ...base, "--", ...(path === undefined ? [] : [checkPath(path)])];
}

function pathOf({ path }: { readonly path?: string | undefined }): string | undefined {
  return path === undefined ? undefined : checkPath(path);
}

async function readCommit(git: Git, id: string): Promise<Commit> {
  const [commit] = await readCommits(git, ["--max-count=1", "--end-of-options", id, "--"]);
  if (!commit) throw new Error(`the commit ${id} cannot be read`);
  return commit;
}

interface PatchInput {
  readonly path?: string | undefined;
  readonly context_lines?: number | undefined;
  readonly from_line?: number | undefined;
}

async function boundedPatch(git: Git, change: Parameters<typeof readPatch>[1], input: PatchInput) {
  const options = { path: pathOf(input), context: input.context_lines, fromLine: input.from_line, most: PATCH_SHOWN };
  const { text, nextLine } = await readPatch(git, change, options);
  const more = `call again with from_line: ${nextLine}, or with \`path\` for one file`;
  return { diff: text, truncated: nextLine !== undefined, ...(nextLine === undefined ? {} : { more }) };
}

/** A file in a commit's tree. Throws an Error that tells what lies at the path instead. */
async function readEntry(git: Git, commit: string, path: string) {
  const { text } = await git(["ls-tree", "-z", "--long", "--full-tree", commit, "--", path]);
  const match = /^(\d+) (\w+) ([0-9a-f]+) +(\d+|-|BAD)\t/.exec(text);
  if (!match)
    throw new Error(`${path} does not exist in ${commit.slice(0, 12)}. ${await namesIn(git, commit, parentOf(path))}`);
  const [, mode, kind, id = "", bytes] = match;
  if (kind === "tree") throw new Error(`${path} is a directory. ${await namesIn(git, commit, path)}`);
  if (kind !== "blob") throw new Error(`${path} is a submodule; its files are in another repository`);
  if (bytes === "BAD") throw new Error(`${path} has no contents here: the clone is partial or damaged`);
  return { id, bytes: Number(bytes), link: mode === "120000" };
}

const NAMES_SHOWN = 60;

async function namesIn(git: Git, commit: string, folder: string): Promise<string> {
  const { text } = await git([
    "ls-tree",
    "-z",
    "--name-only",
    "--full-tree",
    commit,
    "--",
    ...(folder ? [`${folder}/`] : []),
  ]);
  const names = text.split("\0").filter((name) => name !== "");
  if (names.length === 0) return `Its folder does not exist either.`;
  return `${folder || "The root"} holds: ${names.slice(0, NAMES_SHOWN).join(", ")}${names.length > NAMES_SHOWN ? ", …" : ""}`;
}

function parentOf(path: string): string {
  return path.split("/").slice(0, -1).join("/");
}

function linesOf({ start_line: from, end_line: to }: LinesInput, usual: number) {
  const start = from ?? Math.max(1, (to ?? usual) - usual + 1);
  const end = to ?? start + usual - 1;
  if (end < start) throw new Error(`end_line ${end} lies before start_line ${start}`);
  return { start, end };
}

function blameFault(errors: string, path: string): string {
  const lines = /has only (\d+) lines?/.exec(errors)?.[1];
  return lines === undefined
    ? `git failed: ${errors}`
    : `${path} has only ${lines} lines; choose start_line within them`;
}

interface BlameLine {
  readonly number: number;
  readonly commit: string;
  readonly text: string;
}
interface BlameCommit {
  readonly id: string;
  author: string;
  date: string;
  subject: string;
}

const ID_SHOWN = 12;

function parseBlame(text: string): { readonly lines: readonly BlameLine[]; readonly commits: readonly BlameCommit[] } {
  const lines: BlameLine[] = [];
  const commits = new Map<string, BlameCommit>();
  let current: BlameCommit = { id: "", author: "", date: "", subject: "" };
  let number = 0;
  for (const line of text.split("\n")) {
    const head = /^([0-9a-f]{40,64}) \d+ (\d+)/.exec(line);
    if (line.startsWith("\t")) lines.push({ number, commit: current.id, text: line.slice(1) });
    else if (head) {
      const id = (head[1] ?? "").slice(0, ID_SHOWN);
      current = commits.get(id) ?? { id, author: "", date: "", subject: "" };
      commits.set(id, current);
      number = Number(head[2]);
    } else if (line.startsWith("author ")) current.author = line.slice(7);
    else if (line.startsWith("author-time ")) current.date = new Date(Number(line.slice(12)) * 1000).toISOString();
    else if (line.startsWith("summary ")) current.subject = line.slice(8);
  }
  return { lines, commits: [...commits.values()] };
}

function summary(commit: Commit) {
  const { id, author, date, subject, body, parents } = commit;
  return {
    id: id.slice(0, ID_SHOWN),
    date,
    author: cut(author, 200),
    subject: cut(subject, 300),
    ...(body === "" ? {} : { body: cut(body, 500) }),
    ...(parents.length > 1 ? { merge: true } : {}),
  };
}

function oneLine(commit: Commit): string {
  return `${commit.id.slice(0, ID_SHOWN)} ${commit.date} ${cut(commit.author, 100)}: ${cut(commit.subject, 200)}`;
}

function someFiles<T>(files: readonly T[], most: number) {
  const shown = fitting(files.slice(0, most), BYTES_SHOWN / 4);
  return { files: shown, ...(shown.length < files.length ? { files_changed: files.length } : {}) };
}

function shallowNote(shallow: Repository["shallow"]) {
  return shallow ? { shallow: "this clone has only the newest part of the history; older commits are not here" } : {};
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}… [cut; ${text.length} characters]` : text;
}

/** The longest run of items, from the front, whose JSON fits a number of bytes; at least one. */
function fitting<T>(items: readonly T[], bytes: number = BYTES_SHOWN): readonly T[] {
  let used = 0;
  const stop = items.findIndex((item, index) => {
    used += Buffer.byteLength(JSON.stringify(item)) + 1;
    return used > bytes && index > 0;
  });
  return stop < 0 ? items : items.slice(0, stop);
}
