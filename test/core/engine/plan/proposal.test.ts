import { expect, test } from "vitest";
import { createRedactor } from "../../../../src/core/base/redact/redact.ts";
import { changeProblem, inertText, inertTitle } from "../../../../src/core/engine/plan/proposal.ts";

/** Texts and diffs of proposed changes: fixes X13. */

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

test("takes plain text, and limits files and size", () => {
  expect(problemOf(diffOf("++ b/x", "sk-learn is fine"))).toBeUndefined();
  expect(problemOf(diffOf("x".repeat(400 * 1024)))).toContain("the limit is");
  expect(changeProblem({ diff: "", files: [] }, createRedactor([]))).toContain("no changes");
});

test.each(["@kim", "fixes #1", "Closes: o/r#12", "GH-7", "<img src=x>", "[a](b)", "https://x.test", "/close"])(
  "makes %s inert",
  (text) => {
    expect(inertText(text)).not.toContain(text);
    expect(inertTitle(`${text}\nmore`)).not.toContain("\n");
  },
);
