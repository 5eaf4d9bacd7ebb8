// Builds the repository of the service from the patches in history/, with the same commit ids every time.
import { execFile } from "node:child_process";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { devNull } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const PATCHES = join(import.meta.dirname, "history");
const run = promisify(execFile);

export async function buildHistory(repository) {
  await mkdir(repository);
  await git(repository, ["init", "--quiet", "--initial-branch=main"]);
  const patches = (await readdir(PATCHES)).filter((name) => name.endsWith(".patch")).sort();
  for (const patch of patches) await commit(repository, join(PATCHES, patch));
}

/** The release as its own checkout, as a deploy would put it on a host. */
export async function checkOut(repository, tag, folder) {
  await git(repository, ["worktree", "add", "--quiet", "--detach", folder, tag]);
  return { tag, folder, commit: (await git(repository, ["rev-parse", `${tag}^{commit}`])).trim() };
}

export async function bundle(repository, file) {
  await git(repository, ["bundle", "create", "--quiet", file, "HEAD", "main", "--tags"]);
}

async function commit(repository, patch) {
  const { name, email, date, subject } = await readHead(patch);
  const committer = { GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email, GIT_COMMITTER_DATE: date };
  await git(repository, ["am", "--quiet", "--committer-date-is-author-date", patch], committer);
  const release = /^Release (\S+)$/.exec(subject)?.[1];
  if (!release) return;
  await git(repository, ["tag", "--annotate", "--message", `checkout ${release}`, `v${release}`], committer);
}

async function readHead(patch) {
  const text = await readFile(patch, "utf8");
  const [, name, email] = /^From: (.+) <(.+)>$/m.exec(text);
  return { name, email, date: /^Date: (.+)$/m.exec(text)[1], subject: /^Subject: \[PATCH\] (.+)$/m.exec(text)[1] };
}

async function git(repository, args, identity = {}) {
  const settings = { GIT_CONFIG_GLOBAL: devNull, GIT_CONFIG_NOSYSTEM: "1" };
  const env = { PATH: process.env.PATH, ...settings, ...identity };
  return (await run("git", args, { cwd: repository, env })).stdout;
}
