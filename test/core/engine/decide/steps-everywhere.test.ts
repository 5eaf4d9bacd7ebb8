import { describe, expect, test } from "vitest";
import { faultOfRecording } from "../../../../src/core/engine/record/recording.ts";
import { describeResult } from "../../../../src/core/engine/result/result.ts";
import type { Outcome } from "../../../../src/core/skill/skill.ts";
import { reportHtml } from "../../../../src/reports/html/report.ts";
import { junitXml } from "../../../../src/reports/junit.ts";
import { summaryMarkdown } from "../../../../src/reports/markdown.ts";
import type { Report } from "../../../../src/reports/model/report.ts";
import { postmortemMarkdown } from "../../../../src/reports/postmortem.ts";
import { nodeVisits } from "../../../../src/reports/record/node-visits.ts";
import { sarifOfRun } from "../../../../src/reports/sarif.ts";
import { atifTrajectory } from "../../../../src/reports/telemetry/atif.ts";
import { spansOf } from "../../../../src/reports/telemetry/spans.ts";
import { digestPrompt } from "../../../../src/run/digest.ts";
import {
  inline,
  type NodeParts,
  OPS,
  type Played,
  play,
  recordOf,
  resultAt,
  workflowOf,
} from "../../../harness/harness.ts";

/** A steps node in every place where nodes occur. */

const LOOK: NodeParts = {
  skills: ["ops"],
  steps: [
    { id: "one", tool: "look", with: { id: "{{input.id}}" } },
    { id: "two", tool: "peek", with: { was: "{{steps.one}}" } },
    { id: "three", tool: "act" },
  ],
};

const failed: Outcome = { error: "no disk", code: "tool.failed", acted: "no" };
const ended = (record: ReturnType<typeof recordOf>, { state }: Played) => describeResult(record, state);

describe("a steps node", () => {
  test("runs for each item of a map, with references of the whole run", () => {
    const steps: NodeParts["steps"] = [{ id: "one", tool: "look", with: { id: "{{input.item}}" } }];
    const inside = inline({ look: { skills: ["ops"], steps } });
    const each: NodeParts = { map: { over: "input.list", as: "item", key: "item", concurrency: 2 }, ...inside };
    const record = recordOf(workflowOf({ each }), { skills: [OPS], input: { list: ["a", "b", "c"] } });
    const played = play(record, { tools: ({ input }) => ({ output: { got: input } }) });
    const { items } = resultAt(played, "each").data as { items: { key: string; status: string; data: object }[] };
    expect(items.map(({ key, status, data }) => ({ key, status, data }))).toEqual(
      ["a", "b", "c"].map((key) => ({
        key,
        status: "success",
        data: { results: { look: { one: { got: { id: key } } } } },
      })),
    );
    expect(played.called.map(({ ref }) => ref).sort()).toEqual(["r1", "r2", "r3"]);
    expect(faultOfRecording(record, played.events)).toBeUndefined();
  });

  test("has the status failed in its span if a step failed, although a resume continues inside it", () => {
    const record = recordOf(workflowOf({ look: LOOK }), { skills: [OPS], input: { id: 7 } });
    const { events, state } = play(record, { tools: () => failed });
    expect(state.unfinished?.node).toBe("look");
    const spans = spansOf({ record, events, content: false });
    expect(
      spans.flatMap(({ attributes }) =>
        attributes["skillflow.node"] === "look" ? [attributes["skillflow.status"]] : [],
      ),
    ).toContain("failed");
    expect(JSON.stringify(spans)).not.toContain("unfinished");
  });

  test("resumes at each event as if it had not stopped, except for writes in doubt", () => {
    const record = recordOf(workflowOf({ look: LOOK, judge: {} }, ["look -> judge"]), {
      skills: [OPS],
      input: { id: 7 },
    });
    const whole = play(record);
    const data = resultAt(whole, "look").data;
    for (let length = 1; length < whole.events.length; length++) {
      const past = whole.events.slice(0, length);
      const resumed = play(record, { past, epoch: 1 });
      const announced = past.filter(({ type }) => type === "tool:call").length;
      const answered = past.filter(({ type }) => type === "tool:result").length;
      const isDoubt = announced === 3 && answered === 2;
      if (isDoubt) expect(resultAt(resumed, "look").data.error).toMatch(/^step three: in doubt/);
      else expect([length, resultAt(resumed, "look").data]).toEqual([length, data]);
      expect(faultOfRecording(record, resumed.events)).toBeUndefined();
      const seen = resumed.asks.map(({ prompt }) => digestPrompt(prompt));
      if (!isDoubt) expect(whole.asks.map(({ prompt }) => digestPrompt(prompt))).toEqual(expect.arrayContaining(seen));
    }
  });

  test("plans what an approval of the plan asks for", () => {
    const workflow = workflowOf({ look: LOOK, ask: { approval: { ask: "Shall it?", of: "plan" } }, tell: LOOK }, [
      "look -> ask",
      "ask -> tell",
    ]);
    const record = recordOf(workflow, { skills: [OPS], input: { id: 7 }, settings: { writes: "plan" } });
    const waiting = play(record);
    const [{ digest } = {}] = ended(record, waiting).waiting ?? [];
    expect(digest).toMatch(/^[0-9a-f]+$/);
    const word = { type: "approval:given", node: "ask", approved: true, by: "me", settings: {} } as const;
    const done = play(record, { past: waiting.events, epoch: 1, word });
    expect(ended(record, done)).toMatchObject({ status: "succeeded", plan: [{ node: "look" }] });
    expect(resultAt(done, "tell").data.three).toMatchObject({ planned: true, id: "op-1" });
  });

  test.each<[string, NodeParts["steps"], string]>([
    ["its only call", [{ id: "one", tool: "look", on_error: "skip" }], "its only call failed: ops_look: no disk"],
    [
      "every call",
      [
        { id: "one", tool: "look", on_error: "skip" },
        { id: "two", tool: "peek", on_error: "skip" },
      ],
      "none of its 2 calls succeeded: ops_look: no disk",
    ],
  ])("degrades the run if %s failed, although it may be skipped", (_, steps = [], reason) => {
    const record = recordOf(workflowOf({ look: { skills: ["ops"], steps } }), { skills: [OPS] });
    const result = ended(record, play(record, { tools: () => failed }));
    expect(result).toMatchObject({ status: "succeeded", degraded: [{ node: "look", ref: "r1", reason }] });
  });
});

describe("the calls of a steps node are in", () => {
  const record = recordOf(workflowOf({ look: LOOK, judge: {} }, ["look -> judge"]), {
    skills: [OPS],
    input: { id: 7 },
  });
  const played = play(record, { tick: 1000 });
  const report: Report = { record, events: played.events, result: ended(record, played), digest: digestPrompt };

  test.each<[string, () => unknown]>([
    ["the HTML report", () => reportHtml(report)],
    ["its record", () => nodeVisits({ ...report, digest: digestPrompt }, "look").visits[0]?.calls],
    ["the spans", () => spansOf({ ...report, captures: false } as never)],
    ["the trajectory", () => atifTrajectory(report, { version: "1" })],
  ])("%s", (_, render) => {
    const text = JSON.stringify(render());
    for (const tool of ["ops_look", "ops_peek", "ops_act"]) expect(text).toContain(tool);
  });

  test.each<[string, () => string]>([
    ["Markdown", () => summaryMarkdown(report)],
    ["JUnit", () => junitXml(report)],
    ["SARIF", () => sarifOfRun(report)],
    ["a postmortem", () => postmortemMarkdown(report)],
  ])("a run of which %s can be written", (_, render) => {
    expect(render()).not.toBe("");
  });
});
