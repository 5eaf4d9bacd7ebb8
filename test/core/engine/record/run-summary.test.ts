import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { RunEvent } from "../../../../src/core/engine/event/event.ts";
import type { RunRecord } from "../../../../src/core/engine/event/record.ts";
import { skimEvent } from "../../../../src/core/engine/event/skim.ts";
import { fold } from "../../../../src/core/engine/fold/fold.ts";
import { begin } from "../../../../src/core/engine/fold/state.ts";
import { summarizeRun } from "../../../../src/core/engine/record/run-summary.ts";
import { describeResult } from "../../../../src/core/engine/result/result.ts";

const [record, ...events] = readFileSync("workflows/incident-triage.run.jsonl", "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line)) as [RunRecord, ...RunEvent[]];

const skim = (past: readonly RunEvent[]) => past.flatMap((event) => skimEvent(event) ?? []);

const CUTS = events.map((_, index) => index + 1);

test.each(CUTS)("the summary of a run that reached its event %i agrees with its result", (length) => {
  const past = events.slice(0, length);
  const { usage, status, exitCode, degraded } = describeResult(record, past.reduce(fold, begin(record)));
  const { costUsd, inputTokens, outputTokens, durationMs } = usage;
  expect(summarizeRun({ record, events: skim(past) })).toMatchObject({
    ...{ id: record.run, kind: "run", workflow: "incident-triage", name: "Incident triage" },
    verdict: length === events.length ? "incident" : null,
    ...{ status, exitCode, degraded, costUsd, inputTokens, outputTokens, durationMs },
    model: record.settings.model,
    startedAt: record.at,
    endedAt: length === events.length ? events.at(-1)?.time : null,
  });
});

test("a resumed run is running again, with the model of the resume, and the time between its processes does not count", () => {
  const last = events.at(-1) as RunEvent;
  const time = new Date(Date.parse(last.time) + 3_600_000).toISOString();
  const again = {
    type: "run:resume",
    settings: { model: "m:x" },
    seq: 99,
    time,
    epoch: 1,
    key: "r",
  } as RunEvent;
  const before = summarizeRun({ record, events: skim(events) });
  const after = summarizeRun({ record, events: skim([...events, again]) });
  expect(after).toEqual({
    ...before,
    status: "interrupted",
    exitCode: 130,
    endedAt: null,
    verdict: null,
    model: "m:x",
  });
});

test("the time for applying a plan does not count for the run", () => {
  const last = events.at(-1) as RunEvent;
  const after = (seconds: number) => new Date(Date.parse(last.time) + seconds * 1000).toISOString();
  const of = { operation: "op-1", digest: "0".repeat(64), epoch: 1, key: "after/1" };
  const applied: readonly RunEvent[] = [
    { ...of, type: "operation:begun", call: "c", by: "kim", seq: 98, time: after(60) },
    { ...of, type: "operation:ended", output: {}, seq: 99, time: after(90) },
  ];
  const past = [...events, ...applied];
  const spent = summarizeRun({ record, events: skim(events) }).durationMs;
  expect(summarizeRun({ record, events: skim(past) }).durationMs).toBe(spent);
  expect(describeResult(record, past.reduce(fold, begin(record))).usage.durationMs).toBe(spent);
});
