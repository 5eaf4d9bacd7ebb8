// Builds a repository from the patches of an incident's history/, with the same commit ids every time.
import { execFile } from "node:child_process";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { devNull } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A commit "Release 1.2.3" is tagged v1.2.3, which the tag's message calls "NAME 1.2.3". */
export async function buildHistory(repository, { patches, name }) {
  await mkdir(repository);
  await git(repository, ["init", "--quiet", "--initial-branch=main"]);
  const files = (await readdir(patches)).filter((file) => file.endsWith(".patch")).sort();
  for (const file of files) await commit(repository, join(patches, file), name);
}

/** The release as its own checkout, as a deploy would put it on a host. */
export async function checkOut(repository, revision, folder) {
  await git(repository, ["worktree", "add", "--quiet", "--detach", folder, revision]);
  return { folder, commit: (await git(repository, ["rev-parse", `${revision}^{commit}`])).trim() };
}

export async function bundle(repository, file) {
  await git(repository, ["bundle", "create", "--quiet", file, "HEAD", "main", "--tags"]);
}

async function commit(repository, patch, tagged) {
  const { name, email, date, subject } = await readHead(patch);
  const committer = { GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email, GIT_COMMITTER_DATE: date };
  await git(repository, ["am", "--quiet", "--committer-date-is-author-date", patch], committer);
  const release = /^Release (\S+)$/.exec(subject)?.[1];
  if (!release) return;
  await git(repository, ["tag", "--annotate", "--message", `${tagged} ${release}`, `v${release}`], committer);
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
