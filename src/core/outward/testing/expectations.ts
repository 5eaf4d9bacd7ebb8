import { shortText } from "../../base/preview.ts";
import { deepEqual, type Json } from "../../base/values.ts";
import { noFixture } from "./fixtures.ts";
import { accepted, complaintAbout, sides } from "./matcher.ts";
import { type CaseOutcome, checkData, splitPlace, valueAt } from "./outcome.ts";
import type { Expected } from "./test-file.ts";

export interface CaseFailure {
  /** Path of the expectation: `data.diagnose.commit`. */
  readonly path: string;
  readonly expected: Json;
  readonly actual: Json | undefined;
  readonly message: string;
  /** Accepts the failure: keys below `expect`, and their new value. Absent if only the workflow can be fixed. */
  readonly accept?: { readonly keys: readonly string[]; readonly value: Json };
}

/** Lists all differences from the expectations. By default, a run is expected to succeed. */
export function checkExpectations(expected: Expected, outcome: CaseOutcome): CaseFailure[] {
  const { status = "succeeded", verdict, path, data = {}, evidence = {}, steps = {}, cost_usd, tokens } = expected;
  const { error } = outcome;
  const why =
    error && outcome.status !== "succeeded" ? ` (${error.node ? `${error.node}: ` : ""}${error.message})` : "";
  return [
    ...compare(["status"], status, outcome.status, why),
    ...compare(["verdict"], verdict, outcome.verdict),
    ...compare(["path"], path, [...(namesInside(path) ? outcome.everyPath : outcome.path)]),
    ...Object.entries(data).flatMap(([at, wanted]) => checkMember(at, wanted, outcome)),
    ...checkCalled(expected, outcome),
    ...checkPlanned(expected, outcome),
    ...Object.entries(steps).flatMap(([step, wanted]) => compare(["steps", step], wanted, outcome.steps.get(step))),
    ...Object.entries(evidence).flatMap(([name, wanted]) =>
      compare(["evidence", name], wanted as Json, outcome.evidence[name]),
    ),
    ...compare(["cost_usd"], cost_usd as Json, outcome.costUsd ?? undefined),
    ...compare(["tokens"], tokens as Json, outcome.tokens),
    ...checkPrompts(expected, outcome),
    ...checkAnswers(expected, outcome),
  ];
}

/** Reports whether an expected path includes nodes of inner runs. If so, it must list all of them. */
function namesInside(path: Expected["path"]): boolean {
  return Array.isArray(path) && path.some((node) => node.includes("/"));
}

function compare(keys: readonly string[], wanted: Json | undefined, came: Json | undefined, why = ""): CaseFailure[] {
  if (wanted === undefined) return [];
  const complaint = complaintAbout(wanted, came);
  return complaint === undefined ? [] : [failure(keys, { wanted, came, message: `${complaint}${why}` })];
}

interface Missed {
  readonly wanted: Json;
  readonly came: Json | undefined;
  readonly message: string;
}

function failure(keys: readonly string[], { wanted, came, message }: Missed): CaseFailure {
  const [expected, actual] = sides(wanted, came);
  const next = came === undefined ? undefined : accepted(wanted, came);
  const isAccepted = next !== undefined && !deepEqual(next, wanted);
  const told = { path: keys.join("."), expected, actual, message };
  return isAccepted ? { ...told, accept: { keys, value: next } } : told;
}

function checkMember(path: string, wanted: Json, { data: own, inside }: CaseOutcome): CaseFailure[] {
  const { place, within } = splitPlace(path);
  const data = place === undefined ? own : (inside.get(place) ?? {});
  const complaint = checkData(within, data, (value) => complaintAbout(wanted, value));
  if (complaint === undefined) return [];
  const came = valueAt(within, data);
  const isOne = !Array.isArray(came) || !path.includes("[*]");
  if (isOne) return [failure(["data", path], { wanted, came, message: complaint })];
  return [{ path: `data.${path}`, expected: wanted, actual: came, message: complaint }];
}

function checkCalled({ called = [], not_called = [] }: Expected, outcome: CaseOutcome): CaseFailure[] {
  const missing = called.filter((tool) => !outcome.called.includes(tool));
  const calls = [...outcome.called];
  const why = missing.flatMap((tool) => outcome.refused.get(tool) ?? []);
  const because = why.length === 0 ? "" : ` (${why.join("; ")})`;
  const message = `${missing.join(", ")} ${missing.length === 1 ? "was" : "were"} not called${because}`;
  const uncalled: CaseFailure[] =
    missing.length === 0
      ? []
      : [{ path: "called", expected: called, actual: calls, message, accept: { keys: ["called"], value: calls } }];
  const unwanted = not_called.filter((tool) => outcome.called.includes(tool));
  if (unwanted.length === 0) return uncalled;
  const rest = not_called.filter((tool) => !unwanted.includes(tool));
  const told = `${unwanted.join(", ")} ${unwanted.length === 1 ? "was" : "were"} called`;
  const failed = { path: "not_called", expected: not_called, actual: unwanted, message: told };
  return [...uncalled, { ...failed, accept: { keys: ["not_called"], value: rest } }];
}

/** Matches each expected operation with a different planned one. */
function checkPlanned({ planned: wanted }: Expected, outcome: CaseOutcome): CaseFailure[] {
  if (wanted === undefined) return [];
  const left = [...outcome.planned];
  const missing = wanted.filter((operation) => {
    const index = left.findIndex((came) => complaintAbout(operation, came, "named") === undefined);
    if (index !== -1) left.splice(index, 1);
    return index === -1;
  });
  const isSurplus = wanted.length === 0 && outcome.planned.length > 0;
  if (missing.length === 0 && !isSurplus) return [];
  const [lost] = missing;
  const nearest = lost && outcome.planned.find(({ tool }) => deepEqual(tool, lost.tool));
  const complaint = lost && nearest ? complaintAbout(lost, nearest, "named") : undefined;
  const said = lost
    ? `no such operation was planned: ${shortText(JSON.stringify(lost), 120)}`
    : "no write was expected";
  const came = outcome.planned.map(({ tool = null, input = null }): Json => ({ tool, input }));
  const value = came.map((operation, n) => {
    const former = wanted[n];
    return former === undefined ? operation : accepted(former, outcome.planned[n] ?? operation, "named");
  });
  const message = complaint === undefined ? said : `${said} (${complaint})`;
  const [expected, actual] = nearest && lost ? sides(lost, nearest, "named") : [wanted as Json, came as Json];
  const failed: CaseFailure = { path: "planned", expected, actual, message };
  return [deepEqual(value, wanted) ? failed : { ...failed, accept: { keys: ["planned"], value } }];
}

function checkPrompts({ prompts }: Expected, { changedPrompts }: CaseOutcome): CaseFailure[] {
  if (prompts === undefined || changedPrompts === undefined || changedPrompts.length === 0) return [];
  const message = `the prompts of ${changedPrompts.length === 1 ? "one step" : `${changedPrompts.length} steps`} differ from the recording`;
  return [{ path: "prompts", expected: "unchanged", actual: [...changedPrompts], message }];
}

/** Reports calls without a fixture, except those that `not_called` already reports. */
function checkAnswers({ not_called = [] }: Expected, { unanswered }: CaseOutcome): CaseFailure[] {
  const seen = new Set<string>();
  return unanswered.flatMap(({ tool, node, input }) => {
    const call = JSON.stringify([tool, input]);
    if (not_called.includes(tool) || seen.has(call)) return [];
    seen.add(call);
    const message = `${noFixture(tool)} at ${node}, called with ${shortText(JSON.stringify(input), 300)}`;
    return [{ path: `tools.${tool}`, expected: "a matching fixture", actual: input, message }];
  });
}
