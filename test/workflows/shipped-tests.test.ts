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
import { spreadOf } from "../harness/long.ts";

/** The tests of the shipped workflows pass, and each part of a workflow that is broken on purpose makes one fail. */

const root = join(import.meta.dirname, "..", "..");
const desk = mkdtempSync(join(tmpdir(), "skillflow-test-"));
afterAll(() => rmSync(desk, { recursive: true }));
for (const part of ["incident-triage.yml", "incident-triage.test.yml", "incident-triage.run.jsonl", "tests"]) {
  cpSync(join(root, "workflows", part), join(desk, "workflows", part), { recursive: true });
}
const alert = "workflows/incidents/checkout-5xx/alert.json";
cpSync(join(root, alert), join(desk, alert));

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
// The longest last: earlier ones notice most of what is broken.
const cases = loaded.tests
  .toReversed()
  .flatMap((ready) => ready.models.flatMap((model) => ready.test.cases.map((which) => ({ ready, model, which }))));
const signal = new AbortController().signal;

/** The first failure. Undefined if there is none. */
async function firstFailure(some = cases): Promise<string | undefined> {
  for (const one of some) {
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

const file = join(desk, "workflows/incident-triage.yml");
const sound = readFileSync(file, "utf8");
const workflow = parse(sound) as Workflow;
type Draft = { -readonly [Key in keyof Workflow]: Workflow[Key] };

function broken(change: (draft: Draft) => void): string {
  const draft = structuredClone(workflow) as Draft;
  change(draft);
  return stringify(draft, { aliasDuplicateObjects: false });
}

const nodes = Object.entries(workflow.nodes);
type Mutation = readonly [what: string, text: string];

/** Parts that can be broken, one list for each kind. */
const MUTATIONS: readonly (readonly Mutation[])[] = [
  workflow.edges.map(({ from, to }, n) => {
    return [`edge ${n} from ${from} to ${to} gone`, broken(({ edges }) => void edges.splice(n, 1))] as const;
  }),
  nodes.flatMap(([id, { skills = [] }]) =>
    skills.map((skill, n) => {
      return [`${id} without ${skill}`, broken((draft) => void draft.nodes[id]?.skills?.splice(n, 1))] as const;
    }),
  ),
  nodes.flatMap(([id, { output }]) => {
    if (!output) return [];
    const loosened = broken((draft) => Reflect.deleteProperty(draft.nodes[id]?.output ?? {}, "required"));
    return [[`the output of ${id} wanting nothing`, loosened] as const];
  }),
  nodes.flatMap(([id, { instruction }]) => {
    if (instruction === undefined) return [];
    const said = broken((draft) => Object.assign(draft.nodes[id] ?? {}, { instruction: `${instruction} Be quick.` }));
    return [[`${id} with the order to be quick`, said] as const];
  }),
  nodes.flatMap(([id, { steps = [] }]) =>
    steps.map((step, n) => {
      return [
        `${id} without its step ${step.id}`,
        broken((draft) => void draft.nodes[id]?.steps?.splice(n, 1)),
      ] as const;
    }),
  ),
  (workflow.rules ?? []).map((_, n) => [`rule ${n} gone`, broken(({ rules }) => void rules?.splice(n, 1))] as const),
];

describe("the shipped workflows", () => {
  it("have tests that pass", async () => {
    expect(loaded.diagnostics).toEqual([]);
    expect(cases.length).toBeGreaterThan(5);
    expect(await firstFailure()).toBeUndefined();
  });

  it("pass their tests also when they are written in another form", async () => {
    writeFileSync(
      file,
      broken(() => undefined),
    );
    expect(await firstFailure([...spreadOf(cases, 3)])).toBeUndefined();
  });

  it.each(MUTATIONS.flatMap((kind) => spreadOf(kind, 1)))("fail one of their tests with %s", async (_what, text) => {
    writeFileSync(file, text);
    expect(await firstFailure()).toBeDefined();
  });
});
