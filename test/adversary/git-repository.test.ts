import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { toolContext } from "skillflow/testing";
import { afterAll, beforeAll, describe, expect } from "vitest";
import skill from "../../skills/git/skill.ts";
import { oneOf } from "../harness/long.ts";

const test = oneOf(4);

const SECRET = "the launch code is 7461";
const HOST_LINE = "host-file-first-line 9c1d";

let root = "";
/** A repository outside of the working directory, and the id of its only commit. */
let secret = "";
let secretId = "";
/** A working directory; each case puts a hostile repository below it. */
let work = "";
let hostFile = "";
let template = "";
let count = 0;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "git-adversary-"));
  work = join(root, "work");
  mkdirSync(work);
  secret = repository(join(root, "secret"), { "code.txt": `${SECRET}\n` });
  secretId = idOf(secret);
  template = repository(join(root, "template"), { "a.txt": "mine\n" });
  writeFileSync(join(template, "a.txt"), "mine\nmore\n");
  commit(template, "More");
  hostFile = join(root, "host.txt");
  writeFileSync(hostFile, `${HOST_LINE}\n`);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Ways in which a repository among the files can borrow objects of another one. Each gets its own `.git`. */
const BORROWINGS: readonly (readonly [string, (gitDir: string) => void])[] = [
  ["alternates", (dir) => alternates(join(dir, "objects"), join(secret, ".git/objects"))],
  [
    "alternates of alternates",
    (dir) => {
      const middle = join(dir, "../middle");
      mkdirSync(join(middle, "info"), { recursive: true });
      alternates(middle, join(secret, ".git/objects"));
      alternates(join(dir, "objects"), "../../middle");
    },
  ],
  [
    "a commented line before the alternates",
    (dir) => writeFileSync(join(dir, "objects/info/alternates"), `# none\n${join(secret, ".git/objects")}\n`),
  ],
  [
    "alternates in quotes",
    (dir) => writeFileSync(join(dir, "objects/info/alternates"), `"${join(secret, ".git/objects")}"\n`),
  ],
  [
    "a linked object folder",
    (dir) => eachIn(join(secret, ".git/objects"), /^..$/, (from, name) => link(from, join(dir, "objects", name))),
  ],
  [
    "linked objects",
    (dir) =>
      eachIn(join(secret, ".git/objects"), /^..$/, (folder, name) => {
        mkdirSync(join(dir, "objects", name), { recursive: true });
        eachIn(folder, /./, (from, file) => link(from, join(dir, "objects", name, file)));
      }),
  ],
  [
    "a linked pack",
    (dir) =>
      eachIn(join(packed(), ".git/objects/pack"), /./, (from, name) => link(from, join(dir, "objects/pack", name))),
  ],
  ["a linked folder of packs", (dir) => replace(join(dir, "objects/pack"), join(packed(), ".git/objects/pack"))],
  ["a linked folder of objects", (dir) => replace(join(dir, "objects"), join(secret, ".git/objects"))],
  ["a pack index that names a pack elsewhere", (dir) => indexElsewhere(dir)],
  ["commondir", (dir) => writeFileSync(join(dir, "commondir"), `${join(secret, ".git")}\n`)],
  [
    "commondir through a link",
    (dir) => {
      link(join(secret, ".git"), join(dir, "../elsewhere"));
      writeFileSync(join(dir, "commondir"), "../elsewhere\n");
    },
  ],
  ["a .git file", (dir) => becomesFile(dir, `gitdir: ${join(secret, ".git")}\n`)],
  [
    "a .git file to a folder with commondir",
    (dir) => {
      renameSync(dir, join(dir, "../aside"));
      writeFileSync(join(dir, "../aside/commondir"), `${join(secret, ".git")}\n`);
      writeFileSync(dir, "gitdir: aside\n");
    },
  ],
  ["a linked .git", (dir) => replace(dir, join(secret, ".git"))],
  [
    "linked refs and objects",
    (dir) => {
      replace(join(dir, "refs"), join(secret, ".git/refs"));
      replace(join(dir, "objects"), join(secret, ".git/objects"));
    },
  ],
  [
    "core.worktree and includes",
    (dir) => {
      git(dir, "config", "core.worktree", secret);
      git(dir, "config", "include.path", join(secret, ".git/config"));
    },
  ],
];

describe("objects of a repository outside of the working directory", () => {
  test.each(BORROWINGS)("are not readable through %s", async (_, borrow) => {
    const { name, gitDir } = hostile();
    borrow(gitDir);
    expect(await everything(name)).not.toContain(SECRET);
    const bare = join(work, `${name}.git`);
    if (existsSync(gitDir) && existsSync(join(gitDir, "HEAD"))) {
      cpSync(gitDir, bare, { recursive: true, verbatimSymlinks: true });
      expect(await outcome("show", { repository: `${name}.git`, commits: [secretId] })).not.toContain(SECRET);
    }
  });

  test("are readable through a repository that the operator named", async () => {
    const { name, gitDir } = hostile();
    alternates(join(gitDir, "objects"), join(secret, ".git/objects"));
    const config = { GIT_REPOSITORY: join(work, name) };
    expect(JSON.stringify(await call("show", { commits: [secretId] }, config))).toContain(SECRET);
  });

  test("are not readable when the model names the operator's repository itself", async () => {
    const { name, gitDir } = hostile();
    alternates(join(gitDir, "objects"), join(secret, ".git/objects"));
    const config = { GIT_REPOSITORY: join(work, name) };
    await expect(call("show", { commits: [secretId], repository: name }, config)).rejects.toThrow("set GIT_REPOSITORY");
  });
});

/** Files of a repository that git may follow to a file of the host. */
const READINGS: readonly (readonly [string, (gitDir: string) => void])[] = [
  ["blame.ignoreRevsFile", (dir) => git(dir, "config", "blame.ignoreRevsFile", hostFile)],
  ["two values of blame.ignoreRevsFile", (dir) => addTwice(dir, "blame.ignoreRevsFile", hostFile)],
  ["include.path", (dir) => git(dir, "config", "include.path", hostFile)],
  ["includeIf", (dir) => git(dir, "config", "includeIf.gitdir:/.path", hostFile)],
  ["mailmap.file", (dir) => git(dir, "config", "mailmap.file", hostFile)],
  ["diff.orderFile", (dir) => git(dir, "config", "diff.orderFile", hostFile)],
  ["core.attributesFile", (dir) => git(dir, "config", "core.attributesFile", hostFile)],
  ["core.excludesFile", (dir) => git(dir, "config", "core.excludesFile", hostFile)],
  ["a linked config", (dir) => replace(join(dir, "config"), hostFile)],
  ["a linked HEAD", (dir) => replace(join(dir, "HEAD"), hostFile)],
  ["a linked shallow file", (dir) => link(hostFile, join(dir, "shallow"))],
  ["linked packed refs", (dir) => link(hostFile, join(dir, "packed-refs"))],
  ["a linked branch", (dir) => replace(join(dir, "refs/heads/main"), hostFile)],
  ["linked grafts", (dir) => link(hostFile, join(dir, "info/grafts"))],
  ["linked attributes", (dir) => link(hostFile, join(dir, "info/attributes"))],
  ["linked alternates", (dir) => link(hostFile, join(dir, "objects/info/alternates"))],
  ["a HEAD that refers upwards", (dir) => writeFileSync(join(dir, "HEAD"), `ref: refs/../../../../host.txt\n`)],
  ["a branch that refers to a file", (dir) => writeFileSync(join(dir, "refs/heads/main"), `ref: ${hostFile}\n`)],
  [
    "a worktree's config",
    (dir) => {
      git(dir, "config", "extensions.worktreeConfig", "true");
      writeFileSync(join(dir, "config.worktree"), `[blame]\n\tignoreRevsFile = ${hostFile}\n`);
    },
  ],
  [
    "a malformed config",
    (dir) => {
      rmSync(join(dir, "config"));
      writeFileSync(join(dir, "config"), `${HOST_LINE}\n`);
    },
  ],
];

test.each(READINGS)("%s shows no line of a file of the host", async (_, prepare) => {
  const { name, gitDir } = hostile();
  prepare(gitDir);
  expect(await everything(name)).not.toContain("9c1d");
});

describe("a repository's configuration runs nothing", () => {
  const KEYS = [
    "core.fsmonitor",
    "core.hooksPath",
    "core.sshCommand",
    "core.pager",
    "diff.external",
    "diff.x.textconv",
  ];
  const MORE = ["diff.x.command", "gpg.program", "gpg.ssh.program", "core.alternateRefsCommand", "credential.helper"];
  const REMOTE = ["remote.origin.uploadpack", "uploadpack.packObjectsHook", "trailer.x.command", "filter.x.process"];

  test("with any key that names a program, also in an included file", async () => {
    const { name, gitDir } = hostile();
    const marker = join(root, `${name}.ran`);
    const script = join(root, `${name}.sh`);
    writeFileSync(script, `#!/bin/sh\ntouch ${marker}\n`, { mode: 0o755 });
    const included = join(gitDir, "more");
    for (const key of [...KEYS, ...MORE, ...REMOTE]) git(gitDir, "config", "-f", included, key, script);
    git(gitDir, "config", "include.path", "more");
    git(gitDir, "config", "log.showSignature", "true");
    git(gitDir, "config", "remote.origin.url", `ext::${script}`);
    git(gitDir, "config", "remote.origin.promisor", "true");
    git(gitDir, "config", "extensions.partialClone", "origin");
    git(gitDir, "config", "core.repositoryformatversion", "1");
    git(gitDir, "config", "protocol.ext.allow", "always");
    appendFileSync(join(gitDir, "info/attributes"), "* diff=x filter=x\n");
    // An object that is not here would be fetched from the remote.
    const blob = execFileSync("git", ["rev-parse", "HEAD:a.txt"], { cwd: dirname(gitDir), encoding: "utf8" }).trim();
    rmSync(join(gitDir, "objects", blob.slice(0, 2), blob.slice(2)));
    await everything(name);
    expect(existsSync(marker)).toBe(false);
  });

  test("a replaced object keeps its original content", async () => {
    const { name, gitDir } = hostile();
    writeFileSync(join(dirname(gitDir), "a.txt"), "forged\n");
    const forged = commit(dirname(gitDir), "Forged");
    git(gitDir, "update-ref", `refs/replace/${idOf(dirname(gitDir), "HEAD~1")}`, forged);
    expect(JSON.stringify(await call("show", { repository: name, commits: ["HEAD~1"] }))).toContain("mine");
  });

  test("a failure of git is reported without git's own message", async () => {
    const { name, gitDir } = hostile();
    const tree = execFileSync("git", ["rev-parse", "HEAD^{tree}"], { cwd: dirname(gitDir), encoding: "utf8" }).trim();
    rmSync(join(gitDir, "objects", tree.slice(0, 2), tree.slice(2)));
    await expect(call("show", { repository: name, commits: ["HEAD"] })).rejects.toThrow(
      "git failed: an object of the repository is missing or damaged",
    );
  });
});

test("repositories with SHA-256 are read too", async () => {
  const folder = join(work, `sha256-${count++}`);
  execFileSync("git", ["init", "-q", "-b", "main", "--object-format=sha256", folder]);
  writeFileSync(join(folder, "a.txt"), "mine\n");
  commit(folder, "Mine");
  const repo = relative(work, folder);
  expect(await call("read_file", { repository: repo, path: "a.txt" })).toMatchObject({ text: "1: mine" });
});

test("a working tree next to its repository in the working directory is read", async () => {
  const { name } = hostile();
  execFileSync("git", ["worktree", "add", "-q", "-b", "side", join(work, `${name}-side`)], { cwd: join(work, name) });
  expect(await call("refs", { repository: `${name}-side` })).toMatchObject({ head: "side" });
});

/** All answers of the tools, errors included, about the secret repository's commit and the repository's own commits. */
async function everything(name: string): Promise<string> {
  const questions: readonly (readonly [string, object])[] = [
    ["show", { commits: [secretId] }],
    ["read_file", { path: "code.txt", ref: secretId }],
    ["log", { to: secretId }],
    ["log", { changes_text: "more" }],
    ["diff", { from: "HEAD~1" }],
    ["blame", { path: "a.txt" }],
    ["refs", {}],
  ];
  const told = await Promise.all(questions.map(([tool, input]) => outcome(tool, { repository: name, ...input })));
  return told.join("\n");
}

async function outcome(tool: string, input: object): Promise<string> {
  return call(tool, input).then(JSON.stringify, String);
}

async function call(tool: string, input: object, config: Record<string, string> = {}): Promise<unknown> {
  const found = skill.tools.find((each) => each.name === tool);
  if (!found) throw new Error(`no tool ${tool}`);
  return found.handler(input as never, toolContext({ workDir: work, config }));
}

/** A repository of two commits below the working directory. */
function hostile(): { readonly name: string; readonly gitDir: string } {
  const name = `hostile-${count++}`;
  cpSync(template, join(work, name), { recursive: true });
  return { name, gitDir: join(work, name, ".git") };
}

function repository(folder: string, files: Readonly<Record<string, string>>): string {
  execFileSync("git", ["init", "-q", "-b", "main", folder]);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  commit(folder, "First");
  return folder;
}

function commit(folder: string, message: string): string {
  git(join(folder, ".git"), "--work-tree", folder, "add", "-A");
  git(join(folder, ".git"), "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "-m", message);
  return idOf(folder);
}

function idOf(folder: string, ref = "HEAD"): string {
  return execFileSync("git", ["rev-parse", ref], { cwd: folder, encoding: "utf8" }).trim();
}

function git(gitDir: string, ...args: readonly string[]): void {
  execFileSync("git", ["--git-dir", gitDir, ...args]);
}

function alternates(objects: string, to: string): void {
  writeFileSync(join(objects, "info/alternates"), `${to}\n`);
}

function addTwice(gitDir: string, key: string, value: string): void {
  git(gitDir, "config", "--add", key, "");
  git(gitDir, "config", "--add", key, value);
}

function eachIn(folder: string, pattern: RegExp, use: (path: string, name: string) => void): void {
  for (const name of readdirSync(folder)) if (pattern.test(name)) use(join(folder, name), name);
}

function link(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  symlinkSync(from, to);
}

function replace(path: string, by: string): void {
  link(by, path);
}

function becomesFile(path: string, text: string): void {
  rmSync(path, { recursive: true, force: true });
  writeFileSync(path, text);
}

/** The secret repository with its objects in a pack. */
function packed(): string {
  const folder = join(root, "packed");
  if (!existsSync(folder)) {
    cpSync(secret, folder, { recursive: true });
    execFileSync("git", ["repack", "-adq"], { cwd: folder });
  }
  return folder;
}

/** A multi-pack-index whose one pack is in another repository. Made by git, then with the name rewritten. */
function indexElsewhere(gitDir: string): void {
  const away = join(gitDir, "objects/pack");
  const target = join(packed(), ".git/objects/pack");
  const name = readdirSync(target).find((each) => each.endsWith(".idx")) ?? "";
  const traversal = relative(away, join(target, name));
  // The name's length is free when the index is made over a pack of a name as long.
  const standIn = join(root, `stand-in-${count++}`);
  execFileSync("git", ["init", "-q", "--bare", standIn]);
  const long = `pack-${"x".repeat(traversal.length - "pack-.idx".length)}`;
  for (const end of [".idx", ".pack"]) {
    cpSync(join(target, name.replace(/\.idx$/, end)), join(standIn, "objects/pack", `${long}${end}`));
  }
  git(standIn, "multi-pack-index", "write");
  const index = readFileSync(join(standIn, "objects/pack/multi-pack-index"));
  index.write(traversal, index.indexOf(`${long}.idx`), "latin1");
  writeFileSync(join(away, "multi-pack-index"), index);
}
