import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import type { Host } from "../../src/app/host.ts";
import { findTests } from "../../src/app/testing/find.ts";
import { loadTests } from "../../src/app/testing/load.ts";
import { runCase } from "../../src/app/testing/run-case.ts";
import { openTestWorkspace } from "../../src/app/testing/run-tests.ts";
import { SkillflowError } from "../../src/core/base/errors.ts";
import type { Workflow } from "../../src/core/document/workflow/workflow.ts";

/**
 * The triage of a board, with its own tests: they pass, and each path through it that is broken makes one of them fail.
 */

const root = join(import.meta.dirname, "..", "..");
const desk = mkdtempSync(join(tmpdir(), "skillflow-test-"));
afterAll(() => rmSync(desk, { recursive: true }));
for (const part of ["board-triage.yml", "one-issue.yml", "board-triage.test.yml", "board/tests"]) {
  cpSync(join(root, "workflows", part), join(desk, "workflows", part), { recursive: true });
}

const host: Host = {
  env: { PATH: process.env["PATH"], HOME: join(desk, "home") },
  cwd: desk,
  self: { pid: process.pid, host: "test", started: "" },
  isAlive: () => false,
  execPath: process.execPath,
  uid: process.geteuid?.(),
  kill: () => undefined,
};
const workspace = openTestWorkspace(host, { overrides: new Map(), skillDirs: [], discover: false, store: undefined });
const loaded = await loadTests(workspace, findTests(host, ["workflows"]), []);
const cases = loaded.tests.flatMap((ready) =>
  ready.models.flatMap((model) => ready.test.cases.map((which) => ({ ready, model, which }))),
);
const signal = new AbortController().signal;

/** The first failure. Undefined if there is none. */
async function firstFailure(): Promise<string | undefined> {
  for (const one of cases) {
    try {
      const [failure] = (await runCase(workspace, { ...one, signal })).failures;
      if (failure) return `${one.which.name}: ${failure.path}: ${failure.message}`;
    } catch (error) {
      if (error instanceof SkillflowError) return error.message;
      throw error;
    }
  }
  return undefined;
}

type Draft = { -readonly [Key in keyof Workflow]: Workflow[Key] };
type Break = (draft: Draft) => unknown;
const textOf = (file: string) => readFileSync(join(root, "workflows", file), "utf8");
const broken = (file: string, change: Break) => {
  const draft = parse(textOf(file)) as Draft;
  change(draft);
  return stringify(draft, { aliasDuplicateObjects: false });
};
const drop =
  (node: string, field: string): Break =>
  ({ nodes }) => {
    Reflect.deleteProperty(nodes[node] ?? {}, field);
  };
const dropVerdict: Break = (draft) => {
  delete draft.verdict;
};

const FILES = ["board-triage.yml", "one-issue.yml"];
const edgesOf = (file: string) => (parse(textOf(file)) as Workflow).edges;
const MUTATIONS: readonly (readonly [string, string, Break])[] = [
  ...FILES.flatMap((file) =>
    edgesOf(file).map(({ from, to }, n): (typeof MUTATIONS)[number] => {
      return [`the edge from ${from} to ${to} gone`, file, ({ edges }) => edges.splice(n, 1)];
    }),
  ),
  ...FILES.flatMap((file) =>
    edgesOf(file).flatMap(({ from, to, if: condition }, n): (typeof MUTATIONS)[number][] => {
      if (condition === undefined) return [];
      return [
        [`the condition from ${from} to ${to} gone`, file, ({ edges }) => Reflect.deleteProperty(edges[n] ?? {}, "if")],
      ];
    }),
  ),
  ["no verdict", "board-triage.yml", dropVerdict],
  ["a board that is not joined", "board-triage.yml", ({ nodes }) => nodes["board"]?.steps?.pop()],
  [
    "items that have no name",
    "board-triage.yml",
    ({ nodes }) => Reflect.deleteProperty(nodes["each"]?.map ?? {}, "key"),
  ],
  ["causes that are not checked", "one-issue.yml", drop("investigate", "eval")],
  ["trackers that have to be there", "one-issue.yml", drop("duplicates", "requires")],
  ["no class as verdict of an item", "one-issue.yml", dropVerdict],
];

describe("the triage of a board", () => {
  it("has tests that pass", async () => {
    expect(loaded.diagnostics).toEqual([]);
    expect(cases.length).toBe(5);
    expect(await firstFailure()).toBeUndefined();
  });

  it.each(MUTATIONS)("fails one of its tests with %s", async (_what, file, change) => {
    writeFileSync(join(desk, "workflows", file), broken(file, change));
    expect(await firstFailure()).toBeDefined();
    writeFileSync(join(desk, "workflows", file), textOf(file));
  });
});
