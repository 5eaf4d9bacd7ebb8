import { expect, test } from "vitest";
import { describeVerdict } from "../../../src/cli/terminal/verdict.ts";
import type { EventBody, RunEvent } from "../../../src/core/engine/event/event.ts";
import { stateOf } from "../../../src/core/engine/fold/fold.ts";
import { reportOf, triageRun } from "../../reports/triage-run.ts";

const { record } = triageRun();
const enter = (node: string): EventBody => ({ type: "node:enter", node, iteration: 1, instruction: "" });
const exit = (node: string): EventBody => {
  return { type: "node:exit", node, result: { status: "success", data: {}, toolCalls: [] } };
};
const failing = (node: string, id: string): EventBody[] => [
  { type: "tool:call", node, tool: "kit_team", input: {}, ref: id, id },
  { type: "tool:result", node, tool: "kit_team", error: "503", ref: id, id },
];

/** A run of a map over these keys, each of whose items calls a tool that fails, as another node does. */
function mapOver(keys: readonly string[]) {
  const items = keys.map((key, index) => ({ key, index }));
  const inside = keys.flatMap((key): (EventBody & { readonly at?: string })[] => {
    const at = `each[${key}]`;
    const own = [enter("look"), ...failing("look", `c${key}`), exit("look")].map((body) => ({ ...body, at }));
    const begin: EventBody = { type: "inner:start", node: "each", inner: at, item: key, input: {} };
    return [begin, ...own, { type: "inner:end", node: "each", inner: at, item: key, status: "success", data: {} }];
  });
  const bodies = [
    ...[enter("gather"), ...failing("gather", "g"), ...failing("gather", "h"), exit("gather")],
    ...[enter("each"), { type: "map:start", node: "each", items, left: 0 } as EventBody, ...inside, exit("each")],
    { type: "workflow:end", results: {}, status: "succeeded", reason: "done" } as EventBody,
  ];
  const events = bodies.map((body, seq): RunEvent => ({ ...body, seq, time: record.at, epoch: 0, key: `k${seq}` }));
  const report = reportOf({ ...record, skills: [] }, events);
  return { ...report, state: stateOf(report) };
}

test.each([
  [["1", "2"], "4 failed calls", "each[1]/look, each[2]/look: kit_team: 503"],
  [["1", "2", "3", "4", "5"], "7 failed calls", "each[1]/look, each[2]/look, each[3]/look and 2 more: kit_team: 503"],
])("equal failed calls in items %j are one line with their places", (keys, title, line) => {
  const verdict = describeVerdict(mapOver(keys), { paint: (_, text) => text, width: 200, program: "skillflow" });
  expect(verdict).toContain(title);
  expect(verdict).toContain(line);
  expect(verdict.match(/^ *✗ [^[\n]*: kit_team: 503/gm)).toHaveLength(1);
});
