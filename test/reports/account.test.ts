import { describe, expect, it } from "vitest";
import type { Json } from "../../src/core/base/values.ts";
import type { EventBody, RunEvent } from "../../src/core/engine/event/event.ts";
import type { NodeResult } from "../../src/core/engine/event/node-result.ts";
import { html } from "../../src/reports/html/markup/markup.ts";
import { proseHtml } from "../../src/reports/html/markup/prose.ts";
import { valueHtml } from "../../src/reports/html/markup/value.ts";
import { junitXml } from "../../src/reports/junit.ts";
import { summaryMarkdown } from "../../src/reports/markdown.ts";
import { accountOf } from "../../src/reports/model/account.ts";
import { costsOf } from "../../src/reports/model/costs.ts";
import type { Report } from "../../src/reports/model/report.ts";
import { timelineOf } from "../../src/reports/model/timeline.ts";
import { durationOf } from "../../src/reports/model/visit.ts";
import { conclusionsOf } from "../../src/reports/model/visits.ts";
import { postmortemMarkdown } from "../../src/reports/postmortem.ts";
import { reportOf, triageRun } from "./triage-run.ts";

const { record } = triageRun();

/** A run of these nodes, in order, each with its data. */
function runOf(nodes: Readonly<Record<string, Json>>, change: Partial<Report["record"]["workflow"]> = {}): Report {
  const bodies = Object.entries(nodes).flatMap(([node, data]): EventBody[] => [
    { type: "node:enter", node, iteration: 1, instruction: "" },
    { type: "node:exit", node, result: { status: "success", data: data as { [key: string]: Json }, toolCalls: [] } },
  ]);
  return reportOf({ ...record, skills: [], workflow: { ...record.workflow, ...change } }, numbered(bodies));
}

function numbered(bodies: readonly EventBody[]): RunEvent[] {
  const end: EventBody = { type: "workflow:end", results: {}, status: "succeeded", reason: "done" };
  return [...bodies, end].map((body, seq) => {
    return { ...body, seq, time: new Date(Date.parse(record.at) + seq * 1000).toISOString(), epoch: 0, key: `k${seq}` };
  });
}

describe("the finding of a run", () => {
  const nodes = {
    gather: { summary: "Errors at 14:38.", cause: { summary: "a leak" }, severity: "low" },
    challenge: { cause: "no release", file: "src/pool.ts", line: 42, confidence: "high" },
    page: { headline: "Checkout fails", severity: "SEV1", first_step: "roll back" },
  };

  it("consists of the fields that the workflow's report names, and of values next to the cause", () => {
    const report = {
      headline: "page.headline",
      severity: "page.severity",
      cause: "challenge.cause",
      action: "page.first_step",
      impact: "page.impact",
    };
    const { finding, headline } = accountOf(runOf(nodes, { report }));
    expect(headline).toBe("Checkout fails");
    expect(finding).toMatchObject({
      severity: "SEV1",
      cause: { text: "no release", file: "src/pool.ts", line: "42", confidence: "high" },
      first_step: "roll back",
    });
    expect(finding, "an unresolved path is left out").not.toHaveProperty("impact");
  });

  it("comes from the last nodes that returned data if the workflow names no fields", () => {
    const { finding } = accountOf(runOf(nodes));
    expect(finding).toMatchObject({
      headline: "Checkout fails",
      severity: "SEV1",
      cause: { text: "no release" },
      first_step: "roll back",
    });
  });

  it("is marked if its sentence is a claim without evidence, even if another claim is shown", () => {
    const report = { headline: "find.headline", cause: "find.cause" };
    const data = { headline: "Checkout fails", cause: "The disk is full." };
    const claim = (text: string, supported: boolean) => ({ claim: { claim: text }, supported, cites: [] });
    const checked = (...claims: ReturnType<typeof claim>[]) => {
      const { record: ran, events } = runOf({ find: data }, { report });
      const body: EventBody = { type: "evidence:checked", node: "find", evaluator: "e", claims, excerpts: {} };
      const [entered, ...others] = events as [RunEvent, ...RunEvent[]];
      return accountOf(reportOf(ran, [entered, { ...entered, ...body }, ...others])).finding;
    };
    const other = claim("Errors rose at 14:38", true);
    expect(checked(claim("The disk  is full", false), other)).toMatchObject({
      isUnshown: true,
      headline: "Cause not shown by evidence: Checkout fails",
      cause: { text: "The disk is full." },
    });
    expect(checked(claim("The disk is full", true), other)).not.toHaveProperty("isUnshown");
    expect(checked(claim("The pool is empty", false), other)).not.toHaveProperty("isUnshown");
  });

  it("lists the claims that a node only marks, with the reasons", () => {
    const rule = { claims: "claims[*]" };
    const evaluators = [{ name: "e", kind: "evidence" as const, rule, on_unsupported: "mark" as const }];
    const find = { name: "Find", instruction: "Find.", eval: evaluators };
    const { record: ran, events } = runOf({ find: { cause: "a leak" } }, { nodes: { find } });
    const claims = [
      { claim: { claim: "It leaks" }, supported: true, cites: [{ ref: "r1", quote: "a leak of memory" }] },
      {
        claim: { claim: "The disk is full" },
        supported: false,
        cites: [
          { ref: "r1", quote: "disk is full", code: "not_found" as const, problem: "its quote does not occur in r1" },
        ],
      },
    ];
    const body: EventBody = { type: "evidence:checked", node: "find", evaluator: "e", claims, excerpts: {} };
    const [entered, ...others] = events as [RunEvent, ...RunEvent[]];
    const text = summaryMarkdown(reportOf(ran, [entered, { ...entered, ...body }, ...others]));
    expect(text).toMatch(/Not shown by evidence: The disk is full — r1: its quote does not occur in r1/);
  });

  it("names the facts of its texts that were not found, in every report", () => {
    const report = { headline: "find.headline", cause: "find.cause", impact: "find.impact" };
    const { record: ran, events } = runOf(
      { find: { headline: "33 orders lost", cause: "900 slots", impact: "12 % fail" } },
      { report },
    );
    const texts = Object.entries({ headline: "33", cause: "900", impact: "12 %" }).map(([path, fact]) => {
      return { path, missing: [fact] };
    });
    const body: EventBody = { type: "evidence:checked", node: "find", evaluator: "e", claims: [], texts, excerpts: {} };
    const [entered, ...others] = events as [RunEvent, ...RunEvent[]];
    const marked = reportOf(ran, [entered, { ...entered, ...body }, ...others]);
    expect(accountOf(marked).headline).toContain("33 orders lost (facts not found: 33)");
    for (const text of [summaryMarkdown(marked), postmortemMarkdown(marked)]) {
      expect(text).toContain("33 orders lost (facts not found: 33)");
      expect(text).toContain("900 slots **facts not found: 900**");
      expect(text).toContain("12 % fail **facts not found: 12 %**");
    }
  });

  it("is empty if its nodes returned nothing, and the run's reason is the headline", () => {
    const { finding, headline } = accountOf(runOf({ gather: {} }));
    expect([finding.headline, headline]).toEqual([undefined, "Incident triage: done"]);
  });
});

describe("the state of a run", () => {
  it("is degraded if an edge handled a failure, in every report", () => {
    const report = triageRun();
    expect(accountOf(report)).toMatchObject({
      state: "degraded",
      standing: "succeeded, 1 node failed during the run, 1 node degraded",
    });
    expect(summaryMarkdown(report).split("\n", 1)[0]).toBe("## ▲ Incident triage: degraded");
    const xml = junitXml(report);
    expect(xml).toContain('<property name="state" value="degraded"/>');
    expect(xml).toMatch(/name="page"[^>]*>\n {6}<system-out>degraded: [^<]*no tool to page with/);
    expect(xml).not.toContain("<failure");
  });

  it("includes the first failure, and the next command for its kind", () => {
    const { failure } = accountOf(triageRun({ fails: true }));
    expect(failure).toMatchObject({
      node: "page",
      visit: { number: 7, anchor: "visit-7" },
      end: "Draft the post-mortem: the limit of 20 turns was reached",
    });
    expect(failure?.next.map(({ command }) => command)).toContain("runs show 2026-11-20-checkout-7f3a page");
  });

  it("names the flag that raises the limit that stopped it", () => {
    const { record: ran, events } = triageRun({ fails: true });
    const stopped = events.map((event): RunEvent => {
      if (event.type !== "workflow:end") return event;
      return { ...event, status: "stopped", error: { code: "limit.reached", message: "the limit of $2 was reached" } };
    });
    const { failure, state } = accountOf(reportOf(ran, stopped));
    expect([state, failure?.message, failure?.next[0]?.text]).toEqual([
      "stopped",
      "the limit of $2 was reached",
      "raise the limit and continue",
    ]);
  });

  it("does not report lost skills for a node that had them, although a later resume lacks them", () => {
    const [skill] = triageRun().record.skills;
    const workflow = { ...record.workflow, nodes: { a: { name: "A", skills: [skill?.id ?? ""] }, b: { name: "B" } } };
    const { events } = runOf({ a: { done: true }, b: {} });
    const resumed: RunEvent = {
      ...(events[2] as RunEvent),
      type: "run:resume",
      settings: {},
      skills: [{ id: skill?.id ?? "", available: false, reason: "TOKEN is not set" }],
    } as RunEvent;
    const report = reportOf({ ...record, workflow } as typeof record, [
      ...events.slice(0, 2),
      resumed,
      ...events.slice(2),
    ]);
    expect(accountOf(report).deeds.undone).toEqual([]);
  });

  it("explains in plain words why wanted writes were not done, and leaves out unwanted ones", () => {
    const { deeds } = accountOf(triageRun());
    expect(deeds.undone.map(({ text, why }) => `${text}: ${why}`)).toEqual([
      "Page the on-call engineer: failed: no tool to page with: slack is not available ",
    ]);
  });
});

describe("the visits that reports count", () => {
  const enter = (node: string): EventBody => ({ type: "node:enter", node, iteration: 1, instruction: "" });
  const exit = (node: string, result: Partial<NodeResult> = {}): EventBody => {
    return { type: "node:exit", node, result: { status: "success", data: { of: node }, toolCalls: [], ...result } };
  };
  const cites = [{ ref: "r1", quote: "code 503" }];
  const checked = (node: string, claim: string, refuted?: string): EventBody => {
    const refutation = { claim: refuted ?? "", nodes: ["inv"], holds: true, reason: "it is a test", cites };
    const own = refuted === undefined ? {} : { refuted: [refutation] };
    const claims = [{ claim, supported: true, cites }];
    return { type: "evidence:checked", node, evaluator: "e", claims, excerpts: {}, ...own };
  };
  const writes = (id: string, outcome: { readonly acted?: "no" | "unknown" }): EventBody[] => [
    { type: "tool:call", node: "file", tool: "put", input: { title: id }, ref: id, id },
    { type: "tool:result", node: "file", tool: "put", error: "no", ref: id, id, ...outcome },
  ];
  const inv = [enter("inv"), checked("inv", "the pool was full"), exit("inv")];
  const bodies: EventBody[] = [
    ...inv,
    enter("chal"),
    checked("chal", "the disk is full", "the pool was full"),
    exit("chal"),
    enter("file"),
    ...writes("r2", { acted: "no" }),
    ...writes("r3", { acted: "unknown" }),
    exit("file", { status: "failed", data: { error: "no" } }),
    {
      type: "workflow:end",
      results: {},
      status: "failed",
      reason: "no",
      error: { code: "node.failed", message: "no" },
    },
    { type: "run:resume", from: "inv", settings: {} },
    ...inv,
  ];
  const tool = { name: "put", exposed: "put", description: "", inputSchema: {}, effect: "write" as const };
  const skills = [{ id: "kit", name: "Kit", format: "module", available: true, tools: [tool] }];
  const report = reportOf({ ...record, skills } as unknown as typeof record, numbered(bodies));
  const account = accountOf(report);

  it("are not those that a resume took back", () => {
    const { evidence, deeds } = account;
    expect(evidence.claims.map(({ text, status }) => [text, status])).toEqual([["the pool was full", "found"]]);
    expect(
      deeds.undone.map(({ text }) => text),
      "a write that may have been carried out",
    ).toEqual(["put: “r3”"]);
    expect(conclusionsOf(account.visits).map(({ number }) => number)).toEqual([4]);
  });

  it("are judged for each item of a map alone", () => {
    const inside = (key: string, refuted?: string): RunEvent[] => {
      const own = [enter("inv"), checked("inv", "the pool was full"), exit("inv")];
      const later = refuted === undefined ? [] : [enter("chal"), checked("chal", "no", refuted), exit("chal")];
      const at = `each[${key}]`;
      const begin: EventBody = { type: "inner:start", node: "each", inner: at, item: key, input: {} };
      const end: EventBody = { type: "inner:end", node: "each", inner: at, item: key, status: "success", data: {} };
      const steps = numbered([...own, ...later]).slice(0, -1);
      return [begin as RunEvent, ...steps.map((event) => ({ ...event, at })), end as RunEvent];
    };
    const items = ["1", "2", "3"].map((key, index) => ({ key, index }));
    const start: EventBody = { type: "map:start", node: "each", items, left: 0 };
    const inner = [...inside("1", "the pool was full"), ...inside("2"), ...inside("3")];
    const all = numbered([enter("each"), start, ...inner, exit("each")] as EventBody[]);
    const mapped = reportOf(record, all);
    const { evidence } = accountOf(mapped);
    expect(postmortemMarkdown(mapped)).toContain("3 of 4 claims kept.");
    expect(evidence.claims.map(({ text, status }) => `${text}: ${status}`)).toEqual([
      "no: found",
      "the pool was full: found",
      "the pool was full: found",
      "the pool was full: refuted",
    ]);
  });

  it("leave the others in the list of visits, and out of the tests", () => {
    expect(account.visits.map(({ isTakenBack }) => isTakenBack)).toEqual([true, true, true, false]);
    expect(summaryMarkdown(report)).toContain("taken back by `resume --from`");
    expect(junitXml(report)).toContain('tests="1" failures="0"');
  });
});

it("lists the nodes with write steps that were denied as not done, all items of a map in one row", () => {
  const denied = (node: string): EventBody[] => [
    { type: "node:enter", node, iteration: 1, instruction: "" },
    { type: "node:exit", node, result: { status: "success", data: {}, toolCalls: [] }, denied: ["issue", "say"] },
  ];
  const inside = ["each[1]", "each[2]"].flatMap((inner) => [
    { type: "inner:start", node: "each", inner, item: inner.slice(5, 6), input: {} } as EventBody,
    ...denied("look").map((body) => ({ ...body, at: inner })),
  ]);
  const enter: EventBody = { type: "node:enter", node: "each", iteration: 1, instruction: "" };
  const { deeds } = accountOf(reportOf(record, numbered([enter, ...inside, ...denied("page")])));
  expect(deeds.undone.filter(({ why }) => why?.includes("denied"))).toEqual([
    { text: "look", why: "writes are denied: steps issue, say", at: "visit-1-1-1" },
    { text: expect.stringMatching(/page/i), why: "writes are denied: steps issue, say", at: "visit-2" },
  ]);
});

describe("the time and the cost of a run", () => {
  it("place calls that run concurrently in different lanes", () => {
    const at = (seconds: number) => new Date(Date.parse(record.at) + seconds * 1000).toISOString();
    const call = (id: string, ref: string) => ({ node: "gather", tool: "logs", id, ref });
    const bodies: [number, EventBody][] = [
      [0, { type: "node:enter", node: "gather", iteration: 1, instruction: "" }],
      [1, { type: "tool:call", input: {}, ...call("a", "r1") }],
      [1, { type: "tool:call", input: {}, ...call("b", "r2") }],
      [3, { type: "tool:result", output: 1, ...call("a", "r1") }],
      [5, { type: "tool:result", error: "late", ...call("b", "r2") }],
      [6, { type: "tool:call", input: {}, ...call("c", "r3") }],
      [7, { type: "tool:result", output: 1, ...call("c", "r3") }],
    ];
    const events = bodies.map(
      ([seconds, body], seq): RunEvent => ({ ...body, seq, time: at(seconds), epoch: 0, key: "k" }),
    );
    const { visits } = accountOf(reportOf(record, events));
    const [row] = timelineOf(events, visits).rows.values();
    expect(row?.bars.map(({ from, to, lane, failed }) => [from, to, lane, failed])).toEqual([
      [1000, 3000, 0, false],
      [1000, 5000, 1, true],
      [6000, 7000, 0, false],
    ]);
    expect(row?.lanes).toBe(2);
  });

  it("do not count while no process drives the run", () => {
    const { events } = triageRun();
    const later = events.map((event, index): RunEvent => {
      if (index < 20) return event;
      return { ...event, epoch: 1, time: new Date(Date.parse(event.time) + 3_600_000).toISOString() };
    });
    const whole = timelineOf(events, accountOf(triageRun()).visits);
    const broken = timelineOf(later, accountOf(reportOf(record, later)).visits);
    expect(broken.ms).toBeLessThanOrEqual(whole.ms);
    expect(broken.breaks).toEqual([{ at: expect.any(Number), ms: expect.any(Number) }]);
    expect(broken.breaks[0]?.ms).toBeGreaterThanOrEqual(3_600_000);
  });

  it("do not count while a map's item waits for a person", () => {
    const inner = { node: "gather", inner: "gather[a]", item: "a" };
    const bodies: [number, number, EventBody & { readonly at?: string }][] = [
      [0, 0, { type: "node:enter", node: "gather", iteration: 1, instruction: "" }],
      [0, 0, { type: "map:start", node: "gather", items: [{ key: "a", index: 0 }], left: 0 }],
      [1, 0, { type: "inner:start", ...inner, input: {} }],
      [1, 0, { type: "node:enter", node: "ok", iteration: 1, instruction: "", at: "gather[a]" }],
      [2, 0, { type: "approval:asked", node: "ok", ask: "Shall it?", at: "gather[a]" }],
      [90, 1, { type: "approval:given", node: "ok", approved: true, by: "me", settings: {}, at: "gather[a]" }],
      [
        91,
        1,
        { type: "node:exit", node: "ok", result: { status: "success", data: {}, toolCalls: [] }, at: "gather[a]" },
      ],
      [91, 1, { type: "inner:end", ...inner, status: "success", data: {} }],
      [92, 1, { type: "node:exit", node: "gather", result: { status: "success", data: {}, toolCalls: [] } }],
    ];
    const events = bodies.map(([seconds, epoch, body], seq): RunEvent => {
      return { ...body, seq, time: new Date(Date.parse(record.at) + seconds * 1000).toISOString(), epoch, key: "k" };
    });
    const [visit] = accountOf(reportOf(record, events)).visits;
    const [item] = visit?.inner ?? [];
    expect([visit, item, item?.visits[0]].map((each) => each && durationOf(each))).toEqual([4000, 2000, 2000]);
    expect(junitXml(reportOf(record, events))).toContain('time="4.000"');
  });

  it("are summed by node over its visits", () => {
    const costs = costsOf(accountOf(triageRun()).visits);
    expect(costs.find(({ node }) => node === "gather")).toMatchObject({
      visits: 2,
      modelCalls: 4,
      calls: 4,
      inputTokens: 24_800,
    });
    expect(costs.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0)).toBeCloseTo(
      triageRun().result.usage.costUsd ?? 0,
    );
  });
});

describe("a model's Markdown", () => {
  const shown = (text: string) => proseHtml(text, (piece) => html`${piece}`).markup;

  it.each([
    ["a paragraph", "one\ntwo", "<p>one\ntwo</p>"],
    ["bold and code", "**a** and `b`", "<p><strong>a</strong> and <code>b</code></p>"],
    ["a list", "- a\n- b", '<ul><li class="depth-0">a</li><li class="depth-0">b</li></ul>'],
    ["a numbered list", "1. a\n2. b", '<ol><li class="depth-0">a</li><li class="depth-0">b</li></ol>'],
    ["a block of code", "```js\nif (a < b) {}\n```", "<pre><code>if (a &#60; b) {}</code></pre>"],
    ["a heading", "## Cause", "<p><strong>Cause</strong></p>"],
    ["HTML as text", "<img src=x onerror=alert(1)>", "<p>&#60;img src=x onerror=alert(1)&#62;</p>"],
    ["a link as text", "[a](javascript:alert(1))", "<p>[a](javascript:alert(1))</p>"],
    ["an open fence to the end", "```\nx", "<pre><code>x</code></pre>"],
  ])("renders %s", (_what, text, expected) => {
    expect(shown(text)).toBe(`<div class="prose" dir="auto">${expected}</div>`);
  });

  it.each(["one line", "two\nlines"])("takes the direction of %j from the text", (text) => {
    expect(valueHtml(text, { cites: () => false, prose: true }).markup).toMatch(/^<div (?:class="prose" )?dir="auto">/);
  });

  it("renders a table", () => {
    expect(shown("| a | b |\n|---|---|\n| 1 | 2 |")).toContain('<td data-label="b"><div dir="auto">2</div></td>');
  });

  it.each([
    "*".repeat(50_000),
    "`".repeat(50_000),
    "| ".repeat(5_000),
    `# ${" ".repeat(50_000)}x`,
    "- ".repeat(20_000),
  ])("takes linear time for hostile text (%#)", (text) => {
    expect(shown(text).length).toBeLessThan(10 * text.length + 1000);
  });
});

describe("a post-mortem", () => {
  it("states what the record contains, and what it lacks", () => {
    const moments = [
      { at: "2026-11-20T15:38:05+01:00", what: "first error" },
      { at: "2026-11-20T14:37:26Z", what: "v1.14.0 is ready" },
    ];
    const text = postmortemMarkdown(
      runOf({ gather: { headline: "Checkout fails", timeline: moments, gaps: ["no traffic data"] } }),
    );
    expect(text.split("\n", 1)[0]).toBe("# Post-mortem: Checkout fails");
    const titles = text.split("\n").filter((line) => line.startsWith("## "));
    expect(titles).toEqual([
      "## Summary",
      "## Impact",
      "## Timeline (UTC)",
      "## Root cause",
      "## What went well",
      "## What went badly",
      "## Action items",
      "## Evidence",
    ]);
    const rows = text.split("\n").filter((line) => line.startsWith("| 2026"));
    expect(rows).toEqual([
      "| 2026-11-20 14:37:26 UTC | v1.14.0 is ready |",
      "| 2026-11-20 14:38:05 UTC | first error |",
    ]);
    expect(text).toContain("_The record does not show this._");
    expect(text).toContain("- Not known: no traffic data");
  });

  it("lists remaining tasks, and what did not go well", () => {
    const text = postmortemMarkdown(triageRun());
    expect(text).toMatch(/- \[ \] Decide: Page the on-call engineer — failed/);
    expect(text).toMatch(/- `page` was degraded: /);
  });
});
