import type { ToolContext } from "skillflow";
import { BYTES_SHOWN, fitting } from "skillflow/internal";
import type * as z from "zod";
import { type Commit, changeOf, readChangedFiles, readCommits, readPatch } from "./history.ts";
import type { changedInput, diffInput, logInput, refsInput, showInput } from "./inputs.ts";
import { withRepository } from "./repository.ts";
import { checkPath, listRefs, resolveCommit } from "./revision.ts";
import { cut, type Git, ID_SHOWN, shallowNote } from "./run-git.ts";

const PATCH_SHOWN = 12 * 1024;
const LOG_PATCH_SHOWN = 3 * 1024;
const FILES_SHOWN = 50;

type LogInput = z.infer<ReturnType<typeof logInput>>;

export function showLog(input: LogInput, context: ToolContext) {
  return withRepository(input.repository, context, async ({ git, shallow }) => {
    const { limit = 20, skip = 0 } = input;
    const args = [`--max-count=${limit + 1}`, `--skip=${skip}`, ...filtersOf(input), ...(await rangeOf(git, input))];
    const found = await readCommits(git, args);
    const commits = [];
    let bytes = 0;
    for (const commit of found.slice(0, limit)) {
      const files = input.files ? await readChangedFiles(git, changeOf(commit)) : undefined;
      const patch = input.patch ? await shortPatch(git, commit, pathOf(input)) : {};
      const told = { ...summary(commit), ...(files ? someFiles(files, 20) : {}), ...patch };
      commits.push(told);
      // Any further commits would not be shown.
      bytes += JSON.stringify(told).length;
      if (bytes > BYTES_SHOWN) break;
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

/** Shows commits. Several commits share the size limit of one. */
export function showCommits(input: z.infer<ReturnType<typeof showInput>>, context: ToolContext) {
  return withRepository(input.repository, context, async ({ git }) => {
    const ids = await Promise.all(input.commits.map((name) => resolveCommit(git, name)));
    const wanted = [...new Set(ids)];
    if (wanted.length > 1 && input.from_line !== undefined) throw new Error("`from_line` goes with one commit only");
    const commits = [];
    for (const id of wanted) commits.push(await showCommit(git, id, input, wanted.length));
    return { commits };
  });
}

async function showCommit(git: Git, id: string, input: z.infer<ReturnType<typeof showInput>>, sharing: number) {
  const commit = await readCommit(git, id);
  const files = await readChangedFiles(git, changeOf(commit), pathOf(input));
  const most = Math.floor(PATCH_SHOWN / sharing);
  const { text: diff, nextLine } = await readPatch(git, changeOf(commit), { ...input, path: pathOf(input), most });
  const more = sharing > 1 ? "show this commit alone, or with `path`" : readOn(nextLine);
  const message = commit.body === "" ? commit.subject : `${commit.subject}\n\n${commit.body}`;
  return {
    id: commit.id,
    parents: commit.parents,
    author: cut(commit.author, 200),
    date: commit.date,
    message: cut(message, Math.floor(3000 / sharing)),
    ...(commit.parents.length > 1 ? { note: "a merge; the change is against its first parent" } : {}),
    ...someFiles(files, Math.ceil(FILES_SHOWN / sharing), sharing),
    diff,
    truncated: nextLine !== undefined,
    ...(nextLine === undefined ? {} : { more }),
  };
}

export function showDiff(input: z.infer<ReturnType<typeof diffInput>>, context: ToolContext) {
  return withRepository(input.repository, context, async ({ git }) => {
    const change = [await resolveCommit(git, input.from), await resolveCommit(git, input.to ?? "HEAD")] as const;
    const path = pathOf(input);
    const files = await readChangedFiles(git, change, path);
    const { text: diff, nextLine } = await readPatch(git, change, { ...input, path, most: PATCH_SHOWN });
    return {
      from: change[0],
      to: change[1],
      range: `${input.from}..${input.to ?? "HEAD"}`,
      ...someFiles(files, FILES_SHOWN),
      diff,
      truncated: nextLine !== undefined,
      ...(nextLine === undefined ? {} : { more: readOn(nextLine) }),
    };
  });
}

export function showChangedFiles(input: z.infer<ReturnType<typeof changedInput>>, context: ToolContext) {
  return withRepository(input.repository, context, async ({ git, shallow }) => {
    const change = [await resolveCommit(git, input.from), await resolveCommit(git, input.to ?? "HEAD")] as const;
    const { limit = 100 } = input;
    const path = pathOf(input);
    const files = await readChangedFiles(git, change, path);
    const range = ["--end-of-options", change[1], `^${change[0]}`, "--", ...(path ? [path] : [])];
    const found = await readCommits(git, [`--max-count=${limit + 1}`, ...range]);
    const shownFiles = fitting(files.slice(0, limit), BYTES_SHOWN / 2);
    const commits = fitting(found.slice(0, limit).map(oneLine), BYTES_SHOWN / 2);
    const truncated = shownFiles.length < files.length || commits.length < found.length;
    return {
      from: change[0],
      to: change[1],
      range: `${input.from}..${input.to ?? "HEAD"}`,
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

export function showRefs(input: z.infer<ReturnType<typeof refsInput>>, context: ToolContext) {
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

/** Returns a full timestamp: for a date alone, git would add the current time of day. */
export function instantOf(text: string): string {
  const time = /^\d{4}-\d\d-\d\d/.test(text)
    ? Date.parse(/[Tt ]/.test(text) && !ZONED.test(text) ? `${text}Z` : text)
    : NaN;
  if (Number.isNaN(time)) throw new Error(`${text} is not a date; write 2026-01-31 or 2026-01-31T13:55:00Z`);
  return new Date(time).toISOString();
}

const ZONED = /(?:Z|[+-]\d\d:?\d\d)$/i;

async function rangeOf(git: Git, { from, to, path }: LogInput): Promise<readonly string[]> {
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

function readOn(line: number | undefined): string {
  return `call again with from_line: ${line}, or with \`path\` for one file`;
}

/** Returns a commit's change, shortened for lists. `show` returns all of it. */
async function shortPatch(git: Git, commit: Commit, path: string | undefined) {
  const { text, nextLine } = await readPatch(git, changeOf(commit), { path, most: LOG_PATCH_SHOWN });
  return { diff: text, ...(nextLine === undefined ? {} : { diff_truncated: true }) };
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

function someFiles<T>(files: readonly T[], most: number, sharing = 1) {
  const shown = fitting(files.slice(0, most), BYTES_SHOWN / 4 / sharing);
  return { files: shown, ...(shown.length < files.length ? { files_changed: files.length } : {}) };
}
