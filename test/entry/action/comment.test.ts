import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { bearsMark, commentText, type Facts, factsIn, factsOf } from "../../../src/entry/action/comment-text.ts";
import { makeProject } from "../../cli/program.ts";
import { hostileText } from "../../reports/hostile-text.ts";
import { commitAll, FLOW, type GitHub, RUN, startGitHub, stepHere } from "./step.ts";

/** One comment per workflow, which lists what has changed since the previous run. */

const facts: Facts = {
  schema: "skillflow.comment/1",
  run: "r1",
  status: "succeeded",
  verdict: "incident",
  route: ["gather", "diagnose"],
  costUsd: 0.25,
};
const text = (more: object = {}) =>
  commentText({ workflow: "w.yml", facts, before: undefined, summary: "## fine\n", address: undefined, ...more });

describe("the text of a comment", () => {
  it("has the mark of its workflow alone, and its facts can be read back", () => {
    expect(bearsMark(text(), "w.yml")).toBe(true);
    expect(bearsMark(text(), "other.yml")).toBe(false);
    expect(bearsMark(`> ${text()}`, "w.yml")).toBe(false);
    expect(factsIn(text())).toEqual(facts);
    expect(factsIn(text().replaceAll("\n", "\r\n"))).toEqual(facts);
  });

  it("lists what has changed since the previous run, and what has not", () => {
    const before = { ...facts, run: "r0", verdict: "noise", costUsd: 0.001, route: ["gather"] };
    const rows = text({ before })
      .split("\n")
      .filter((line) => line.startsWith("|"));
    expect(rows).toEqual([
      "| | Before | Now |",
      "|---|---|---|",
      "| Outcome | succeeded | as before |",
      "| Verdict | noise | **incident** |",
      "| Route | `gather` | **`gather` → `diagnose`** |",
      "| Cost | $0.0010 | **$0.25** |",
    ]);
    expect(text()).not.toContain("Before");
  });

  it.each([
    ["more in it than there should be", { ...facts, more: 1 }],
    ["a field that is missing", { ...facts, verdict: undefined }],
    ["another schema", { ...facts, schema: "skillflow.comment/2" }],
    ["a route that is none", { ...facts, route: [{}] }],
    ["a cost below nothing", { ...facts, costUsd: -1 }],
    ["a verdict that is a book", { ...facts, verdict: "x".repeat(301) }],
    ["no object", null],
  ])("is ignored with %s", (_what, forged) => {
    const block = `<!-- skillflow-facts ${Buffer.from(JSON.stringify(forged)).toString("base64")} -->`;
    expect(factsIn(text().replace(/<!-- skillflow-facts.*/, block))).toBeUndefined();
  });

  it("is ignored with a block in another place or form", () => {
    const [mark = "", block = ""] = text().split("\n");
    for (const body of ["", mark, block, `${mark}\n\n${block}`, `${mark}\n ${block}`, `${mark}\n${block} x`]) {
      expect(factsIn(body)).toBeUndefined();
    }
  });

  it("stays below GitHub's limit, has a note if it is cut, and is cut between lines", () => {
    const cut = text({ summary: "ünïcödé 😀 line\n".repeat(20_000), address: "https://github.com/a/b/actions/runs/1" });
    expect(cut.length).toBeLessThan(65_536);
    expect(cut).toContain("Truncated: GitHub");
    expect(cut).toMatch(/line\n\n\[The job with this result\]\(https:\/\/github\.com\/a\/b\/actions\/runs\/1\)\n$/);
  });

  it("contains no active text of a model or of the facts, whatever they contain", () => {
    fc.assert(
      fc.property(hostileText, hostileText, (verdict, node) => {
        const told = factsOf({
          run: "r",
          status: "failed",
          verdict,
          trace: { steps: [{ node }] },
          usage: { costUsd: 1 },
        });
        const body = text({ facts: told ?? facts, before: told && { ...told, run: "r0", costUsd: 2 } });
        const [, , ...shown] = body.split("\n");
        expect(factsIn(body)).toEqual(told);
        expect(shown.join("\n").replace(/`[^`\n]*`/g, "")).not.toMatch(/[<@]|(?<!\\)\[/);
        expect(shown.filter((line) => line.startsWith("|")).length).toBe(6);
      }),
      { numRuns: 100 },
    );
  });
});

describe("the comment of a pull request", () => {
  let github: GitHub | undefined;
  afterEach(() => github?.close());

  const project = (verdict: string) => {
    const cwd = makeProject({
      "w.yml": { ...FLOW, verdict: "a.found", nodes: { a: { name: "A", instruction: "Look.", output: OUTPUT } } },
      "s.json": { replies: [{ data: { found: verdict } }] },
    });
    const payload = { pull_request: { number: 7, base: { sha: commitAll(cwd) } } };
    return { cwd, event: { name: "pull_request", payload } };
  };
  const OUTPUT = { type: "object", properties: { found: { type: "string" } }, required: ["found"] };
  const run = (verdict: string, more: object = {}) =>
    stepHere({
      ...project(verdict),
      inputs: { ...RUN, comment: "true" },
      ...(github ? { github } : {}),
      ...more,
    });

  it("is created by the first run, and updated by the next with what has changed", async () => {
    github = await startGitHub({ roles: { maria: "write" } });
    const first = await run("noise");
    expect(first.code, first.stderr).toBe(0);
    expect(github.comments).toHaveLength(1);
    expect(github.comments[0]?.body).toContain("W: succeeded");
    expect(github.comments[0]?.body).not.toContain("Before");
    await run("incident");
    expect(github.comments).toHaveLength(1);
    expect(github.comments[0]?.body).toContain("| Verdict | noise | **incident** |");
  });

  it("is never an untrusted copy of it, and forged facts are not compared with", async () => {
    const forged = text({ facts: { ...facts, verdict: "forged" } });
    const others = Array.from({ length: 120 }, (_, id) => ({ id: id + 1, user: { login: "mallory" }, body: forged }));
    const gone = { id: 900, user: null, body: forged };
    github = await startGitHub({ roles: { maria: "write" }, comments: [...others, gone] });
    const told = await run("incident");
    expect(told.code, told.stderr).toBe(0);
    expect(github.comments).toHaveLength(122);
    expect(github.comments.at(-1)?.user?.login).toBe("github-actions[bot]");
    expect(github.comments.at(-1)?.body).not.toContain("forged");
    expect(github.comments.slice(0, -1).every(({ body }) => body === forged)).toBe(true);
  });

  it("belongs to the App or the user of the token", async () => {
    github = await startGitHub({ roles: { maria: "write" }, viewer: "triage-app[bot]" });
    await run("noise");
    await run("incident");
    expect(github.comments).toHaveLength(1);
  });

  it("that cannot be written fails the step, with the missing permission, and leaves the run's outputs", async () => {
    github = await startGitHub({ roles: { maria: "write" }, mayComment: false });
    const told = await run("incident");
    expect(told.code).toBe(4);
    expect(told.stderr).toMatch(/^::error title=output\.failed::.*pull-requests: write/m);
    expect(told.outputs).toMatchObject({ status: "succeeded", verdict: "incident" });
  });

  it("is written for a comment on a pull request, and not for one on an issue", async () => {
    github = await startGitHub({ roles: { maria: "write" } });
    const inputs = { ...RUN, comment: "true", args: "--from-ref=HEAD" };
    const at = (issue: object) => {
      const payload = { issue, comment: { user: { login: "maria" } } };
      return run("x", { inputs, event: { name: "issue_comment", payload } });
    };
    expect((await at({ number: 7, pull_request: {} })).code).toBe(0);
    expect(github.comments).toHaveLength(1);
    expect((await at({ number: 7 })).code).toBe(0);
    expect(github.comments).toHaveLength(1);
  });

  it("is not written for what did not run, nor without a pull request", async () => {
    github = await startGitHub({ roles: { maria: "write" } });
    expect((await run("x", { inputs: { ...RUN, workflow: "no.yml", comment: "true" } })).code).toBe(2);
    expect((await run("x", { event: { name: "push", payload: {} } })).code).toBe(0);
    expect(github.comments).toEqual([]);
  });
});
