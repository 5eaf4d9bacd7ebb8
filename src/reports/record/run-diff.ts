import { diffArrays } from "diff";
import { deepEqual, defined, groupBy, isObject, type Json, memberAt } from "../../core/base/values.ts";
import { nodePath } from "../../core/document/inner/place.ts";
import { modelText } from "../../core/document/model-list.ts";
import type { NodeResult } from "../../core/engine/event/node-result.ts";
import { recordedPrompts } from "../../core/engine/record/recorded-prompts.ts";
import { recordedSettings } from "../../core/engine/settings/settings.ts";
import type { Report } from "../model/report.ts";
import type { Visit } from "../model/visit.ts";
import { visitsOf } from "../model/visits.ts";
import { diffPrompts } from "./prompt-diff.ts";

/** Differences between two runs (`skillflow.diff/1`). Costs are listed, but do not count as a difference. */
export type RunDiff = ReturnType<typeof diffRuns>;

export function diffRuns(a: Report, b: Report) {
  const [pathA, pathB] = [pathOf(a), pathOf(b)];
  const [ofA, ofB] = [nodesOf(a), nodesOf(b)];
  const ids = [...new Set([...ofA.keys(), ...ofB.keys()])];
  const nodes = ids.flatMap((id) => {
    const found = diffNode(ofA.get(id), ofB.get(id));
    return found ? [[id, found] as const] : [];
  });
  const runs = [comparedRun(a), comparedRun(b)] as const;
  const apart = pathA.findIndex((node, index) => node !== pathB[index]);
  const first = pathA[apart] ?? pathB[pathA.length] ?? null;
  const ends = runs.map(({ status, verdict }) => ({ status, verdict }));
  return {
    schema: "skillflow.diff/1",
    same: first === null && nodes.length === 0 && deepEqual(ends[0], ends[1]),
    runs,
    /** Nodes in the order of their visits, and the first one that differs. */
    path: { first, a: pathA, b: pathB },
    nodes: Object.fromEntries(nodes),
  } as const;
}

function comparedRun({ record, events, result }: Report) {
  return {
    id: record.run,
    status: result.status,
    verdict: result.verdict ?? null,
    model: modelText(recordedSettings(record.settings, events).model),
    costUsd: result.usage.costUsd,
    tokens: result.usage.inputTokens + result.usage.outputTokens,
  };
}

function pathOf({ events }: Report): string[] {
  return events.flatMap((event) => (event.type === "node:enter" && event.at === undefined ? [event.node] : []));
}
type NodePast = ReturnType<typeof pastOf>;

function nodesOf(report: Report): ReadonlyMap<string, NodePast> {
  const visits = groupBy(visitsOf(report).every, ({ at, node }) => nodePath(at, node));
  const promptOf = recordedPrompts(report);
  return new Map([...visits].map(([id, own]) => [id, pastOf(own, report.result.results[id], promptOf)]));
}

function pastOf(
  visits: readonly Visit[],
  result: NodeResult | undefined,
  promptOf: ReturnType<typeof recordedPrompts>,
) {
  return {
    // Only nodes of the run itself are in its results.
    result: result ?? visits.findLast((visit) => visit.result)?.result,
    calls: visits.flatMap(({ calls }) => {
      return calls.map(({ tool, input, outcome = { unanswered: true as const } }) => ({ tool, input, outcome }));
    }),
    /** Initial prompts of the visits. A prompt is undefined if this version would create a different one. */
    prompts: visits.flatMap(({ turns }) => {
      const [first] = turns.flatMap((turn) => {
        return turn.kind === "asked" && turn.purpose === "work" && turn.answer.type === "model:reply"
          ? [turn.answer]
          : [];
      });
      return first ? [{ digest: first.prompt, prompt: () => promptOf(first) }] : [];
    }),
  };
}

type Made = NodePast["calls"][number];

/** Compares the last visits' results, all calls in order, and the first initial prompts that differ. */
function diffNode(a: NodePast | undefined, b: NodePast | undefined) {
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

/** Compares values recursively, down to paths such as `claims[2].quote`. A side without a value is left out. */
function diffData(a: Json | undefined, b: Json | undefined, path: string): { path: string; a?: Json; b?: Json }[] {
  if (deepEqual(a, b)) return [];
  if (Array.isArray(a) && Array.isArray(b)) {
    const length = Math.max(a.length, b.length);
    return Array.from({ length }, (_, at) => diffData(a[at], b[at], `${path}[${at}]`)).flat();
  }
  if (isObject(a) && isObject(b)) {
    const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])];
    const member = (of: object, key: string) => memberAt(of, key) as Json | undefined;
    return keys.flatMap((key) => diffData(member(a, key), member(b, key), path === "" ? key : `${path}.${key}`));
  }
  return [{ path, ...defined("a", a), ...defined("b", b) }];
}

/** Returns the calls that differ. An outcome is left out if the run did not make the call. */
function diffCalls(a: readonly Made[], b: readonly Made[]) {
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

function diffBeginnings(a: NodePast["prompts"], b: NodePast["prompts"]): string | null {
  const at = a.findIndex(({ digest }, index) => b[index] !== undefined && digest !== b[index].digest);
  if (at === -1) return null;
  const [before, after] = [a[at]?.prompt(), b[at]?.prompt()];
  if (!before || !after) return "this version cannot rebuild the prompt";
  return diffPrompts(before, after).join("\n");
}
