import type { ToolContext } from "skillflow";
import { fitting } from "skillflow/internal";
import type * as z from "zod";
import { shortened } from "./history.ts";
import type { linesInput } from "./inputs.ts";
import { withRepository } from "./repository.ts";
import { checkPath, resolveCommit } from "./revision.ts";
import { faultOf, type Git, type GitOutput, ID_SHOWN, shallowNote, utc } from "./run-git.ts";

type LinesInput = z.infer<ReturnType<typeof linesInput>>;

const LINES_USUAL = 100;

/** The tag or branch as it was asked for, so that an answer can quote it with its commit. */
function asked(ref: string | undefined) {
  return ref === undefined ? {} : { ref };
}

export function showBlame(input: LinesInput, context: ToolContext) {
  return withRepository(input.repository, context, async ({ git, shallow }) => {
    const commit = await resolveCommit(git, input.ref ?? "HEAD");
    const path = checkPath(input.path);
    await readEntry(git, commit, path);
    const { start, end } = linesOf(input, LINES_USUAL);
    const options = ["--porcelain", "--no-textconv", "-L", `${start},${end}`];
    const output = await git(["blame", ...options, commit, "--", path], { mayFail: true });
    if (output.code !== 0) throw blameFault(output, path);
    const { lines, commits } = parseBlame(output.text);
    const shown = fitting(lines);
    const ids = new Set(shown.map((line) => line.commit));
    const truncated = shown.length < lines.length;
    return {
      path,
      at: commit,
      ...asked(input.ref),
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
    // Drops the empty string after the last line break, or an incomplete last line.
    if (blob.truncated ? all.length > 1 : all.at(-1) === "") all.pop();
    if (all.length === 0 && start > 1) throw new Error(`${path} ends before line ${start}`);
    const wanted = all.slice(0, end - start + 1).map((line, index) => `${start + index}: ${shortened(line)}`);
    const shown = fitting(wanted);
    const truncated = shown.length < all.length || blob.truncated;
    return {
      path,
      at: commit,
      ...asked(input.ref),
      bytes: entry.bytes,
      ...(entry.link ? { note: "a symbolic link; its text is the link target" } : {}),
      text: shown.join("\n"),
      truncated,
      ...(truncated ? { more: `call again with start_line: ${start + shown.length}` } : {}),
    };
  });
}

const FILE_READ = 256 * 1024;

/** Finds a file in a commit's tree. If the path is not a file, throws an Error that describes it. */
async function readEntry(git: Git, commit: string, path: string) {
  const { text } = await git(["ls-tree", "-z", "--long", "--full-tree", commit, "--", path]);
  const match = /^(\d+) (\w+) ([0-9a-f]+) +(\d+|-|BAD)\t/.exec(text);
  if (!match)
    throw new Error(`${path} does not exist in ${commit.slice(0, 12)}. ${await namesIn(git, commit, parentOf(path))}`);
  const [, mode, kind, id = "", bytes] = match;
  if (kind === "tree") throw new Error(`${path} is a directory. ${await namesIn(git, commit, path)}`);
  if (kind !== "blob") throw new Error(`${path} is a submodule. Its files are in another repository`);
  if (bytes === "BAD") throw new Error(`${path} has no contents in this clone, which is partial or damaged`);
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
  if (names.length === 0) return `Its folder does not exist.`;
  return `${folder || "The root"} contains: ${names.slice(0, NAMES_SHOWN).join(", ")}${names.length > NAMES_SHOWN ? ", …" : ""}`;
}

function parentOf(path: string): string {
  return path.split("/").slice(0, -1).join("/");
}

function linesOf({ start_line: from, end_line: to }: LinesInput, usual: number) {
  const start = from ?? Math.max(1, (to ?? usual) - usual + 1);
  const end = to ?? start + usual - 1;
  if (end < start) throw new Error(`end_line ${end} is before start_line ${start}`);
  return { start, end };
}

function blameFault(output: GitOutput, path: string): Error {
  const lines = /has only (\d+) lines?/.exec(output.errors)?.[1];
  return lines === undefined
    ? faultOf(output)
    : new Error(`${path} has only ${lines} lines; choose a smaller start_line`);
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
    else if (line.startsWith("committer-time ")) current.date = utc(line.slice(15));
    else if (line.startsWith("summary ")) current.subject = line.slice(8);
  }
  return { lines, commits: [...commits.values()] };
}
