import { type Git, utc } from "./run-git.ts";

/** Returns the full commit id for a name. Throws an Error if it is too late, or one that lists the names that exist. */
export async function resolveCommit(git: Git, name: string): Promise<string> {
  checkName(name);
  const found = await git(["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`], {
    mayFail: true,
  });
  const id = found.text.trim().split("\n").at(-1) ?? "";
  if (found.code === 0 && /^[0-9a-f]{40,64}$/.test(id)) {
    if (Number.isFinite(git.limit)) await checkTime(git, id, name);
    return id;
  }
  throw new Error(`there is no commit, branch or tag named ${name}. ${await whatIsThere(git)}`);
}

async function checkTime(git: Git, id: string, name: string): Promise<void> {
  const { text } = await git(["rev-list", "--max-count=1", "--timestamp", id, "--"]);
  if (Number.parseInt(text, 10) * 1000 <= git.limit) return;
  const time = new Date(git.limit).toISOString();
  throw new Error(`${name} is later than ${time}, the time of this run. HEAD is the last commit before it`);
}

/** Returns branches and tags that point to commits, newest first. */
export async function listRefs(git: Git, limit: number): Promise<readonly Ref[]> {
  // The fields with a star describe the target of an annotated tag. Branches and plain tags point to a commit directly.
  const fields = [
    "refname",
    "objecttype",
    "objectname:short=12",
    "*objecttype",
    "*objectname:short=12",
    "creatordate:unix",
  ];
  const format = fields.map((field) => `%(${field})`).join("%00");
  const count = Number.isFinite(git.limit) ? [] : [`--count=${limit}`];
  const args = ["for-each-ref", "--sort=-creatordate", ...count, `--format=${format}`];
  const { text } = await git([...args, "refs/heads", "refs/tags", "refs/remotes"]);
  return text
    .split("\n")
    .map((line) => line.split("\0"))
    .filter((fields) => fields.length > 1 && !(Number(fields[5]) * 1000 > git.limit))
    .slice(0, limit)
    .flatMap(([ref = "", type = "", id = "", peeledType = "", peeledId = "", date = ""]) => {
      const commit = type === "commit" ? id : peeledType === "commit" ? peeledId : undefined;
      const name = ref.replace(/^refs\/(?:heads|tags|remotes)\//, "");
      return commit === undefined ? [] : [{ name, kind: kindOf(ref), id: commit, date: utc(date) }];
    });
}

export interface Ref {
  readonly name: string;
  readonly kind: "branch" | "tag" | "remote branch";
  readonly id: string;
  readonly date: string;
}

/** Returns a repository path without a leading `./`. Throws an Error if it is not a valid path. */
export function checkPath(path: string): string {
  const tidy = path.replace(/^(?:\.\/)+/, "").replace(/(?<!\/)\/+$/, "");
  const isBad = /[\0\\\n]/.test(tidy) || tidy.startsWith("-") || tidy.startsWith("/") || tidy.split("/").includes("..");
  if (isBad || tidy === "")
    throw new Error(
      `${path} is not a valid path in the repository; write it relative to the root, like src/app/runs.ts`,
    );
  return tidy;
}

function kindOf(ref: string): Ref["kind"] {
  if (ref.startsWith("refs/tags/")) return "tag";
  return ref.startsWith("refs/heads/") ? "branch" : "remote branch";
}

function checkName(name: string): void {
  if (name.startsWith("-")) throw new Error(`${name} is not a commit, branch or tag: names do not start with -`);
  if (name.includes("..")) throw new Error(`${name} is a range; give its ends as \`from\` and \`to\``);
  // ^{/…} and :/… search all messages with a regular expression, and name:path is not a commit.
  if (!/^[^\s:?*[\\\p{Cc}]+$/u.test(name) || name.includes("{/")) {
    throw new Error(`${name} is not a commit, branch or tag; write a commit id, a name, or an expression like HEAD~3`);
  }
}

const KINDS = [
  { kind: "tag", title: "newest tags" },
  { kind: "branch", title: "newest branches" },
  { kind: "remote branch", title: "newest remote branches" },
] as const;

async function whatIsThere(git: Git): Promise<string> {
  const refs = await listRefs(git, 100);
  const parts = KINDS.map(({ kind, title }) => {
    const names = refs.filter((ref) => ref.kind === kind).map((ref) => ref.name);
    return names.length > 0 ? `The ${title} are: ${names.slice(0, 8).join(", ")}.` : "";
  });
  return parts.filter((part) => part !== "").join(" ") || "The repository has no branches or tags.";
}
