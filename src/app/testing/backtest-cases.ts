import { existsSync, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Diagnostic } from "../../core/base/diagnostic.ts";
import { attempt, SkillflowError, usageError } from "../../core/base/errors.ts";
import { defined } from "../../core/base/values.ts";
import { fold } from "../../core/engine/fold/fold.ts";
import { begin } from "../../core/engine/fold/state.ts";
import { type JudgementLine, judgementsIn } from "../../core/engine/state/feedback.ts";
import type { BacktestCase, Truth } from "../../core/outward/testing/backtest.ts";
import { answerOf } from "../../core/outward/testing/grade.ts";
import { loadBacktestFile } from "../../loaders/documents/backtest-file.ts";
import { readWorkflow } from "../documents.ts";
import { documentsOf, shownPath, type Workspace } from "../host.ts";
import { feedbackOf } from "../runs/afterwards/feedback.ts";
import { nearFile } from "../workspace.ts";
import { rootOfTest } from "./find.ts";

export interface Cases {
  readonly cases: readonly BacktestCase[];
  /** Judged runs that make no case. */
  readonly leftOut: number;
}

/** Loads a file of cases, or the `*.yml` and `*\/case.yml` of a folder. Throws a usage error if any of them is invalid. */
export function loadCases({ host }: Workspace, given: string): Cases {
  const path = resolve(documentsOf(host), given);
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats) throw usageError(`there is no file or folder ${given}`, nearFile(path, given));
  const files = stats.isDirectory() ? casesIn(path) : [path];
  if (files.length === 0) throw usageError(`there are no cases in ${given}`, "cases are *.yml and */case.yml");
  const loaded = files.map((path) => {
    const file = shownPath(host, path);
    return { file, ...loadBacktestFile(path, file, rootOfTest(host, path)) };
  });
  const cases = loaded.flatMap((one) => one.cases);
  const diagnostics = [...loaded.flatMap((one) => one.diagnostics), ...repeated(loaded)];
  if (diagnostics.length === 0) return { cases, leftOut: 0 };
  throw new SkillflowError("usage.invalid", "the cases cannot be used: no case was run", { diagnostics });
}

/** Ids must be unique over the files too. */
function repeated(loaded: readonly { readonly file: string; readonly cases: Cases["cases"] }[]): Diagnostic[] {
  const known = new Map<string, string>();
  return loaded.flatMap(({ cases, file }) => {
    const twice = cases.filter(({ id }) => known.has(id) && known.get(id) !== file);
    for (const { id } of cases) known.set(id, known.get(id) ?? file);
    return twice.map(({ id }): Diagnostic => {
      const message = `the case "${id}" is also in ${known.get(id)}`;
      return { severity: "error", code: "SCHEMA", path: ["id"], message, file, line: 1, column: 1 };
    });
  });
}

/** Matches names of cases. Scripts, tests and truths may lie next to a case. */
const CASE = /^(?!(?:.*\.)?(?:script|test|truth)\.yml$).*\.yml$/;

function casesIn(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isFile() && CASE.test(entry.name)) return [path];
    const inner = join(path, "case.yml");
    return entry.isDirectory() && existsSync(inner) ? [inner] : [];
  });
}

/** Makes a case of each judged run whose truth is known: what was right, or the cause that a person stated. */
export async function feedbackCases(workspace: Workspace): Promise<Cases> {
  const { lines } = await feedbackOf(workspace);
  const judged = [...judgementsIn(lines).values()];
  const found = await Promise.all(judged.map((line) => caseOf(workspace, line).catch(() => undefined)));
  const cases = found.filter((one) => one !== undefined);
  if (cases.length === 0) {
    throw usageError(
      "no judged run makes a case",
      "judge runs with skillflow feedback RUN right|partly|wrong --cause TEXT",
    );
  }
  return { cases, leftOut: found.length - cases.length };
}

async function caseOf({ store, host }: Workspace, line: JudgementLine): Promise<BacktestCase | undefined> {
  const { record, events } = await store.read(line.run);
  const answer = answerOf(record, events.reduce(fold, begin(record, 0)));
  const truth = truthOf(line, answer.cause_kind);
  if (!truth) return undefined;
  const { run: id, input, at: as_of, file } = record;
  return { id, input, as_of, truth, ...defined("workflow", file && resolve(documentsOf(host), file)) };
}

function truthOf({ judgement, cause, verdict }: JudgementLine, kind: string | null): Truth | undefined {
  if (judgement === "right") {
    if (verdict === null) return undefined;
    return { verdict, ...(kind === null ? {} : { cause_kind: kind }) };
  }
  const words = [...new Set((cause ?? "").match(/[\p{L}\p{N}]{4,}/gu) ?? [])];
  return words.length === 0 ? undefined : { cause_matches: words };
}

/** Returns the only workflow of the project that has a verdict. */
export function onlyWorkflow(workspace: Workspace): string {
  const folder = documentsOf(workspace.host);
  const places = [folder, join(folder, "workflows")].filter((place) => existsSync(place));
  const files = places.flatMap((place) =>
    readdirSync(place).flatMap((name) =>
      /(?<!\.(?:test|script))\.ya?ml$/.test(name) && !name.startsWith(".") ? [join(place, name)] : [],
    ),
  );
  const found = files.filter((file) => attempt(() => readWorkflow(workspace, file).workflow?.verdict) !== undefined);
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  const what = found.length === 0 ? "no workflow here has a verdict" : `${found.length} workflows here have a verdict`;
  throw usageError(what, "name the workflow with --workflow FILE, or in the case with workflow:");
}
