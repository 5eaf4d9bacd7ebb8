import { SkillflowError, usageError } from "../../core/base/errors.ts";
import type { TestCase } from "../../core/outward/testing/test-file.ts";
import { memoryStore } from "../../stores/memory.ts";
import type { Host, Workspace, WorkspaceOptions } from "../host.ts";
import { openWorkspace } from "../workspace.ts";
import { findTests } from "./find.ts";
import { loadTests, type ReadyTest, type TestModel } from "./load.ts";
import { type CaseRun, runCase } from "./run-case.ts";

export interface TestedCase {
  readonly ready: ReadyTest;
  readonly model: TestModel;
  readonly index: number;
  readonly name: string;
  readonly runs: readonly CaseRun[];
  readonly passes: number;
  readonly passed: boolean;
}

interface TestRequest {
  readonly paths: readonly string[];
  readonly models: readonly string[];
  /** Text that a case's name must contain, in any case. */
  readonly filter: string | undefined;
  readonly repeat: number;
  readonly signal: AbortSignal;
  readonly onCase: (tested: TestedCase) => void;
}

/** Opens a workspace that keeps runs in memory unless a store is given. */
export function openTestWorkspace(host: Host, options: WorkspaceOptions): Workspace {
  return openWorkspace(host, { ...options, store: options.store ?? memoryStore() });
}

/** Runs the cases one after another. Throws before the first one if any file is invalid. */
export async function runTests(workspace: Workspace, request: TestRequest): Promise<readonly TestedCase[]> {
  const { models, filter, signal } = request;
  const { tests, diagnostics } = await loadTests(workspace, findTests(workspace.host, request.paths), models);
  if (diagnostics.length > 0) {
    const files = new Set(diagnostics.map(({ file }) => file)).size;
    const what = files === 1 ? "a file" : `${files} files`;
    throw new SkillflowError("usage.invalid", `${what} cannot be used: no test was run`, { diagnostics });
  }
  const isMeant = ({ name }: TestCase) => name.toLowerCase().includes((filter ?? "").toLowerCase());
  const wanted = tests.flatMap((ready) =>
    ready.test.cases.flatMap((which, index) => (isMeant(which) ? [{ ready, which, index }] : [])),
  );
  if (wanted.length === 0) {
    const names = tests.flatMap(({ test }) => test.cases.map(({ name }) => name));
    throw usageError(`no case's name contains "${filter}"`, `the cases: ${names.slice(0, 12).join(", ")}`);
  }
  const tested: TestedCase[] = [];
  for (const one of wanted) {
    for (const model of one.ready.models) {
      if (signal.aborted) return tested;
      const done = await testCase(workspace, { ...one, model }, request);
      tested.push(done);
      request.onCase(done);
    }
  }
  return tested;
}

async function testCase(
  workspace: Workspace,
  { ready, which, index, model }: Pick<TestedCase, "ready" | "index" | "model"> & { readonly which: TestCase },
  { repeat, signal }: TestRequest,
): Promise<TestedCase> {
  const runs: CaseRun[] = [];
  try {
    while (runs.length < repeat && !signal.aborted)
      runs.push(await runCase(workspace, { ready, model, which, signal }));
  } catch (error) {
    throw error instanceof SkillflowError ? placed(error, ready, index) : error;
  }
  const passes = runs.filter(({ failures }) => failures.length === 0).length;
  return { ready, model, index, name: which.name, runs, passes, passed: passes === repeat };
}

/** Adds the position of the case to an error that prevents it from starting. */
function placed(error: SkillflowError, { loaded, test }: ReadyTest, index: number): SkillflowError {
  const at = loaded.position(["cases", index, "name"]);
  const place = [loaded.file, at.line, at.column].filter((part) => part !== undefined).join(":");
  const { code, hint, cause } = error;
  const diagnostics = error.diagnostics.map((found) => {
    if (found.file !== undefined || found.line !== undefined) return found;
    return { ...found, file: loaded.file, ...at, ...loaded.position(["cases", index, "input", ...found.path]) };
  });
  const message = `${place} ${test.cases[index]?.name}: ${error.message}`;
  return new SkillflowError(code, message, { hint, diagnostics, cause });
}
