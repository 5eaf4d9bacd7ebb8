import type { ToolContext } from "skillflow";
import { type Commit, changeOf, readChangedFiles, readCommits, readPatch } from "./history.ts";
import { withRepository } from "./repository.ts";
import { checkPath, listRefs, type Ref, resolveCommit } from "./revision.ts";
import type { Git } from "./run-git.ts";
import { cut, fitting, ID_SHOWN, shallowNote } from "./text.ts";
import { instantOf } from "./tools.ts";

interface SurveyInput {
  readonly repository?: string | undefined;
  /** Instant before which the commits and releases are wanted. */
  readonly around: string;
  readonly paths?: readonly string[] | undefined;
}

const COMMITS = 15;
const COMMITS_BYTES = 5 * 1024;
const FILES_OF_COMMIT = 6;
const TAGS = 10;
const REFS_READ = 1000;
const RELEASE_FILES = 30;
const RELEASE_FILES_BYTES = 1500;
/** Leaves room for the marks of shortened lines, so that the diff stays within 8,000 characters. */
const RELEASE_DIFF = 7600;
const RELEASE_READ = 64 * 1024;
const RELEASE_CONTEXT = 2;

/** Shows what changed before an instant: commits with files and size, tags, and the diff of the last release. */
export function surveyHistory(input: SurveyInput, context: ToolContext) {
  return withRepository(input.repository, context, async ({ git, shallow }) => {
    const until = instantOf(input.around);
    const paths = (input.paths ?? []).map(checkPath);
    const head = await resolveCommit(git, "HEAD");
    const args = [`--max-count=${COMMITS}`, `--until=${until}`, "--end-of-options", head, "--", ...paths];
    const commits = [];
    for (const commit of await readCommits(git, args)) commits.push(await describe(git, commit, paths));
    const refs = await listRefs(git, REFS_READ);
    const tags = refs.filter(({ kind, date }) => kind === "tag" && Date.parse(date) <= Date.parse(until));
    const shown = fitting(commits, COMMITS_BYTES);
    return {
      commits: shown,
      tags: tags.slice(0, TAGS).map(({ name, id, date }) => ({ name, id, date })),
      ...(await lastRelease(git, tags, paths)),
      truncated: shown.length < commits.length || commits.length === COMMITS,
      ...shallowNote(shallow),
    };
  });
}

async function describe(git: Git, commit: Commit, paths: readonly string[]) {
  const files = await readChangedFiles(git, changeOf(commit), paths);
  const sum = (counts: readonly (number | "binary")[]) =>
    counts.reduce<number>((all, each) => all + (each === "binary" ? 0 : each), 0);
  return {
    id: commit.id.slice(0, ID_SHOWN),
    date: commit.date,
    author: cut(commit.author.replace(/ <[^<>]*>$/, ""), 100),
    subject: cut(commit.subject, 200),
    added: sum(files.map(({ added }) => added)),
    deleted: sum(files.map(({ deleted }) => deleted)),
    files: files.slice(0, FILES_OF_COMMIT).map(({ path }) => cut(path, 200)),
    ...(files.length > FILES_OF_COMMIT ? { files_changed: files.length } : {}),
  };
}

/** Compares the newest tag with the newest one of another commit before it. */
async function lastRelease(git: Git, tags: readonly Ref[], paths: readonly string[]) {
  const [to] = tags;
  const from = tags.find(({ id }) => id !== to?.id);
  if (!to || !from) return {};
  const change = [await resolveCommit(git, from.id), await resolveCommit(git, to.id)] as const;
  const files = await readChangedFiles(git, change, paths);
  const patch = await readPatch(git, change, { path: paths, context: RELEASE_CONTEXT, most: RELEASE_READ });
  const { text, isCut } = codeFirst(patch.text);
  const shown = fitting(files.slice(0, RELEASE_FILES), RELEASE_FILES_BYTES);
  return {
    release: {
      from: from.name,
      to: to.name,
      date: to.date,
      files: shown,
      files_changed: files.length,
      diff: text,
      truncated: isCut || patch.nextLine !== undefined,
    },
  };
}

/** Paths whose changes explain a failure less often than code: tests, then foreign code, manifests and documents. */
const LATER: readonly RegExp[] = [
  /(?:^|\/)(?:tests?|__tests__|specs?|fixtures)\/|[._-](?:test|spec)\.[^/]*$/i,
  /(?:^|\/)(?:vendor|third_party|node_modules)\/|(?:^|\/)package\.json$|\.lock$|(?:^|[._-])lock\.[^/]*$|(?:^|\/)go\.sum$/i,
  /\.(?:md|rst|adoc|txt)$|(?:^|\/)(?:docs?|changelog|changes|license|readme)(?:[/.]|$)/i,
];

/** Puts the files with code first in a patch, and cuts it between lines. */
export function codeFirst(patch: string): { readonly text: string; readonly isCut: boolean } {
  const files = patch.split(/^(?=diff --git )/m).map((text) => {
    const path = /^diff --git a\/(.*) b\//.exec(text)?.[1] ?? "";
    return { text: text.replace(/(?<=[^\n])$/, "\n"), rank: LATER.findLastIndex((each) => each.test(path)) };
  });
  const sorted = files.sort((a, b) => a.rank - b.rank);
  const text = sorted.map((file) => file.text).join("");
  if (text.length <= RELEASE_DIFF) return { text, isCut: false };
  return { text: text.slice(0, text.lastIndexOf("\n", RELEASE_DIFF)), isCut: true };
}
