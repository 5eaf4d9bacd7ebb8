import { join } from "node:path";
import { memoryStore, openProject, type RunResult } from "skillflow";
import { isObject } from "../../src/core/base/values.ts";
import { table } from "./board.ts";
import { withEvidence } from "./evidence.ts";
import type { Incident } from "./truth.ts";

/** A live model: the shipped workflow over each incident, several times, compared with what is true. */

interface Outcome {
  readonly right: { readonly verdict: boolean; readonly kind: boolean; readonly commit: boolean };
  /** Decoys whose commit was named as the cause. */
  readonly decoys: number;
  /** Claims that no cited result supports. */
  readonly dropped: number;
  readonly tokens: number;
  readonly costUsd: number | null;
}

export async function scoreLive(
  root: string,
  incidents: readonly Incident[],
  model: string,
  runs: number,
): Promise<string> {
  const rows: string[][] = [];
  for (const incident of incidents) {
    const outcomes: Outcome[] = [];
    for (let run = 0; run < runs; run++) outcomes.push(compare(incident, await triage(root, incident, model)));
    rows.push([`\`${incident.name}\``, ...cellsOf(outcomes)]);
  }
  const head = [
    `Incident (${model}, ${runs} runs)`,
    `pass^${runs}`,
    "Verdict",
    "Kind",
    "Commit",
    "Decoys",
    "Dropped",
    "Tokens",
    "Cost",
  ];
  return table(head, rows);
}

function triage(root: string, incident: Incident, model: string): Promise<RunResult> {
  return withEvidence(incident, async (directory) => {
    const project = await openProject({ directory, discover: false, store: memoryStore() });
    return project.run(join(root, "workflows/incident-triage.yml"), { input: incident.alert, model }).result;
  });
}

/** What a run says of verdict, kind of cause and commit, under whichever of its nodes says it last. */
function compare({ truth }: Incident, { status, results, usage, evidence }: RunResult): Outcome {
  const said = Object.values(results).map(({ data }) => data ?? {});
  const last = (key: string) => said.flatMap((data) => [...valuesOf(data, key)]).at(-1);
  const commit = last("commit") ?? null;
  const isNamed = (wanted: string) => typeof commit === "string" && commit.length >= 7 && wanted.startsWith(commit);
  const isDone = status === "succeeded";
  return {
    right: {
      verdict: isDone && last("verdict") === truth.verdict,
      kind: isDone && (last("cause_kind") ?? last("kind")) === truth.cause.kind,
      commit: isDone && (truth.cause.commit === null ? commit === null : isNamed(truth.cause.commit)),
    },
    decoys: truth.decoys.filter((decoy) => decoy.commit !== undefined && isNamed(decoy.commit)).length,
    dropped: evidence?.dropped ?? 0,
    tokens: usage.inputTokens + usage.outputTokens,
    costUsd: usage.costUsd,
  };
}

function* valuesOf(value: unknown, key: string): Generator<unknown> {
  if (Array.isArray(value)) for (const one of value) yield* valuesOf(one, key);
  if (!isObject(value)) return;
  for (const [name, one] of Object.entries(value)) {
    if (name === key) yield one;
    else yield* valuesOf(one, key);
  }
}

function cellsOf(outcomes: readonly Outcome[]): string[] {
  const count = (holds: (outcome: Outcome) => boolean) => `${outcomes.filter(holds).length}/${outcomes.length}`;
  const total = (of: (outcome: Outcome) => number) => outcomes.reduce((sum, outcome) => sum + of(outcome), 0);
  const passes = outcomes.every(({ right }) => right.verdict && right.kind && right.commit);
  const isPriced = outcomes.every(({ costUsd }) => costUsd !== null);
  return [
    passes ? "yes" : "no",
    count(({ right }) => right.verdict),
    count(({ right }) => right.kind),
    count(({ right }) => right.commit),
    String(total(({ decoys }) => decoys)),
    String(total(({ dropped }) => dropped)),
    String(total(({ tokens }) => tokens)),
    isPriced ? `$${total(({ costUsd }) => costUsd ?? 0).toFixed(2)}` : "unknown",
  ];
}
