import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/core/base/values.ts";
import type { LoaderHost } from "../../../src/loaders/folder/host.ts";
import { isAllowed, runCommand, wordsOf } from "../../../src/loaders/own/workspace/command.ts";
import { type Copy, openCopy } from "../../../src/loaders/own/workspace/copy.ts";
import { callFileTool } from "../../../src/loaders/own/workspace/files.ts";
import { NO_RULES } from "../../../src/loaders/own/workspace/paths.ts";
import { repeatEdits } from "../../../src/loaders/own/workspace/skill.ts";
import { makeFolder } from "../foreign.ts";

/** The answers of the file tools, the commands that may run, and that a rebuilt copy must equal the recorded one. */

let place: string;
let base: string;
let copies = 0;

const open = (): Copy => {
  copies += 1;
  return openCopy({
    checkout: join(place, "repo"),
    base,
    folder: join(place, `copy-${copies}`),
    env: { PATH: process.env.PATH },
  });
};

beforeAll(() => {
  place = makeFolder();
  const cwd = join(place, "repo");
  mkdirSync(join(cwd, "src"), { recursive: true });
  writeFileSync(join(cwd, "src/a.txt"), "one\ntwo\none\n");
  writeFileSync(join(cwd, "long.txt"), `${"x".repeat(3000)}\n${"line\n".repeat(30_000)}`);
  writeFileSync(join(cwd, "blob.bin"), Buffer.from([0, 1, 2]));
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=A", "-c", "user.email=a@example.com", ...args], {
      cwd,
      encoding: "utf8",
    }).trim();
  git("init", "-q");
  git("add", "-A");
  git("commit", "-q", "-m", "base");
  base = git("rev-parse", "HEAD");
});

describe("a file tool", () => {
  it.each<[string, JsonObject, string | JsonObject]>([
    ["list_files", { glob: "*.txt" }, { files: ["long.txt", "src/a.txt"], total: 2 }],
    ["list_files", { path: "nowhere" }, 'there is no folder "nowhere"'],
    ["read_file", { path: "src/a.txt", line: 2, lines: 1 }, { text: "two", next: 3, total_lines: 3 }],
    ["read_file", { path: "src/a.txt", line: 9 }, "has 3 lines, so there is no line 9"],
    ["read_file", { path: "long.txt" }, { next: 2001 }],
    ["read_file", { path: "blob.bin" }, "is a binary file of 3 bytes"],
    ["read_file", { path: "src" }, '"src" is a folder'],
    ["read_file", { path: "../a" }, "leads out of the copy"],
    [
      "search_files",
      { pattern: "^two", context: 1 },
      { matches: [{ path: "src/a.txt", line: 2, text: "two", before: ["one"], after: ["one"] }] },
    ],
    ["search_files", { pattern: "line", glob: "long.txt" }, { more: true }],
    ["search_files", { pattern: "(" }, "is not a regular expression"],
    ["edit_file", { path: "src/a.txt", old: "one", new: "1" }, "contains the text 2 times, at lines 1, 3"],
    ["edit_file", { path: "src/a.txt", old: "one", new: "$&", all: true }, { change: "changed", replaced: 2 }],
    ["edit_file", { path: "long.txt", old: "l", new: "x".repeat(20_000), all: true }, "would have 600123001 bytes"],
    ["edit_file", { path: "src/a.txt", old: "none", new: "" }, "does not contain the text of old"],
    ["edit_file", { path: "blob.bin", old: "a", new: "b" }, "is a binary file"],
    ["write_file", { path: "src", content: "x" }, '"src" is a folder'],
    ["write_file", { path: "a", content: "ä".repeat(300_000) }, "would have 600000 bytes"],
    ["delete_file", { path: "none" }, 'there is no file "none"'],
    ["delete_file", { path: "blob.bin" }, { path: "blob.bin", change: "deleted" }],
  ])("%s %j returns %j", async (name, input, expected) => {
    const call = async () =>
      callFileTool(name, { input, copy: open(), rules: NO_RULES, signal: new AbortController().signal });
    if (typeof expected === "string") await expect(call()).rejects.toThrow(expected);
    else expect(await call()).toMatchObject(expected);
  });
});

describe("recorded edits", () => {
  it("are repeated, and fail by name if a file differs", async () => {
    const input = { path: "src/a.txt", old: "two", new: "2" };
    const signal = new AbortController().signal;
    const output = await callFileTool("edit_file", { input, copy: open(), rules: NO_RULES, signal });
    const again = open();
    repeatEdits(again, [{ name: "edit_file", input, output }]);
    expect(again.read("src/a.txt").toString()).toBe("one\n2\none\n");
    const altered = [{ name: "edit_file", input, output: { sha256: "0" } }];
    expect(() => repeatEdits(open(), altered)).toThrow("the working copy differs from the record at src/a.txt");
  });
});

describe("a command", () => {
  it.each<[string, readonly string[] | string]>([
    ["npm test", ["npm", "test"]],
    [`a 'b c' d"e f"`, ["a", "b c", "de f"]],
    ["a $(b) ; c", ["a", "$(b)", ";", "c"]],
    ["a 'b", "is not closed"],
    ["a\nb", "no line breaks"],
    ["A=1 b", "NAME=value"],
    ["  ", "is empty"],
  ])("%j is %j", (command, expected) => {
    if (typeof expected === "string") expect(() => wordsOf(command)).toThrow(expected);
    else expect(wordsOf(command)).toEqual(expected);
  });

  it("accepts no option instead of a file", async () => {
    const call = { input: { command: "node", files: ["./--eval=1"] }, copy: open(), host: {} as never };
    const context = { config: { commands: "node **" }, workDir: place } as never;
    await expect(runCommand({ ...call, context })).rejects.toThrow('"--eval=1" would be an option');
  });

  it("shows the lines of a long output that explain the failure", async () => {
    const lines = Array.from({ length: 4000 }, (_, n) => (n === 2000 ? "AssertionError: 1 is not 2" : `line ${n} ok`));
    const ended = { ended: "exit", code: 1, stdout: lines.join("\n"), stderr: "", truncated: false } as const;
    const host = { runForeign: async () => ended, self: { pid: process.pid, host: "here", started: "" } };
    const blobs = { create: async () => ({ blob_id: "b1" }) } as never;
    const context = { config: { commands: "node **" }, signal: AbortSignal.timeout(60_000), blobs };
    const result = (await runCommand({ input: { command: "node x" }, copy: open(), host, context })) as JsonObject;
    expect(result).toMatchObject({ exit_code: 1, whole_output: { blob_id: "b1" } });
    expect(result.output).toContain("line 1999 ok\nAssertionError: 1 is not 2\nline 2001 ok");
    expect(String(result.output).length).toBeLessThan(12_500);
  });

  it("lists files that the base lacks, and finds mounted folders from the root of the checkout", async () => {
    const copy = open();
    copy.put("new.txt", Buffer.from("new"));
    mkdirSync(join(place, "repo/web/node_modules"), { recursive: true });
    let targets: readonly string[] = [];
    const runForeign: LoaderHost["runForeign"] = async ({ mounts }) => {
      targets = mounts.map(({ target }) => target);
      return { ended: "exit", code: 1, stdout: "", stderr: "", truncated: false };
    };
    const config = { commands: "node **", mounts: "web/node_modules\nnode_modules" };
    const context = { config, signal: AbortSignal.timeout(60_000), blobs: {} as never };
    const host = { runForeign, self: { pid: process.pid, host: "here", started: "" } };
    const command = { command: "node ./new.txt src/a.txt", files: ["nowhere"] };
    const atBase = await runCommand({ input: { ...command, at: "base" }, copy, host, context });
    expect(atBase).toMatchObject({ exit_code: 1, missing: ["./new.txt"], not_mounted: ["node_modules"] });
    expect(targets).toEqual(["/workspace", "/workspace/web/node_modules"]);
    const added = await runCommand({ input: { ...command, at: "base", with: ["*.txt"] }, copy, host, context });
    expect(added).not.toHaveProperty("missing");
    expect(await runCommand({ input: command, copy, host, context })).not.toHaveProperty("missing");
  });

  it.each([
    ["npm test", "npm test", true],
    ["npm test", "npm test x", false],
    ["npm *", "npm test", true],
    ["npm *", "npm", false],
    ["npm **", "npm", true],
    ["npm run ** --ci", "npm run a b --ci", true],
    ["*", "./evil", false],
    ["** x", "./evil x", false],
    ["./ok.sh", "./ok.sh", true],
    ["grep '*' a.txt", "grep '*' a.txt", true],
    ["grep '*' a.txt", "grep * a.txt", true],
    ["grep '*' a.txt", "grep -f a.txt", false],
    ['node "**"', "node -e 0", false],
    ['node a"*"', "node a*", true],
    ["'./o*k'", "./o*k", true],
  ])("%j allows %j: %j", (entry, command, expected) => {
    expect(isAllowed(entry, wordsOf(command))).toBe(expected);
  });
});
