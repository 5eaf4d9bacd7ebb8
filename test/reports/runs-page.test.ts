import { expect, it } from "vitest";
import { STATE_MARKS } from "../../src/reports/html/finding.ts";
import { type RunsView, runsPage } from "../../src/reports/site/runs.ts";

it.each(["succeeded", "failed", "stopped", "interrupted", "waiting", "skipped"] as const)(
  "the list of runs marks a run that is %s as its report does",
  (status) => {
    const run = {
      ...{
        id: "r1",
        name: "Triage",
        headline: null,
        workflow: "triage",
        kind: "run",
        status,
        exitCode: 0,
        verdict: null,
      },
      ...{ degraded: [], unrouted: null, startedAt: "2026-01-31T08:00:00.000Z", durationMs: 1000 },
      ...{ costUsd: null, inputTokens: 0, outputTokens: 0 },
    } as unknown as RunsView["runs"][number];
    const list = { runs: [run], underWay: [], problems: [], page: 1, pages: 1, total: 1, place: "runs" };
    const page = runsPage({ ...list, view: { state: "", text: "" } }, "nonce");
    expect(page).toContain(`<span aria-hidden="true">${STATE_MARKS[status]}</span>${status}</span>`);
  },
);
