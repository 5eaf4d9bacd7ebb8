import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect } from "vitest";
import { setTimeBound } from "../../../src/core/base/schema/time-bound.ts";
import { matchesGlob } from "../../../src/core/skill/glob.ts";
import { type Copy, openCopy } from "../../../src/loaders/own/workspace/copy.ts";
import { matching, NO_RULES, segmentsOf, whyClosed } from "../../../src/loaders/own/workspace/paths.ts";
import { oneOf } from "../../harness/long.ts";

const it = oneOf(3);

/** The working copy with real git: its content, its change, and attacks of a hostile checkout. */

let place: string;
let checkout: string;

const git = (...args: string[]) =>
  execFileSync("git", ["-c", "user.name=A", "-c", "user.email=a@example.com", ...args], {
    cwd: checkout,
    encoding: "utf8",
    env: { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
  }).trim();

function write(path: string, content: string | Buffer): void {
  mkdirSync(dirname(join(checkout, path)), { recursive: true });
  writeFileSync(join(checkout, path), content);
}

function commit(files: Readonly<Record<string, string | Buffer>>): string {
  for (const [path, content] of Object.entries(files)) write(path, content);
  git("add", "-A");
  git("commit", "-q", "--no-verify", "-m", "files");
  return git("rev-parse", "HEAD");
}

function open(base: string): Copy {
  return openCopy({ checkout, base, folder: join(place, "copy"), env: { PATH: process.env.PATH } });
}

const text = (content: string) => Buffer.from(content);

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), "copy-"));
  checkout = join(place, "checkout");
  mkdirSync(checkout);
  git("init", "-q");
});

afterEach(() => rmSync(place, { recursive: true, force: true }));

describe("a working copy", () => {
  it("has the base's files, not those of the checkout, in a private folder without .git", () => {
    const base = commit({ "src/a.js": "one\n", "b.txt": "two\n" });
    write("b.txt", "not committed\n");
    const copy = open(base);
    expect(copy.paths()).toEqual(["b.txt", "src/a.js"]);
    expect(copy.read("b.txt").toString()).toBe("two\n");
    expect(lstatSync(copy.folder).mode & 0o777).toBe(0o700);
    expect(existsSync(join(copy.tree, ".git"))).toBe(false);
    copy.remove();
    expect(existsSync(copy.folder)).toBe(false);
  });

  it("returns its change as a diff that git applies, with digests and modes", async () => {
    const binary = Buffer.from([0, 1, 2, 255]);
    write("run.sh", "#!/bin/sh\n");
    chmodSync(join(checkout, "run.sh"), 0o755);
    const base = commit({ "src/a.js": "one\ntwo\n", "old.bin": binary, "same.txt": "same\n" });
    const copy = open(base);
    copy.put("src/a.js", text("one\nthree\n"));
    copy.put("new/deep.txt", text("new\n"));
    copy.put("old.bin", undefined);
    copy.put("run.sh", text("#!/bin/sh\nexit 0\n"));
    copy.put("same.txt", text("other\n"));
    copy.put("same.txt", text("same\n"));
    copy.put("gone.txt", text("x"));
    copy.put("gone.txt", undefined);
    const { diff, files } = await copy.change();
    const sha256 = (content: string | Buffer) => createHash("sha256").update(content).digest("hex");
    expect(files).toEqual([
      { path: "new/deep.txt", change: "added", mode: "100644", sha256: sha256("new\n") },
      { path: "old.bin", change: "deleted", mode: "100644", sha256: sha256(binary) },
      { path: "run.sh", change: "changed", mode: "100755", sha256: sha256("#!/bin/sh\nexit 0\n") },
      { path: "src/a.js", change: "changed", mode: "100644", sha256: sha256("one\nthree\n") },
    ]);
    writeFileSync(join(place, "change.patch"), diff);
    git("apply", "--index", join(place, "change.patch"));
    expect(readFileSync(join(checkout, "src/a.js"), "utf8")).toBe("one\nthree\n");
    expect(lstatSync(join(checkout, "run.sh")).mode & 0o100).toBe(0o100);
    expect(existsSync(join(checkout, "old.bin"))).toBe(false);
    expect((await open(base).change()).diff).toBe("");
  });

  it("runs no filter, hook or monitor of the checkout, and changes nothing in it", async () => {
    const base = commit({
      ".gitattributes": "*.txt filter=evil text eol=crlf diff=evil ident\n*.js -diff\n",
      "a.txt": "$Id$\nline\n",
      "a.js": "code\n",
    });
    const ran = join(place, "ran");
    for (const [key, value] of [
      ["filter.evil.clean", `touch ${ran}`],
      ["filter.evil.smudge", `touch ${ran}`],
      ["diff.evil.textconv", `touch ${ran}; cat`],
      ["diff.evil.command", `touch ${ran}`],
      ["diff.external", `touch ${ran}`],
      ["core.fsmonitor", `touch ${ran}`],
      ["core.pager", `touch ${ran}`],
      ["core.hooksPath", join(place, "hooks")],
    ] as const) {
      git("config", key, value);
    }
    mkdirSync(join(place, "hooks"));
    for (const hook of ["post-index-change", "post-checkout", "reference-transaction"]) {
      writeFileSync(join(place, "hooks", hook), `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o755 });
    }
    rmSync(ran, { force: true });
    const before = readdirSync(join(checkout, ".git"), { recursive: true }).sort();
    const copy = open(base);
    expect(copy.read("a.txt").toString()).toBe("$Id$\nline\n");
    copy.put("a.txt", text("$Id$\nother\n"));
    copy.put("a.js", text("more\n"));
    const { diff } = await copy.change();
    expect(diff).toContain("+other\n");
    expect(diff).toContain("+more\n");
    expect(existsSync(ran)).toBe(false);
    expect(readdirSync(join(checkout, ".git"), { recursive: true }).sort()).toEqual(before);
  });

  it("leaves out submodules, LFS files and unsafe names, and reports that", () => {
    const base = commit({
      "big.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
      "a.txt": "a\n",
    });
    git("update-index", "--add", "--cacheinfo", `160000,${base},sub`);
    git("commit", "-q", "--no-verify", "-m", "sub");
    const blob = git("rev-parse", "HEAD:a.txt");
    const tree = execFileSync("git", ["mktree"], {
      cwd: checkout,
      encoding: "utf8",
      input: `${git("ls-tree", "HEAD")}\n100644 blob ${blob}\tgit~1\n`,
    }).trim();
    const copy = open(git("commit-tree", tree, "-m", "odd"));
    expect(copy.paths()).toEqual(["a.txt"]);
    expect(copy.leftOut).toEqual(
      expect.arrayContaining([
        { path: "big.bin", why: "LFS file" },
        { path: "sub", why: "submodule" },
        { path: "git~1", why: "unsafe name" },
      ]),
    );
    expect(() => copy.read("big.bin")).toThrow("it is a LFS file");
  });

  it("follows no link and reads no pipe", () => {
    mkdirSync(join(checkout, "real"));
    writeFileSync(join(place, "secret"), "secret\n");
    symlinkSync(join(place, "secret"), join(checkout, "out"));
    symlinkSync("real", join(checkout, "folder"));
    const copy = open(commit({ "real/a.txt": "a\n" }));
    for (const path of ["out", "folder/a.txt"]) expect(() => copy.read(path)).toThrow(/is a link/);
    for (const path of ["out", "folder/b.txt"]) expect(() => copy.put(path, text("x"))).toThrow(/is a link/);
    execFileSync("mkfifo", [join(copy.tree, "pipe")]);
    expect(() => copy.read("pipe")).toThrow("there is no file");
    expect(() => copy.put("pipe", text("x"))).toThrow("there is no file");
    expect(() => copy.put("real/a.txt/b", text("x"))).toThrow("is a file, not a folder");
    expect(readFileSync(join(place, "secret"), "utf8")).toBe("secret\n");
  });

  it("makes no link below a link, which a crafted tree may have", () => {
    const object = (type: string, input: Buffer | string) =>
      execFileSync("git", ["hash-object", "-t", type, "-w", "--literally", "--stdin"], { cwd: checkout, input })
        .toString()
        .trim();
    const tree = (...entries: (readonly [string, string, string])[]) => {
      const parts = entries.map(([mode, name, id]) => [Buffer.from(`${mode} ${name}\0`), Buffer.from(id, "hex")]);
      return object("tree", Buffer.concat(parts.flat()));
    };
    const outside = join(place, "outside");
    mkdirSync(outside);
    const inner = tree(["120000", ".bashrc", object("blob", "evil")]);
    const folder = tree(["120000", "x", object("blob", "evil")], ["40000", "deep", inner]);
    const copy = open(
      git("commit-tree", tree(["120000", "a", object("blob", outside)], ["40000", "a", folder]), "-m", "a"),
    );
    expect(readdirSync(outside)).toEqual([]);
    expect(readdirSync(copy.tree)).toEqual(["a"]);
  });
});

describe("paths", () => {
  it.each([
    "/etc/passwd",
    "../a",
    "a/../../b",
    "a/..",
    ".git/config",
    "a/.git/hooks/x",
    ".GIT/x",
    ".git /x",
    ".git./x",
    ".g\u200cit/x",
    ".git\u200b",
    "GIT~1/config",
    "git~2",
    ".git::$INDEX_ALLOCATION/x",
    ".ｇit/x",
    "a\\b",
    "C:/x",
    "a\nb",
    "a\u001b[2J",
    "a/. ./b",
  ])("refuses %j", (path) => {
    expect(() => segmentsOf(path)).toThrow(/leads|absolute|character/);
  });

  it.each([
    ".github/workflows/ci.yml",
    "a/.GitHub/x",
    ".gitlab-ci.yml",
    ".skillflow.yml",
    ".skillflow/skills/a",
    "docs/CODEOWNERS",
    "x/agents.md",
    "CLAUDE.md",
    ".claude/settings.json",
    ".agents/skills/a/SKILL.md",
    "a/.gitattributes",
    ".gitmodules",
    ".mcp.json",
    ".cursorrules",
    ".husky/pre-commit",
    ".vscode/tasks.json",
    "skills/a/skill.mjs",
    ".git\u200bhub/x",
    "CLAUDE.local.md",
    ".windsurfrules",
    ".roo/rules/a.md",
    ".circleci/config.yml",
    "sub/.Buildkite/pipeline.yml",
    ".gitlab/ci/deploy.yml",
    ".travis.yml",
    ".drone.yaml",
    ".woodpecker/a.yml",
    "Jenkinsfile",
    "ci/Jenkinsfile.release",
    "Jenkinsfile-nightly",
    "Jenkinsfile_nightly",
    "azure-pipelines-release.yml",
    "bitbucket-pipelines.yml",
    ".devcontainer/devcontainer.json",
  ])("protects %j", (path) => {
    const segments = segmentsOf(path);
    expect(whyClosed(segments, NO_RULES)).toContain("is protected");
    expect(whyClosed(segments, { ...NO_RULES, unprotect: ["**"] })).toBeUndefined();
  });

  it.each([
    ["src/a.ts", {}, true],
    ["src/skills/a.ts", {}, true],
    ["docs/azure-pipelines.md", {}, true],
    ["src/travis.yml", {}, true],
    ["src/JenkinsfileParser.java", {}, true],
    ["src/a.ts", { paths: ["src/**"] }, true],
    ["lib/a.ts", { paths: ["src/**"] }, false],
    ["src/a.ts", { allow: ["test/**"] }, false],
    ["a/package.json", { deny: ["package.json"] }, false],
    ["A/PACKAGE.json.", { deny: ["package.json"] }, false],
    ["package.JSON", { deny: ["*.{json,sh}"] }, false],
    ["src/B.js", { deny: ["src/[A-C].js"] }, false],
    ["svc/skills/deploy/run.sh", {}, false],
    ["test/a.ts", { keep: ["test/a.ts"] }, false],
    ["Test/A.ts", { keep: ["test/a.ts"] }, false],
    ["test/a.ts", { allow: [] }, false],
  ] as const)("classifies %j with %j", (path, rules, isOpen) => {
    expect(whyClosed(segmentsOf(path), { ...NO_RULES, ...rules }) === undefined).toBe(isOpen);
  });

  it.each([
    ["*.ts", "a/b.ts", true],
    ["src/*.ts", "src/a/b.ts", false],
    ["**/*.test.*", "b.test.js", true],
    ["**/test_*.py", "a/b/test_x.py", true],
    ["test/**", "test", true],
    ["src/", "src/a/b", true],
    ["?.js", "ab.js", false],
    ["*.{json,sh}", "a/package.json", true],
    ["src/**/*.{js,ts}", "src/a/b.ts", true],
    ["{src,lib/{a,b}}/*.js", "lib/b/x.js", true],
    ["src/[a-c].js", "src/b.js", true],
    ["src/[a-c].js", "src/d.js", false],
    ["src/[!a-c].js", "src/d.js", true],
    ["**/*.[jt]s", "x.ts", true],
    ["**/*.[jt]s", "x.cs", false],
    ["app/[id]/page.tsx", "app/[id]/page.tsx", true],
    ["[-a]x", "-x", true],
    ["[a", "[a", true],
    [`${"**/".repeat(200)}x`, `${"a/".repeat(200)}y`, false],
    [`${"*".repeat(200)}x`, "a".repeat(200), false],
  ])("matches %j with %j: %j", (glob, path, expected) => {
    expect(matchesGlob(glob, path)).toBe(expected);
  });

  it("are matched with a model's globs within the time limit", () => {
    setTimeBound(() => undefined);
    expect(() => matching(["a"], ["a"])).toThrow("took over 1 s");
    setTimeBound((work) => work());
    expect(matching(["a", "b/c"], ["c"])).toEqual(["b/c"]);
  });
});
