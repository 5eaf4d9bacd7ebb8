import { checkPath, followPath, parsePath } from "../../base/path.ts";
import type { Json, JsonObject } from "../../base/values.ts";
import { nodePath } from "../../document/inner/place.ts";
import type { RunEvent } from "../../engine/event/event.ts";
import { nodeAt, type RunRecord } from "../../engine/event/record.ts";
import type { RunResult } from "../../engine/result/result.ts";
import { exposedName } from "../../skill/tool-names.ts";
import { noFixture } from "./fixtures.ts";

type StepOutcome = "success" | "failed" | "skipped" | "planned";

export interface CaseRun {
  readonly record: RunRecord;
  readonly events: readonly RunEvent[];
  readonly result: RunResult;
  /** Cost of the recorded calls. If undefined, the cost of the run counts. */
  readonly costUsd?: number | null;
  /** Steps whose prompt differs from the recording. Undefined without a recording. */
  readonly changedPrompts: readonly string[] | undefined;
}

export type CaseOutcome = ReturnType<typeof outcomeOf>;

/** Returns the result of a test case's run, in the form that expectations check. */
export function outcomeOf({ record, events, result, ...rest }: CaseRun) {
  const { status, verdict, results, plan, evidence, usage, error } = result;
  const entered = events.filter((event) => event.type === "node:enter");
  return {
    status,
    verdict,
    /** One entry per visit of a node, in the order of entry. */
    path: entered.flatMap(({ at, node }) => (at === undefined ? [node] : [])),
    /** Visits including those in inner runs: `each[fp-81]/look`. */
    everyPath: entered.map(({ at, node }) => nodePath(at, node)),
    /** The last data of each node of inner runs, by the inner run's path and then by node. */
    inside: dataInside(events),
    data: Object.fromEntries(Object.entries(results).map(([node, { data }]) => [node, data])),
    /** Distinct exposed names of the called tools, in the order of their first calls. */
    called: [...new Set(callsIn(events).map(({ tool }) => tool))],
    /** Reasons for calls that were rejected, by tool. */
    refused: new Map(refusalsIn(events).map(({ tool, error = "" }) => [tool, error])),
    planned: plan.map((operation) => ({ ...operation, tool: exposedIn(record, operation) })) as JsonObject[],
    /** Results of the steps of `steps` nodes at their last visits: `look.logs`, `each[fp-81]/look.logs`. */
    steps: new Map(stepsIn(record, events)),
    evidence: (evidence ?? { claims: 0, supported: 0, dropped: 0, cites: 0, held: 0 }) as JsonObject,
    costUsd: rest.costUsd === undefined ? usage.costUsd : rest.costUsd,
    tokens: usage.inputTokens + usage.outputTokens,
    changedPrompts: rest.changedPrompts,
    /** Calls without a matching fixture, whose failure no edge handled. */
    unanswered: unansweredIn(events),
    error,
  };
}

function exposedIn({ skills }: RunRecord, of: { readonly skill: string; readonly tool: string }): string {
  const tools = skills.flatMap((skill) => skill.tools);
  return (
    tools.find((tool) => tool.skill === of.skill && tool.name === of.tool)?.exposed ?? exposedName(of.skill, of.tool)
  );
}

/** Returns the results of steps. A planned write that a fixture answers is planned, too. */
function stepsIn(record: RunRecord, events: readonly RunEvent[]): [string, StepOutcome][] {
  const operations = new Set(events.flatMap((event) => (event.type === "operation:planned" ? event.id : [])));
  const planned = new Set(
    events.flatMap((event) => (event.type === "tool:call" && operations.has(event.id) ? event.ref : [])),
  );
  return events.flatMap((event): [string, StepOutcome][] => {
    if (event.type !== "node:exit") return [];
    const { at, node, result } = event;
    return (nodeAt(record, at, node)?.steps ?? []).map(({ id }) => {
      const call = result.toolCalls.find(({ step }) => step === id);
      const isPlanned = call?.planned || planned.has(call?.ref ?? "");
      const came = call?.error !== undefined ? "failed" : isPlanned ? "planned" : "success";
      return [`${nodePath(at, node)}.${id}`, call ? came : "skipped"];
    });
  });
}

function dataInside(events: readonly RunEvent[]): ReadonlyMap<string, JsonObject> {
  const inside = new Map<string, JsonObject>();
  for (const event of events) {
    if (event.type !== "node:exit" || event.at === undefined) continue;
    inside.set(event.at, { ...inside.get(event.at), [event.node]: event.result.data });
  }
  return inside;
}

/** Splits `each[fp-81]/look.kind` into the inner run's path and the path within its data. */
export function splitPlace(path: string): { readonly place: string | undefined; readonly within: string } {
  const place = /^(?:[^[\]/.]+(?:\[[^\]]*\])?\/)+/.exec(path)?.[0];
  return place === undefined
    ? { place, within: path }
    : { place: place.slice(0, -1), within: path.slice(place.length) };
}

/** Returns the calls that were carried out. Calls of unknown tools and calls with invalid input do not count. */
function callsIn(events: readonly RunEvent[]) {
  const refused = new Set(refusalsIn(events).map(({ id }) => id));
  return events.flatMap((event) => (event.type === "tool:call" && !refused.has(event.id) ? [event] : []));
}

function refusalsIn(events: readonly RunEvent[]) {
  return events.flatMap((event) =>
    event.type === "tool:result" && (event.code === "tool.unknown" || event.code === "input.invalid") ? [event] : [],
  );
}

function unansweredIn(events: readonly RunEvent[]) {
  const inputs = new Map(callsIn(events).map(({ id, input }) => [id, input]));
  return events.flatMap((event, index) => {
    if (event.type !== "tool:result" || event.error !== noFixture(event.tool)) return [];
    const { tool, node, id } = event;
    const own = events.slice(index).filter(({ at }) => at === event.at);
    return isTakenOn(own, node) ? [] : [{ tool, node, input: inputs.get(id) ?? null }];
  });
}

/** Reports whether the node failed, softly or not, and an edge continued from it. */
function isTakenOn(rest: readonly RunEvent[], node: string): boolean {
  const left = rest.findIndex((event) => event.type === "node:exit" && event.node === node);
  const exit = rest[left];
  if (exit?.type !== "node:exit") return false;
  const { status, data } = exit.result;
  if (status !== "failed" && data.fail_soft !== true) return false;
  return rest.slice(left).some((event) => event.type === "route" && event.from === node);
}

/** Checks the values at a path according to its quantifier. `test` returns why a value is wrong. */
export function checkData(
  path: string,
  data: JsonObject,
  test: (value: Json | undefined) => string | undefined,
): string | undefined {
  const found = followPath(path, data);
  if ("missing" in found) return test(undefined) === undefined ? undefined : found.missing;
  return checkPath(path, data, (value) => test(value as Json));
}

export function valueAt(path: string, data: JsonObject): Json | undefined {
  const found = followPath(path, data);
  if ("missing" in found) return undefined;
  const isMany = parsePath(path)?.segments.some(({ each }) => each) === true;
  return isMany ? found : found[0];
}
