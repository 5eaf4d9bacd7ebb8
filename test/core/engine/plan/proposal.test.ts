import { expect, test } from "vitest";
import { createRedactor } from "../../../../src/core/base/redact/redact.ts";
import { changeProblem, inertResult, inertText, inertTitle } from "../../../../src/core/engine/plan/proposal.ts";

/** Texts and diffs of proposed changes. */

const file = { path: "a", change: "added" as const, mode: "100644" as const, sha256: "0".repeat(64) };
const diffOf = (...lines: string[]) =>
  ["--- /dev/null", "+++ b/a", `@@ -0,0 +1,${lines.length} @@`, ...lines.map((line) => `+${line}`), ""].join("\n");
const problemOf = (diff: string) => changeProblem({ diff, files: [file] }, createRedactor([]));

test.each([
  ["ghp_", "a1".repeat(18)],
  ["glpat-", "a1".repeat(10)],
  ["AKIA", "ABCDEFGH12345678"],
  ["sk-ant-", "a1".repeat(12)],
  ["-----BEGIN RSA PRIVATE", " KEY-----"],
])("refuses %s by its place, without its value", (start, end) => {
  const problem = problemOf(diffOf("one", `key = ${start}${end}`));
  expect(problem).toContain("a:2 contains a secret");
  expect(problem).not.toContain(end.trim());
});

test("refuses secrets in names, in the heading of a hunk, and in the texts of the request", () => {
  const token = `ghp_${"a1".repeat(18)}`;
  const change = { diff: diffOf("one"), files: [file] };
  const none = createRedactor([]);
  const own = createRedactor([{ name: "KEY", value: "correct-horse-battery" }] as never);
  const heading = diffOf("one").replace(/@@$/m, `@@ const key = "${token}"`);
  expect(changeProblem({ ...change, diff: heading }, none)).toContain("a:1 contains a secret");
  expect(changeProblem({ ...change, files: [{ ...file, path: `a/${token}` }] }, none)).toContain("file's name");
  for (const secret of [token, "correct-horse-battery"]) {
    for (const texts of [{ title: secret }, { body: `see ${secret}` }, { labels: [secret] }]) {
      const problem = changeProblem({ ...change, ...texts }, own);
      expect(problem).toContain("contains a secret");
      expect(problem).not.toContain(secret);
    }
  }
  expect(changeProblem({ ...change, title: "Fix", body: "b", labels: ["l"] }, own)).toBeUndefined();
});

test("refuses a label with a comma", () => {
  const change = { diff: diffOf("one"), files: [file], title: "Fix", body: "b" };
  expect(changeProblem({ ...change, labels: ["a", "b,c"] }, createRedactor([]))).toContain("a label contains a comma");
});

test("accepts plain text, and limits files and size", () => {
  expect(problemOf(diffOf("++ b/x", "sk-learn is fine"))).toBeUndefined();
  expect(problemOf(diffOf("x".repeat(400 * 1024)))).toContain("the limit is");
  expect(changeProblem({ diff: "", files: [] }, createRedactor([]))).toContain("no changes");
});

test.each([
  "@kim",
  "fixes #1",
  "Closes: o/r#12",
  "GH-7",
  "<img src=x>",
  "[a](b)",
  "https://x.test",
  "/close",
  "&#64;kim",
  "&commat;kim",
  "&#x40;kim",
  "[skip ci]",
  "[CI Skip]",
  "[no ci]",
  "[skip actions]",
  "[skip-ci]",
  "***NO_CI***",
  "skip-checks: true",
])("makes %s inert", (text) => {
  expect(inertText(text).replaceAll("\\/", "")).not.toContain(text);
  expect(inertTitle(`${text}\nmore`)).not.toContain("\n");
});

test.each([
  ["https://github.test/o/r/pull/1", "https://github.test/o/r/pull/1"],
  ["12", "\u206012\u2060"],
  ["@kim", "\u2060@\u2060kim\u2060"],
  ["https://x.test/)[a](https://y.test", expect.not.stringContaining("://y")],
])("inserts the result %j without an effect of its own", (result, inserted) => {
  expect(inertResult(result)).toEqual(inserted);
});

test.each(["Fixes ${op-1.url}", "closes: ${op-1.url}"])("breaks the closing word of %j", (text) => {
  expect(inertText(text)).not.toContain(text);
});

test.each(["Fix `Array<String>`", "Handle <!-- x -->", "Drop </script> and <?php"])(
  "shows %j as it is written",
  (text) => {
    for (const inert of [inertTitle(text), inertText(text)]) {
      expect(inert).not.toMatch(/<[A-Za-z/!?]/);
      expect(inert.replaceAll("\u2060", "")).toBe(text);
    }
  },
);

test.each(["Do not skip ci", "[skipped] ci", "a [list] of [no] items"])("leaves %j as it is", (text) => {
  expect(inertText(text)).toBe(text);
});

test("a deleted line may not have a secret of the run, and is named by its line in the old file", () => {
  const own = createRedactor([{ name: "DB_PASSWORD", value: "hunter2pass99" }]);
  const diff = [
    "--- a/src/db.js",
    "+++ b/src/db.js",
    "@@ -3,2 +3,1 @@",
    " const a = 1;",
    "-const p = 'hunter2pass99';",
    "",
  ];
  const problem = changeProblem({ files: [file], diff: diff.join("\n") }, own);
  expect(problem).toMatch(/^src\/db\.js:4 .*deletes that line/);
  const gone = ["--- a/src/db.js", "+++ /dev/null", "@@ -1 +0,0 @@", "-const p = 'hunter2pass99';", ""];
  expect(changeProblem({ files: [file], diff: gone.join("\n") }, own)).toMatch(/^src\/db\.js:1 /);
});

test.each(["", "  ", "\n\t", "\u2060\u200b"])("a change with the title %j is refused", (title) => {
  expect(changeProblem({ files: [file], diff: "", title }, createRedactor([]))).toBe("the title is blank");
});
