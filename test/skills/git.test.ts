import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import type { JsonObject } from "skillflow";
import { toolContext } from "skillflow/testing";
import { afterAll, beforeAll, describe, expect, vi } from "vitest";
import skill from "../../skills/git/skill.ts";
import { codeFirst } from "../../skills/git/survey.ts";
import { callTool } from "../contracts/skill.ts";
import { LONG, oneOf, runsOf, turnOf } from "../harness/long.ts";

const test = oneOf(4);

let root = "";
let repo = "";
const ids: Record<string, string> = {};

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "git-test-"));
  // The skill removes unpacked bundles when its process ends.
  vi.stubEnv("TMPDIR", root);
  repo = join(root, "work");
  createHistory(repo);
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(root, { recursive: true, force: true });
});

/** The parts of all tools' results that are checked. */
type Result = {
  readonly id: string;
  readonly head: string;
  readonly returned: number;
  readonly truncated: boolean;
  readonly more?: string;
  readonly diff: string;
  readonly text: string;
  readonly lines: readonly string[];
  readonly files: readonly object[];
  readonly refs: readonly { readonly name: string; readonly id: string; readonly date: string }[];
  readonly commits: readonly {
    readonly id: string;
    readonly date: string;
    readonly diff: string;
    readonly more?: string;
    readonly subject: string;
    readonly author: string;
    readonly body?: string;
    readonly files?: readonly object[];
  }[];
};

async function call(tool: string, input: object, parts: Parameters<typeof toolContext>[0] = {}): Promise<Result> {
  return (await callTool(skill, tool, input as JsonObject, toolContext({ workDir: repo, ...parts }))) as Result;
}

describe("reading history", () => {
  test("log lists commits, newest first, and how to continue", async () => {
    const result = await call("log", { limit: 2 });
    expect(result.commits.map((each) => each.subject)).toEqual(["Merge side", "Work aside"]);
    expect(result).toMatchObject({ returned: 2, truncated: true, more: expect.stringContaining("skip: 2") });
    const rest = await call("log", { limit: 50, skip: 2 });
    expect(rest).toMatchObject({ returned: 4, truncated: false });
  });

  test("survey shows the commits and tags before an instant, and the diff of the last release", async () => {
    const result = await call("survey", { around: "2024-01-03T23:59:59Z" });
    expect(result.commits[0]).toMatchObject({
      subject: "Raise the limit",
      added: 1,
      deleted: 1,
      files: ["src/pay.ts"],
    });
    expect(result).toMatchObject({
      tags: [{ name: "v1.1" }, { name: "v1.0" }],
      release: {
        from: "v1.0",
        to: "v1.1",
        files: [{ path: "src/pay.ts", added: 1, deleted: 1 }],
        diff: expect.stringContaining("-const LIMIT = 5;\n+const LIMIT = 50;"),
        truncated: false,
      },
    });
    const readme = await call("survey", { around: "2024-01-03T23:59:59Z", paths: ["README.md"] });
    expect(readme.commits.map(({ subject }) => subject)).toEqual(["Add a readme"]);
    expect(readme).toMatchObject({ release: { files: [], diff: "" } });
    expect(await call("survey", { around: "2020-01-01" })).toMatchObject({ commits: [], tags: [] });
    expect(result).toMatchObject({ readme: "Payments" });
  });

  test("survey compares the oldest with the newest version that deploys name", async () => {
    const { commits } = await call("log", { grep: "Keep on" });
    const id = commits[0]?.id ?? "";
    const events = [
      { time: "2024-01-06", text: `{"commit":"${id}","previous_version":null}` },
      "pay 1.0 deployed",
      "1234567",
    ];
    const around = "2024-01-07T00:00:00Z";
    const result = await call("survey", { around, deployed: events });
    expect(result).toMatchObject({ release: { from: "v1.0", to: id, files_changed: 2, date: "2024-01-04T12:00:00Z" } });
    expect(result.commits.filter((each) => "deployed" in each).map(({ subject }) => subject)).toEqual([
      "Keep on",
      "Add payments",
    ]);
    // One version is compared with the release before it, and a later one does not count.
    expect(await call("survey", { around, deployed: [id] })).toMatchObject({ release: { from: "v1.1", to: id } });
    expect(await call("survey", { around: "2024-01-03T23:59:59Z", deployed: [id] })).toMatchObject({
      release: { from: "v1.0", to: "v1.1" },
    });
    const readme = await call("survey", { around, deployed: ["v1.0", "v1.1"], paths: ["README.md"] });
    expect(readme.commits.map(({ subject }) => subject)).toEqual(["Add a readme", "Raise the limit", "Add payments"]);
  });

  test("a release's diff starts with code, and ends with tests, third-party code, manifests and documents", () => {
    const names = [
      "CHANGELOG.md",
      "docs/a.js",
      "package.json",
      "src/a.js",
      "src/b.ts",
      "test/a.test.js",
      "vendor/x/y.js",
    ];
    const file = (name: string) => `diff --git a/${name} b/${name}\n@@ -1 +1 @@\n-old\n+diff --git a/x.md b/x.md\n`;
    const order = (text: string) => [...text.matchAll(/^diff --git a\/(\S+)/gm)].map(([, name]) => name);
    const { text, isCut } = codeFirst(names.map(file).join(""));
    expect(isCut).toBe(false);
    expect(order(text)).toEqual([
      ...["src/a.js", "src/b.ts", "test/a.test.js"],
      ...["package.json", "vendor/x/y.js", "CHANGELOG.md", "docs/a.js"],
    ]);
    const long = codeFirst(names.map((name) => file(name).repeat(20)).join(""));
    expect(long.isCut).toBe(true);
    expect(long.text.length).toBeLessThanOrEqual(7600);
    expect(order(long.text)[0]).toBe("src/a.js");
    expect(codeFirst("")).toEqual({ text: "", isCut: false });
  });

  test.each([
    [{ path: "src/pay.ts" }, ["Raise the limit", "Add payments"]],
    [{ author: "EVE" }, ["Raise the limit"]],
    [{ grep: "readme" }, ["Add a readme"]],
    [{ from: "v1.0", to: "v1.1" }, ["Raise the limit"]],
    [{ since: "2024-01-03", until: "2024-01-03T23:59:59Z" }, ["Raise the limit"]],
    [{ changes_text: "LIMIT = 50" }, ["Raise the limit"]],
    [{ grep: "(unbalanced[" }, []],
    [{ path: ":(glob)**" }, []],
  ])("log narrows by %j", async (input, subjects) => {
    const result = await call("log", input);
    expect(result.commits.map((each) => each.subject)).toEqual(subjects);
  });

  test("log lists the files of each commit on demand, of the first one and of a merge too", async () => {
    const { commits } = await call("log", { files: true });
    expect(commits[0]?.files).toEqual([{ path: "side.txt", added: 1, deleted: 0 }]);
    expect(commits.at(-1)?.files).toEqual([{ path: "README.md", added: 1, deleted: 0 }]);
  });

  test("show returns message, files and diff", async () => {
    const [result] = (await call("show", { commits: ["v1.1"] })).commits;
    expect(result).toMatchObject({
      id: ids["v1.1"],
      author: "Eve <eve@example.org>",
      message: "Raise the limit\n\nCustomers asked for it.",
      files: [{ path: "src/pay.ts", added: 1, deleted: 1 }],
      truncated: false,
    });
    expect(result?.diff).toContain("-const LIMIT = 5;\n+const LIMIT = 50;");
  });

  test("show returns several commits, each once, and only for one commit how to continue", async () => {
    const { commits } = await call("show", { commits: ["v1.1", "v1.0", "v1.0^{commit}"] });
    expect(commits.map(({ id }) => id)).toEqual([ids["v1.1"], ids["v1.0"]]);
    expect(commits.map(({ diff }) => diff)).toEqual([
      expect.stringContaining("+const LIMIT = 50;"),
      expect.stringContaining("+const LIMIT = 5;"),
    ]);
    await expect(call("show", { commits: ["v1.1", "v1.0"], from_line: 2 })).rejects.toThrow("with one commit only");
  });

  test("log shows the diff of each commit on demand, of one path if one is given", async () => {
    const { commits } = await call("log", { from: "v1.0", to: "v1.1", patch: true });
    expect(commits.map(({ diff }) => diff)).toEqual([expect.stringContaining("-const LIMIT = 5;\n+const LIMIT = 50;")]);
    const { commits: narrow } = await call("log", { path: "README.md", patch: true });
    expect(narrow.map(({ diff }) => diff)).toEqual([expect.stringContaining("+Payments")]);
    expect(narrow[0]?.diff).not.toContain("pay.ts");
  });

  test("all times are UTC, and blame and log agree about a commit", async () => {
    const zones = newRepository("zones");
    commit(zones, "One", { "a.txt": "a\n" }, "2024-03-01T01:30:00+05:30");
    run(zones, "tag", "-a", "-m", "First", "v1");
    const [logged] = (await call("log", {}, { workDir: zones })).commits;
    const [blamed] = (await call("blame", { path: "a.txt" }, { workDir: zones })).commits;
    expect(logged?.date).toBe("2024-02-29T20:00:00Z");
    expect(blamed?.date).toBe(logged?.date);
    for (const { date } of (await call("refs", {}, { workDir: zones })).refs) expect(date).toMatch(/T\d\d:\d\d:\d\dZ$/);
  });

  test("refs lists the commit of an annotated tag, and leaves out tags of other objects", async () => {
    const tags = newRepository("annotated");
    commit(tags, "One", { "a.txt": "a\n" });
    run(tags, "tag", "-a", "-m", "First", "v1");
    run(tags, "tag", "a-tree", "HEAD^{tree}");
    const { refs } = await call("refs", {}, { workDir: tags });
    const head = execFileSync("git", ["rev-parse", "--short=12", "HEAD"], { cwd: tags, encoding: "utf8" }).trim();
    expect(refs.map(({ name, id }) => [name, id])).toEqual([
      ["v1", head],
      ["main", head],
    ]);
  });

  test("diff compares two releases, also for one path", async () => {
    expect((await call("diff", { from: "v1.0", to: "v1.1", context_lines: 0 })).diff).toContain("+const LIMIT = 50;");
    expect((await call("diff", { from: "v1.0", to: "v1.1", path: "README.md" })).diff).toBe("");
  });

  test("changed_files counts lines, knows renames and lists the commits between", async () => {
    const result = await call("changed_files", { from: "v1.1", to: "renamed" });
    expect(result.files).toEqual([{ path: "src/payments.ts", added: 0, deleted: 0, was: "src/pay.ts" }]);
    expect(result.commits).toEqual([expect.stringMatching(/^[0-9a-f]{12} .* Ann <ann@example.org>: Rename payments$/)]);
  });

  test("blame names the commit of each line", async () => {
    const result = await call("blame", { path: "src/pay.ts", ref: "v1.1", start_line: 1, end_line: 2 });
    expect(result.lines).toEqual([
      `1 ${ids["v1.1"]?.slice(0, 12)} const LIMIT = 50;`,
      `2 ${ids["v1.0"]?.slice(0, 12)} export const pay = () => LIMIT;`,
    ]);
    expect(result.commits.map((each) => each.author).sort()).toEqual(["Ann", "Eve"]);
  });

  test("read_file returns numbered lines of a file at a commit", async () => {
    const result = await call("read_file", { path: "src/pay.ts", ref: "v1.0", start_line: 2 });
    expect(result).toMatchObject({ text: "2: export const pay = () => LIMIT;", truncated: false });
  });

  test("refs lists branches and tags", async () => {
    const result = await call("refs", {});
    expect(result.head).toBe("main");
    expect(result.refs.map((each) => each.name).sort()).toEqual(["main", "renamed", "side", "v1.0", "v1.1"]);
  });

  describe("in a backtest", () => {
    const past = (tool: string, input: object) => call(tool, input, { now: () => Date.parse("2024-01-03T12:00:00Z") });
    const idOf = (name: string) => execFileSync("git", ["rev-parse", name], { cwd: repo, encoding: "utf8" }).trim();

    test("HEAD is the last commit before the clock, and later refs are not listed or counted", async () => {
      const at = ids["v1.1"];
      const { commits, ...counts } = await past("log", { limit: 2 });
      expect(commits.map(({ subject }) => subject)).toEqual(["Raise the limit", "Add payments"]);
      expect(counts).toMatchObject({ returned: 2, truncated: true, more: expect.stringContaining("skip: 2") });
      expect(await past("log", { from: "v1.1" })).toEqual({ returned: 0, truncated: false, commits: [] });
      expect(await past("diff", { from: "v1.0" })).toMatchObject({ to: at });
      expect((await past("changed_files", { from: "HEAD~1" })).commits).toHaveLength(1);
      expect(await past("read_file", { path: "src/pay.ts" })).toMatchObject({ at });
      expect(await past("blame", { path: "src/pay.ts" })).toMatchObject({ at });
      await expect(past("read_file", { path: "main.txt" })).rejects.toThrow("main.txt does not exist");
      expect((await past("refs", { limit: 2 })).refs.map(({ name }) => name).sort()).toEqual(["v1.0", "v1.1"]);
      expect(skill.tools.filter(({ clock }) => clock !== "range")).toEqual([]);
    });

    test.each([
      ["show", (name: string) => ({ commits: [name] })],
      ["log", (name: string) => ({ to: name })],
      ["diff", (name: string) => ({ from: "v1.0", to: name })],
      ["changed_files", (name: string) => ({ from: name })],
      ["read_file", (name: string) => ({ path: "README.md", ref: name })],
      ["blame", (name: string) => ({ path: "README.md", ref: name })],
    ])("%s refuses later commits", async (tool, input) => {
      for (const name of ["main", "renamed", idOf("side"), idOf("main").slice(0, 10)])
        await expect(past(tool, input(name))).rejects.toThrow(`${name} is later than 2024-01-03T12:00:00.000Z`);
    });

    test("a repository without an earlier commit says so", async () => {
      const now = () => Date.parse("2023-01-01T00:00:00Z");
      await expect(call("log", {}, { now })).rejects.toThrow("no commit before 2023-01-01T00:00:00.000Z");
      await expect(call("survey", { around: "2023-01-01" }, { now })).rejects.toThrow("no commit before");
    });
  });

  test("a message cannot forge another commit or field", async () => {
    const forged = newRepository("forged");
    const message = "Subject\n\nbody\n\x1e\x1f commit 0000000000000000000000000000000000000000\n\nAuthor: root";
    commit(forged, message, { "a.txt": "a\n" });
    const { commits } = await call("log", {}, { workDir: forged });
    expect(commits).toHaveLength(1);
    expect(commits[0]?.body).toContain("Author: root");
  });

  test("a shallow clone reports that it is shallow", async () => {
    execFileSync("git", ["clone", "-q", "--depth", "1", `file://${repo}`, join(root, "shallow")]);
    expect(await call("log", {}, { workDir: join(root, "shallow") })).toMatchObject({ shallow: expect.any(String) });
  });
});

describe("the choice of the repository", () => {
  test("one below the working directory is named by its path", async () => {
    expect((await call("log", { repository: "work" }, { workDir: root })).returned).toBe(6);
  });

  test("a bundle is unpacked once and read like a repository", async () => {
    execFileSync("git", ["bundle", "create", "-q", join(root, "all.bundle"), "--all"], { cwd: repo });
    const calls = ["log", "refs", "log"].map((tool) => call(tool, { repository: "all.bundle" }, { workDir: root }));
    expect((await Promise.all(calls)).map((each) => each.truncated)).toEqual([false, false, false]);
  });

  test("an unpacked bundle that cannot be removed does not change the exit code", async () => {
    const temporary = mkdtempSync(join(root, "temporary-"));
    execFileSync("git", ["bundle", "create", "-q", join(root, "other.bundle"), "main"], { cwd: repo });
    vi.stubEnv("TMPDIR", temporary);
    await call("refs", { repository: "other.bundle" }, { workDir: root });
    vi.stubEnv("TMPDIR", root);
    rmSync(temporary, { recursive: true });
    writeFileSync(temporary, "not a folder");
    const removals = process.listeners("exit").filter(({ name }) => name === "removeFolders");
    expect(removals).toHaveLength(1);
    expect(() => removals[0]?.call(process, 0)).not.toThrow();
  });

  test("a bundle is read itself, and not the repository x.git beside it", async () => {
    const desk = mkdtempSync(join(tmpdir(), "desk-"));
    writeFileSync(join(desk, "x"), "# v2 git bundle\n\n");
    symlinkSync(join(repo, ".git"), join(desk, "x.git"));
    await expect(call("log", { repository: "x" }, { workDir: desk })).rejects.toThrow();
    rmSync(desk, { recursive: true });
  });

  test("GIT_REPOSITORY may be outside of the working directory", async () => {
    const config = { GIT_REPOSITORY: repo };
    expect((await call("refs", {}, { workDir: join(repo, "src"), config })).head).toBe("main");
  });

  test.each([
    ["../work", "`..`"],
    ["/etc", "outside"],
    ["out", "leads out"],
    ["nothing", "does not exist"],
    ["src", "not a git repository"],
    ["README.md", "not a git bundle"],
    ["a\0b", "NUL"],
  ])("%j is refused", async (repository, reason) => {
    if (!existsSync(join(repo, "out"))) symlinkSync(tmpdir(), join(repo, "out"));
    await expect(call("log", { repository })).rejects.toThrow(reason);
  });

  test("a folder below a repository does not lead to the one around it", async () => {
    await expect(call("log", {}, { workDir: join(repo, "src") })).rejects.toThrow("not a git repository");
  });

  test("a .git file that leads to a repository outside is refused", async () => {
    mkdirSync(join(root, "linked"));
    writeFileSync(join(root, "linked", ".git"), `gitdir: ${join(repo, ".git")}\n`);
    await expect(call("log", {}, { workDir: join(root, "linked") })).rejects.toThrow("set GIT_REPOSITORY");
  });

  test("a repository that borrows the objects of one outside is refused", async () => {
    const borrower = newRepository("borrower");
    commit(borrower, "Mine", { "a.txt": "a\n" });
    writeFileSync(join(borrower, ".git/objects/info/alternates"), `${join(repo, ".git/objects")}\n`);
    await expect(call("log", { to: ids["v1.1"] }, { workDir: borrower })).rejects.toThrow("set GIT_REPOSITORY");
  });
});

/** Several times the maximum that is shown at once. */
const LINES = LONG ? 5000 : 1500;

describe("bounds", () => {
  let big = "";
  beforeAll(() => {
    big = newRepository("big");
    const lines = Array.from({ length: LINES }, (_, index) => `line ${index} ${"x".repeat(40)}`);
    commit(big, "Many lines", {
      "big.txt": `${lines.join("\n")}\n`,
      "long.txt": "y".repeat(200_000),
      "b.bin": "\0\x01",
    });
    for (let index = 0; index < 3; index++)
      commit(big, `${index} ${"long subject ".repeat(2000)}`, { "c.txt": `${index}\n` });
  });

  test.each([
    ["show", { commits: ["HEAD~3"] }],
    ["show", { commits: ["HEAD", "HEAD~1", "HEAD~2", "HEAD~3"] }],
    ["log", {}],
    ["log", { patch: true, files: true }],
    ["read_file", { path: "big.txt" }],
    ["read_file", { path: "long.txt" }],
    ["blame", { path: "big.txt", end_line: LINES }],
  ])("%s of something large stays small: %j", async (tool, input) => {
    const result = await call(tool, input, { workDir: big });
    expect(JSON.stringify(result).length).toBeLessThan(24_000);
  });

  test("a long diff is continued line by line without a gap", async () => {
    const pieces: string[] = [];
    for (let next: number | undefined = 1; next !== undefined; ) {
      const input: object = { commits: ["HEAD~3"], path: "big.txt", from_line: next };
      const [result] = (await call("show", input, { workDir: big })).commits;
      pieces.push(result?.diff ?? "");
      const more: string | undefined = /from_line: (\d+)/.exec(result?.more ?? "")?.[1];
      next = more === undefined ? undefined : Number(more);
    }
    const added = pieces
      .join("\n")
      .split("\n")
      .filter((line) => line.startsWith("+line"));
    expect(added).toHaveLength(LINES);
    expect(new Set(added).size).toBe(LINES);
  });

  test("a long file is continued line by line without a gap", async () => {
    const numbers: number[] = [];
    for (let next: number | undefined = 1; next !== undefined; ) {
      const result = await call("read_file", { path: "big.txt", start_line: next }, { workDir: big });
      numbers.push(...result.text.split("\n").map((line) => Number.parseInt(line, 10)));
      const more: string | undefined = /start_line: (\d+)/.exec(result.more ?? "")?.[1];
      next = more === undefined ? undefined : Number(more);
    }
    expect(numbers).toEqual(Array.from({ length: LINES }, (_, index) => index + 1));
  });

  test("a binary file is refused with its size", async () => {
    await expect(call("read_file", { path: "b.bin" }, { workDir: big })).rejects.toThrow("binary file of 2 bytes");
  });

  test("an aborted call ends as aborted", async () => {
    const controller = new AbortController();
    const pending = call("blame", { path: "big.txt", end_line: LINES }, { workDir: big, signal: controller.signal });
    controller.abort();
    await expect(pending).rejects.toThrow(/abort/i);
  });
});

describe("errors explain what to change", () => {
  test.each([
    ["show", { commits: ["v9"] }, "The newest tags are: v1.1, v1.0. The newest branches are: "],
    ["diff", { from: "v1.0..v1.1" }, "is a range; give its ends"],
    ["read_file", { path: "src" }, "src is a directory. src contains: src/"],
    ["read_file", { path: "src/nope.ts" }, "src contains: src/"],
    ["read_file", { path: "README.md", start_line: 99 }, "ends before line 99"],
    ["blame", { path: "README.md", start_line: 99 }, "has only 1 lines"],
    ["log", { since: "yesterday" }, "is not a date; write 2026-01-31"],
  ])("%s %j", async (tool, input, message) => {
    await expect(call(tool, input)).rejects.toThrow(message);
  });
});

describe("hostile input", () => {
  const names = [
    "--output=owned",
    "-p",
    "--upload-pack=x",
    "HEAD --output=owned",
    "$(touch owned)",
    "`id`",
    ":/x",
    "HEAD^{/.*}",
    "a\0b",
    "a\nb",
    "v1.0:README.md",
  ];
  const NAMING = [
    ["show", (name: string) => ({ commits: [name] })],
    ["diff", (name: string) => ({ from: "v1.0", to: name })],
    ["log", (name: string) => ({ from: name })],
    ["read_file", (name: string) => ({ path: "README.md", ref: name })],
  ] as const;
  test.each(names)("the name %j is refused everywhere", async (name) => {
    for (const [tool, inputOf] of turnOf(NAMING, 1)) {
      await expect(call(tool, inputOf(name))).rejects.toThrow(/is not a commit|no commit, branch or tag/);
    }
    expect(existsSync(join(repo, "owned"))).toBe(false);
  });

  test.each(["--output=owned", "../x", "/etc/passwd", "a\\b", "a\0b", "", "./"])(
    "the path %j is refused",
    async (path) => {
      await expect(call("read_file", { path })).rejects.toThrow("is not a valid path");
      await expect(call("log", { path })).rejects.toThrow("is not a valid path");
    },
  );

  test("search text is never an option or a pattern", async () => {
    for (const text of ["--output=owned", "-G.*", ".*", "^"]) {
      expect((await call("log", { grep: text })).returned).toBe(0);
      expect((await call("log", { author: text })).returned).toBe(0);
      await call("log", { changes_text: text });
    }
    expect(existsSync(join(repo, "owned"))).toBe(false);
  });

  test("a name that does not exist never resolves", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ minLength: 1, unit: fc.constantFrom("-", "v", "1", ".", "^", "@", "~", "{", "}", "/", ":") }),
        async (name) => {
          const result = await call("show", { commits: [name] }).catch((error: Error) => error.message);
          if (typeof result === "string") expect(result).toMatch(/\b(no|not a) commit, branch or tag|is a range/);
          else expect(result.commits[0]?.id).toMatch(/^[0-9a-f]{40}$/);
        },
      ),
      { numRuns: runsOf(40) },
    );
  });

  test("a repository's configuration cannot run a program", async () => {
    const { hostile, marker } = createHostile();
    const everything = [
      ["log", { files: true }],
      ["log", { changes_text: "two" }],
      ["show", { commits: ["HEAD"] }],
      ["diff", { from: "HEAD~1" }],
      ["changed_files", { from: "HEAD~1" }],
      ["blame", { path: "a.txt" }],
      ["read_file", { path: "a.txt" }],
      ["refs", {}],
    ] as const;
    for (const [tool, input] of everything) await call(tool, input, { workDir: hostile });
    expect(existsSync(marker)).toBe(false);
  });

  test("a missing object of a partial clone is not fetched", async () => {
    const { hostile, marker, script } = createHostile();
    const blob = execFileSync("git", ["rev-parse", "HEAD:a.txt"], { cwd: hostile, encoding: "utf8" }).trim();
    for (const [key, value] of [
      ["core.repositoryformatversion", "1"],
      ["extensions.partialClone", "origin"],
      ["remote.origin.promisor", "true"],
      ["remote.origin.url", repo],
      ["remote.origin.uploadpack", script],
      ["protocol.file.allow", "always"],
      ["protocol.ext.allow", "always"],
    ] as const) {
      execFileSync("git", ["config", key, value], { cwd: hostile });
    }
    rmSync(join(hostile, ".git/objects", blob.slice(0, 2), blob.slice(2)), { force: true });
    await expect(call("read_file", { path: "a.txt" }, { workDir: hostile })).rejects.toThrow("partial or damaged");
    await expect(call("show", { commits: ["HEAD"] }, { workDir: hostile })).rejects.toThrow("git failed");
    expect(existsSync(marker)).toBe(false);
  });

  test("a program named git in the repository or in a relative PATH entry is not used", async () => {
    const { marker, script } = createHostile();
    const trap = newRepository("trap");
    commit(trap, "One", { "a.txt": "a\n" });
    symlinkSync(script, join(trap, "git"));
    const config = { PATH: `.:${"/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"}` };
    expect((await call("log", {}, { workDir: trap, config })).returned).toBe(1);
    expect(existsSync(marker)).toBe(false);
  });
});

function createHistory(folder: string): void {
  newRepository("work");
  commit(folder, "Add a readme", { "README.md": "Payments\n" }, "2024-01-01T10:00:00Z");
  commit(
    folder,
    "Add payments",
    { "src/pay.ts": "const LIMIT = 5;\nexport const pay = () => LIMIT;\n" },
    "2024-01-02T10:00:00Z",
  );
  ids["v1.0"] = tag(folder, "v1.0");
  commit(
    folder,
    "Raise the limit\n\nCustomers asked for it.",
    { "src/pay.ts": "const LIMIT = 50;\nexport const pay = () => LIMIT;\n" },
    "2024-01-03T10:00:00Z",
    "Eve",
  );
  ids["v1.1"] = tag(folder, "v1.1");
  run(folder, "checkout", "-q", "-b", "renamed");
  run(folder, "mv", "src/pay.ts", "src/payments.ts");
  commit(folder, "Rename payments", {}, "2024-01-04T10:00:00Z");
  run(folder, "checkout", "-q", "-b", "side", "main");
  commit(folder, "Work aside", { "side.txt": "side\n" }, "2024-01-05T10:00:00Z");
  run(folder, "checkout", "-q", "main");
  commit(folder, "Keep on", { "main.txt": "main\n" }, "2024-01-04T12:00:00Z");
  const date = "2024-01-06T10:00:00Z";
  execFileSync("git", ["merge", "-q", "--no-ff", "-m", "Merge side", "side"], {
    cwd: folder,
    env: identity("Ann", date),
  });
}

function createHostile(): { hostile: string; marker: string; script: string } {
  const hostile = newRepository(`hostile-${Math.random().toString(36).slice(2)}`);
  const marker = `${hostile}.owned`;
  const script = `${hostile}.sh`;
  writeFileSync(script, `#!/bin/sh\ntouch ${marker}\ncat "$2" "$1" 2>/dev/null\n`);
  chmodSync(script, 0o755);
  commit(hostile, "One", { "a.txt": "one\n", ".gitattributes": "* diff=evil filter=evil\n" });
  commit(hostile, "Two", { "a.txt": "one\ntwo\n" });
  writeFileSync(join(hostile, ".git/info/attributes"), "* diff=evil filter=evil\n");
  for (const hook of ["post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc"]) {
    symlinkSync(script, join(hostile, ".git/hooks", hook));
  }
  const keys = [
    "core.fsmonitor",
    "core.pager",
    "pager.log",
    "pager.show",
    "pager.diff",
    "diff.external",
    "diff.evil.command",
  ];
  const others = [
    "diff.evil.textconv",
    "filter.evil.clean",
    "filter.evil.smudge",
    "filter.evil.process",
    "core.sshCommand",
  ];
  const more = ["gpg.program", "core.askPass", "core.editor", "uploadpack.packObjectsHook", "remote.origin.uploadpack"];
  for (const key of [...keys, ...others, ...more, "credential.helper", "core.alternateRefsCommand", "alias.log"]) {
    execFileSync("git", ["config", key, script], { cwd: hostile });
  }
  run(hostile, "config", "log.showSignature", "true");
  run(hostile, "config", "color.ui", "always");
  sign(hostile);
  return { hostile, marker, script };
}

/** Signs the newest commit, so that a reader that checks signatures would start gpg. */
function sign(folder: string): void {
  const text = execFileSync("git", ["cat-file", "commit", "HEAD"], { cwd: folder, encoding: "utf8" });
  const signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----\n";
  const signed = text.replace("\n\n", `\n${signature}\n`);
  const input = { cwd: folder, input: signed, encoding: "utf8" } as const;
  const id = execFileSync("git", ["hash-object", "-t", "commit", "-w", "--stdin"], input).trim();
  writeFileSync(join(folder, ".git/refs/heads/main"), `${id}\n`);
}

function newRepository(name: string): string {
  const folder = join(root, name);
  execFileSync("git", ["init", "-q", "-b", "main", folder]);
  return folder;
}

function commit(
  folder: string,
  message: string,
  files: Record<string, string>,
  date = "2024-02-01T00:00:00Z",
  author = "Ann",
): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  run(folder, "add", "-A");
  execFileSync("git", ["commit", "-q", "--cleanup=verbatim", "-F", "-"], {
    cwd: folder,
    env: identity(author, date),
    input: message,
  });
}

function tag(folder: string, name: string): string {
  run(folder, "tag", name);
  return execFileSync("git", ["rev-parse", "HEAD"], { cwd: folder, encoding: "utf8" }).trim();
}

function run(folder: string, ...args: readonly string[]): void {
  execFileSync("git", args, { cwd: folder });
}

function identity(name: string, date: string): NodeJS.ProcessEnv {
  const email = `${name.toLowerCase()}@example.org`;
  return {
    ...process.env,
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
    GIT_AUTHOR_DATE: date,
    GIT_COMMITTER_DATE: date,
  };
}
