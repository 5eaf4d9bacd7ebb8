import { diffArrays } from "diff";
import { deepEqual, defined, isObject, type Json } from "../../core/base/values.ts";
import { nodePath } from "../../core/document/inner/place.ts";
import { modelText } from "../../core/document/model-list.ts";
import type { RunEvent } from "../../core/engine/event/event.ts";
import type { NodeResult } from "../../core/engine/event/node-result.ts";
import type { Prompt } from "../../core/engine/event/prompt.ts";
import { recordedPrompts } from "../../core/engine/record/recorded-prompts.ts";
import type { Report } from "../model/report.ts";
import { diffPrompts } from "./prompt-diff.ts";

/** Differences between two runs (`skillflow.diff/1`). Costs are listed, but do not count as a difference. */
export interface RunDiff {
  readonly schema: "skillflow.diff/1";
  readonly same: boolean;
  readonly runs: readonly [ComparedRun, ComparedRun];
  /** Nodes in the order of their visits. `first` is the first one that differs between the runs. */
  readonly path: { readonly first: string | null; readonly a: readonly string[]; readonly b: readonly string[] };
  /** Nodes that differ. */
  readonly nodes: { readonly [id: string]: NodeDiff };
}

export interface ComparedRun {
  readonly id: string;
  readonly status: string;
  readonly verdict: string | null;
  readonly model: string;
  readonly costUsd: number | null;
  readonly tokens: number;
}

export interface NodeDiff {
  /** null if the run did not visit the node. */
  readonly status: { readonly a: string | null; readonly b: string | null };
  /** Differences of the last visit's result, by path. A side without a value is left out. */
  readonly data: readonly DataDiff[];
  /** Calls that only one run made, or that had different outcomes, in order. */
  readonly calls: readonly CallDiff[];
  /** Diff of the first initial prompt that differs between the visits. null if none does. */
  readonly prompt: string | null;
}

interface DataDiff {
  readonly path: string;
  readonly a?: Json;
  readonly b?: Json;
}

interface CallDiff {
  readonly tool: string;
  readonly input: Json;
  /** Outcome of the call. Left out if the run did not make it. */
  readonly a?: Outcome;
  readonly b?: Outcome;
}

type Outcome = { readonly output: Json } | { readonly error: string } | { readonly unanswered: true };

export function diffRuns(a: Report, b: Report): RunDiff {
  const [pathA, pathB] = [pathOf(a), pathOf(b)];
  const [ofA, ofB] = [nodesOf(a), nodesOf(b)];
  const ids = [...new Set([...ofA.keys(), ...ofB.keys()])];
  const nodes = ids.flatMap((id) => {
    const found = diffNode(ofA.get(id), ofB.get(id));
    return found ? [[id, found] as const] : [];
  });
  const runs = [comparedRun(a), comparedRun(b)] as const;
  const first = firstApart(pathA, pathB);
  const ends = runs.map(({ status, verdict }) => ({ status, verdict }));
  return {
    schema: "skillflow.diff/1",
    same: first === null && nodes.length === 0 && deepEqual(ends[0], ends[1]),
    runs,
    path: { first, a: pathA, b: pathB },
    nodes: Object.fromEntries(nodes),
  };
}

function comparedRun({ record, events, result }: Report): ComparedRun {
  const resumed = events.flatMap((event) =>
    event.type === "run:resume" ? (event.settings.model === undefined ? [] : [event.settings.model]) : [],
  );
  return {
    id: record.run,
    status: result.status,
    verdict: result.verdict ?? null,
    model: modelText(resumed.at(-1) ?? record.settings.model),
    costUsd: result.usage.costUsd,
    tokens: result.usage.inputTokens + result.usage.outputTokens,
  };
}

function pathOf({ events }: Report): string[] {
  return events.flatMap((event) => (event.type === "node:enter" && event.at === undefined ? [event.node] : []));
}

function firstApart(a: readonly string[], b: readonly string[]): string | null {
  const at = a.findIndex((node, index) => node !== b[index]);
  return a[at] ?? b[a.length] ?? null;
}

/** All visits of a run to a node. */
interface NodePast {
  readonly result: NodeResult | undefined;
  readonly calls: readonly Made[];
  /** Initial prompts of the visits. */
  readonly prompts: readonly Begun[];
}

interface Made {
  readonly tool: string;
  readonly input: Json;
  readonly outcome: Outcome;
}

interface Begun {
  readonly digest: string;
  /** Returns undefined if this version would create a different prompt. */
  readonly prompt: () => Prompt | undefined;
}

function nodesOf({ record, events, result }: Report): ReadonlyMap<string, NodePast> {
  const promptOf = recordedPrompts({ record, events });
  const past = new Map<string, RunEvent[]>();
  for (const event of events) {
    if (!("node" in event) || event.node === undefined) continue;
    const path = nodePath(event.at, event.node);
    if (event.type === "node:enter" && !past.has(path)) past.set(path, []);
    past.get(path)?.push(event);
  }
  const nodes = [...past].map(([id, own]) => {
    return [
      id,
      { result: result.results[id] ?? resultIn(own), calls: callsOf(own), prompts: begunWith(own, promptOf) },
    ] as const;
  });
  return new Map(nodes);
}

/** Returns the last result of a node, for nodes of inner runs. */
function resultIn(own: readonly RunEvent[]): NodeResult | undefined {
  const exit = own.findLast((event) => event.type === "node:exit");
  return exit?.type === "node:exit" ? exit.result : undefined;
}

function callsOf(events: readonly RunEvent[]): Made[] {
  const outcomes = new Map(
    events.flatMap((event): [string, Outcome][] => {
      if (event.type !== "tool:result") return [];
      return [[event.id, event.error === undefined ? { output: event.output ?? null } : { error: event.error }]];
    }),
  );
  return events.flatMap((event) => {
    if (event.type !== "tool:call") return [];
    const { tool, input, id } = event;
    return [{ tool, input, outcome: outcomes.get(id) ?? { unanswered: true } }];
  });
}

function begunWith(events: readonly RunEvent[], promptOf: ReturnType<typeof recordedPrompts>): Begun[] {
  let isFirst = false;
  return events.flatMap((event) => {
    if (event.type === "node:enter") isFirst = true;
    if (event.type !== "model:reply" || event.purpose !== "work" || !isFirst) return [];
    isFirst = false;
    return [{ digest: event.prompt, prompt: () => promptOf(event) }];
  });
}

function diffNode(a: NodePast | undefined, b: NodePast | undefined): NodeDiff | undefined {
  const status = { a: statusOf(a), b: statusOf(b) };
  if (!a || !b) return { status, data: [], calls: [], prompt: null };
  const data = diffData(a.result?.data, b.result?.data, "");
  const calls = diffCalls(a.calls, b.calls);
  const prompt = diffBeginnings(a.prompts, b.prompts);
  const isSame = status.a === status.b && data.length === 0 && calls.length === 0 && prompt === null;
  return isSame ? undefined : { status, data, calls, prompt };
}

function statusOf(past: NodePast | undefined): string | null {
  return past ? (past.result?.status ?? "active") : null;
}

/** Compares values recursively, down to paths such as `claims[2].quote`. */
function diffData(a: Json | undefined, b: Json | undefined, path: string): DataDiff[] {
  if (deepEqual(a, b)) return [];
  if (Array.isArray(a) && Array.isArray(b)) {
    const length = Math.max(a.length, b.length);
    return Array.from({ length }, (_, at) => diffData(a[at], b[at], `${path}[${at}]`)).flat();
  }
  if (isObject(a) && isObject(b)) {
    const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])];
    const member = (of: object, key: string) =>
      Object.hasOwn(of, key) ? (of as { [key: string]: Json })[key] : undefined;
    return keys.flatMap((key) => diffData(member(a, key), member(b, key), path === "" ? key : `${path}.${key}`));
  }
  return [{ path, ...defined("a", a), ...defined("b", b) }];
}

function diffCalls(a: readonly Made[], b: readonly Made[]): CallDiff[] {
  const comparator = (one: Made, other: Made) => one.tool === other.tool && deepEqual(one.input, other.input);
  let [atA, atB] = [0, 0];
  return diffArrays([...a], [...b], { comparator }).flatMap(({ added, removed, value }) =>
    value.flatMap(({ tool, input }) => {
      const was = added ? undefined : a[atA++]?.outcome;
      const is = removed ? undefined : b[atB++]?.outcome;
      return deepEqual(was, is) ? [] : [{ tool, input, ...defined("a", was), ...defined("b", is) }];
    }),
  );
}

function diffBeginnings(a: readonly Begun[], b: readonly Begun[]): string | null {
  const at = a.findIndex(({ digest }, index) => b[index] !== undefined && digest !== b[index].digest);
  if (at === -1) return null;
  const [before, after] = [a[at]?.prompt(), b[at]?.prompt()];
  if (!before || !after) return "this version cannot rebuild the prompt";
  return diffPrompts(before, after).join("\n");
}
