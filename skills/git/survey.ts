import type { ToolContext } from "skillflow";
import { fitting } from "skillflow/internal";
import type * as z from "zod";
import { type Commit, changeOf, readChangedFiles, readCommits, readPatch } from "./history.ts";
import type { surveyInput } from "./inputs.ts";
import { withRepository } from "./repository.ts";
import { checkPath, listRefs, type Ref, resolveCommit } from "./revision.ts";
import { cut, type Git, ID_SHOWN, shallowNote, utc } from "./run-git.ts";
import { instantOf } from "./tools.ts";

const COMMITS = 15;
const COMMITS_BYTES = 5 * 1024;
const FILES_OF_COMMIT = 6;
const TAGS = 10;
const REFS_READ = 1000;
const RELEASE_FILES = 30;
const RELEASE_FILES_BYTES = 1500;
/** Leaves room for the marks of shortened lines, so that the diff stays within 8,000 characters. */
const RELEASE_DIFF = 7600;
const RELEASE_READ = 256 * 1024;
const RELEASE_CONTEXT = 2;
const DEPLOYS_READ = 100_000;
const DEPLOYED_SHOWN = 5;
const HISTORY_READ = 20_000;
const README = 1024;

/** Shows what changed before an instant: commits, tags, the diff of what was deployed or last released, and the README. */
export function surveyHistory(input: z.infer<ReturnType<typeof surveyInput>>, context: ToolContext) {
  return withRepository(input.repository, context, async ({ git, shallow }) => {
    const until = instantOf(input.around);
    const paths = (input.paths ?? []).map(checkPath);
    const head = await resolveCommit(git, "HEAD");
    const args = [`--max-count=${COMMITS}`, `--until=${until}`, "--end-of-options", head, "--", ...paths];
    const refs = await listRefs(git, REFS_READ);
    const tags = refs.filter(({ kind, date }) => kind === "tag" && Date.parse(date) <= Date.parse(until));
    const deployed = input.deployed ? await findDeployed(git, input.deployed, { tags, until }) : [];
    const latest = await readCommits(git, args);
    const ids = deployed.slice(0, DEPLOYED_SHOWN).map(({ commit }) => commit);
    const older = ids.filter((id) => latest.every((commit) => commit.id !== id));
    const named = older.length > 0 ? await readCommits(git, ["--no-walk", "--end-of-options", ...older, "--"]) : [];
    const commits = [];
    for (const commit of [...latest, ...named]) {
      const isDeployed = ids.includes(commit.id) ? { deployed: true } : {};
      commits.push({ ...(await describe(git, commit, paths)), ...isDeployed });
    }
    const shown = fitting(commits, COMMITS_BYTES);
    return {
      commits: shown,
      tags: tags.slice(0, TAGS).map(({ name, id, date }) => ({ name, id, date })),
      ...(await releaseOf(git, { tags, deployed }, paths)),
      ...(await readmeOf(git, head)),
      truncated: shown.length < commits.length || latest.length === COMMITS,
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

interface Version extends Pick<Ref, "name" | "id" | "date"> {
  readonly commit: string;
}

const MOST_IDS = 500;

/** Finds the commits that deploys name by id or tag, the newest first. */
async function findDeployed(
  git: Git,
  deploys: readonly unknown[],
  { tags, until }: { readonly tags: readonly Ref[]; readonly until: string },
): Promise<readonly Version[]> {
  const text = JSON.stringify(deploys)
    .slice(0, DEPLOYS_READ)
    .replace(/\\[bfnrt]/g, " ");
  const found = text.split(/[^\w.+-]+|\.{2,}/).map((word) => (word.endsWith(".") ? word.slice(0, -1) : word));
  const words = new Set(found.flatMap((word) => [word, `v${word}`]));
  const ids = [...words].filter((word) => /^(?=.*\d)[0-9a-f]{7,64}$/.test(word)).slice(0, MOST_IDS);
  const range = ["--all", "--date-order", "--timestamp", `--until=${until}`, `--max-count=${HISTORY_READ}`];
  const history = (await git(["rev-list", ...range])).text.trim().split("\n");
  return history.flatMap((line) => {
    const [seconds = "", commit = ""] = line.split(" ");
    const own = tags.filter(({ id }) => commit.startsWith(id)).map(({ name }) => name);
    const name = own.find((each) => words.has(each)) ?? own[0] ?? commit.slice(0, ID_SHOWN);
    const isNamed = words.has(name) || ids.some((id) => commit.startsWith(id));
    return isNamed && commit !== "" ? [{ name, id: commit.slice(0, ID_SHOWN), date: utc(seconds), commit }] : [];
  });
}

async function readmeOf(git: Git, head: string) {
  const { text: names } = await git(["ls-tree", "-z", "--name-only", "--full-tree", head]);
  const name = names.split("\0").find((each) => /^readme(?:\.\w{1,10})?$/i.test(each));
  if (name === undefined) return {};
  const { text } = await git(["cat-file", "blob", `${head}:${name}`], { most: README, mayFail: true });
  return text === "" || text.includes("\0") ? {} : { readme: text.trimEnd() };
}

/** Compares the oldest with the newest version that was deployed, or the newest with the tag of another commit before it. */
async function releaseOf(
  git: Git,
  { tags, deployed }: { readonly tags: readonly Ref[]; readonly deployed: readonly Version[] },
  paths: readonly string[],
) {
  const to = deployed[0] ?? tags[0];
  const oldest = deployed.length > 1 ? deployed.at(-1) : undefined;
  const from = oldest ?? tags.find(({ id, date }) => to && id !== to.id && date <= to.date);
  if (!to || !from) return {};
  const change = [await resolveCommit(git, from.id), await resolveCommit(git, to.id)] as const;
  const files = await readChangedFiles(git, change, paths);
  const patch = await readPatch(git, change, { path: paths, context_lines: RELEASE_CONTEXT, most: RELEASE_READ });
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
  // If not all fit, small changes are shown whole.
  const isLong = patch.length > RELEASE_DIFF;
  const sorted = files.sort((a, b) => a.rank - b.rank || (isLong ? a.text.length - b.text.length : 0));
  const text = sorted.map((file) => file.text).join("");
  if (text.length <= RELEASE_DIFF) return { text, isCut: false };
  return { text: text.slice(0, text.lastIndexOf("\n", RELEASE_DIFF)), isCut: true };
}
