import type { Diagnostic } from "../../core/base/diagnostic.ts";
import { SkillflowError, usageError } from "../../core/base/errors.ts";
import { groupBy } from "../../core/base/values.ts";
import { linkProgram } from "../../core/engine/decide/link.ts";
import type { RunRecord } from "../../core/engine/event/record.ts";
import { nodeKey, type PARTS, partsOf } from "../../core/outward/testing/coverage.ts";
import { type Mutant, mutantsOf } from "../../core/outward/testing/mutants.ts";
import type { Workspace } from "../host.ts";
import type { TestedDocument } from "./load.ts";
import { hasLiveTools, runCase } from "./run-case.ts";
import type { TestedCase } from "./run-tests.ts";

/** Measures which parts of their workflows tests reach, and which changes of these they notice. */

export interface Coverage {
  readonly workflow: string;
  readonly parts: { readonly [Kind in (typeof PARTS)[number]]: { readonly reached: number; readonly total: number } };
  /** One finding for each part that no case reaches. */
  readonly missed: readonly Diagnostic[];
}

export function coverageOf(tested: readonly TestedCase[]): Coverage[] {
  return [...groupBy(tested, ({ ready }) => ready.document)].map(([workflow, cases]) => {
    const reached = new Set(cases.flatMap(({ runs }) => runs.flatMap((run) => [...run.reached])));
    const documents = cases[0]?.ready.documents ?? [];
    const all = documents.map((document) => ({ document, parts: partsOf(document, reached) }));
    const count = (kind: (typeof PARTS)[number]) => {
      const own = all.flatMap(({ parts }) => parts.filter((part) => part.kind === kind));
      return { reached: own.filter(({ isReached }) => isReached).length, total: own.length };
    };
    const missed = all.flatMap(({ document, parts }) =>
      document.place(
        parts
          .filter(({ isReached }) => !isReached)
          .map(({ path, name }) => finding("NOT_COVERED", path, `no case reaches ${name}`)),
      ),
    );
    return { workflow, parts: { nodes: count("nodes"), edges: count("edges"), steps: count("steps") }, missed };
  });
}

function finding(code: Diagnostic["code"], path: Diagnostic["path"], message: string): Diagnostic {
  return { severity: "warning", code, path, message };
}

export interface Mutation {
  readonly workflow: string;
  readonly mutants: number;
  /** One finding for each mutant that no case notices. */
  readonly survived: readonly Diagnostic[];
}

export interface MutantRun {
  readonly number: number;
  readonly total: number;
  readonly line: number | undefined;
  readonly change: string;
  /** Name of the case that fails. Undefined if none does. */
  readonly killer: string | undefined;
}

/** Runs the cases with each mutant of their workflows until one fails. Leaves out cases with a live model or live tools. */
export async function mutateTests(
  workspace: Workspace,
  tested: readonly TestedCase[],
  { signal, onMutant }: { readonly signal: AbortSignal; readonly onMutant: (done: MutantRun) => Promise<void> },
): Promise<Mutation[]> {
  const groups = [...groupBy(tested.filter(isRepeatable), ({ ready }) => ready.document)];
  if (groups.length === 0)
    throw usageError("--mutate needs a case with model: script:FILE or replay:FILE, and without live fixtures");
  const due = groups.map(([workflow, cases]) => ({ workflow, cases, mutants: mutantsIn(cases) }));
  const total = due.reduce((sum, { mutants }) => sum + mutants.length, 0);
  const done: Mutation[] = [];
  let number = 0;
  for (const { workflow, cases, mutants } of due) {
    const survived: Diagnostic[] = [];
    for (const [index, given] of mutants.entries()) {
      const { mutant, document } = given;
      const reaching = cases.filter((one) => reaches(one, given));
      const killer = await killerOf(workspace, given, { cases: reaching, signal });
      if (signal.aborted) return [...done, { workflow, mutants: index, survived }];
      const why = reaching.length === 0 ? ": no case reaches it" : "";
      const found = document.place([finding("MUTANT_SURVIVED", mutant.path, `no case fails ${mutant.change}${why}`)]);
      if (killer === undefined) survived.push(...found);
      number += 1;
      await onMutant({ number, total, line: found[0]?.line, change: mutant.change, killer });
    }
    done.push({ workflow, mutants: mutants.length, survived });
  }
  return done;
}

interface Placed {
  readonly mutant: Mutant;
  readonly document: TestedDocument;
}

function isRepeatable({ ready, model, index }: TestedCase): boolean {
  const which = ready.test.cases[index];
  return model.serving !== undefined && which !== undefined && !hasLiveTools(ready, which);
}

function mutantsIn(cases: readonly TestedCase[]): Placed[] {
  const records = cases.flatMap(({ runs }) => runs.slice(0, 1).map(({ record }) => record));
  return (cases[0]?.ready.documents ?? []).flatMap((document) =>
    mutantsOf(document.workflow)
      .map((mutant) => ({ mutant, document }))
      .filter((given) => !given.mutant.isWider || records.some((record) => canWrite(record, given))),
  );
}

/** Checks whether the node of a mutant has a tool that writes. */
function canWrite(record: RunRecord, { mutant, document }: Placed): boolean {
  const inner = Object.entries(record.inner ?? {}).map(([path, each]) => {
    return [path, document.at.includes(path) ? { ...each, workflow: mutant.workflow } : each];
  });
  const workflow = document.at.includes("") ? mutant.workflow : record.workflow;
  const program = linkProgram({ ...record, workflow, inner: Object.fromEntries(inner) });
  const now = { settings: { ...record.settings, writes: "allow" as const }, made: [], holdsBlobs: false, changed: [] };
  const { offered } = program.inside(document.at[0]).tools(mutant.node, now);
  return offered.some(({ effect }) => effect === "write");
}

function reaches({ runs }: TestedCase, { mutant, document }: Placed): boolean {
  return runs.some(({ reached }) => document.at.some((place) => reached.has(nodeKey(place, mutant.node))));
}

/** Returns the name of the first case that fails with the mutant, or that cannot even start. */
async function killerOf(
  workspace: Workspace,
  { mutant, document }: Placed,
  { cases, signal }: { readonly cases: readonly TestedCase[]; readonly signal: AbortSignal },
) {
  const { workflow: changed } = mutant;
  for (const { ready, model, index, name } of cases) {
    const which = ready.test.cases[index];
    if (!which) continue;
    const alter: Parameters<typeof runCase>[1]["alter"] = (workflow, path) =>
      document.at.includes(path) ? changed : workflow;
    try {
      const { failures } = await runCase(workspace, { ready, model, which, signal, alter });
      if (failures.length > 0) return name;
    } catch (error) {
      if (!(error instanceof SkillflowError)) throw error;
      return name;
    }
  }
  return undefined;
}
