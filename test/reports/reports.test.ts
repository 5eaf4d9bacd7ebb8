import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutText, formatCost, formatDuration, previewJson } from "../../src/core/base/preview.ts";
import type { Json } from "../../src/core/base/values.ts";
import { reportHtml } from "../../src/reports/html/report.ts";
import { junitXml } from "../../src/reports/junit.ts";
import { summaryMarkdown } from "../../src/reports/markdown.ts";
import { usageOf } from "../../src/reports/model/costs.ts";
import { visitsOf } from "../../src/reports/model/visits.ts";
import { sarifOf, sarifOfRun } from "../../src/reports/sarif.ts";
import { LONG, runsOf } from "../harness/long.ts";
import { hostileText } from "./hostile-text.ts";
import { expectBalanced, expectInert } from "./html-checks.ts";
import { HOSTILE, longRun, reportOf, triageRun } from "./triage-run.ts";

const HUGE = "a.b@c ".repeat(35_000);
const ATTACK = HOSTILE.join(" ");
const nice = triageRun();
const hostile = triageRun({ text: ATTACK });
const failed = triageRun({ fails: true });

describe("the visits of a run", () => {
  it("are listed in order, with their iterations, calls, retries and routes", () => {
    const { visits, remarks } = visitsOf(nice);
    expect(visits.map(({ node, iteration }) => `${node} ${iteration}`)).toEqual([
      "gather 1",
      "hypothesise 1",
      "gather 2",
      "hypothesise 2",
      "challenge 1",
      "ask_owner 1",
      "page 1",
      "file_ticket 1",
      "post-mortem/draft 1",
    ]);
    expect(usageOf(visits.slice(4, 5)).modelCalls).toBe(4);
    expect(visits[4]).toMatchObject({ retries: [{ attempt: 1 }], route: { to: "ask_owner" } });
    expect(visits[4]?.calls.map(({ ref, tool, attempt }) => [ref, tool, attempt])).toEqual([
      ["r5", "github_compare_commits", 0],
      ["r6", "github_search_code", 1],
    ]);
    expect(remarks).toEqual([{ kind: "warning", text: expect.stringContaining("slack is not available") }]);
  });

  it("remain one visit when a run is resumed inside it", () => {
    const { record, events } = nice;
    const entered = events.findIndex((event) => event.type === "node:enter") + 1;
    const envelope = { time: "2026-11-20T15:00:00.000Z", epoch: 0, key: "k" };
    const report = reportOf(record, [
      ...events.slice(0, entered),
      {
        type: "node:exit",
        node: "gather",
        result: { status: "failed", data: { error: "stopped" }, toolCalls: [] },
        unfinished: true,
        seq: entered,
        ...envelope,
      },
      { type: "run:resume", settings: {}, seq: entered + 1, ...envelope },
      {
        type: "node:exit",
        node: "gather",
        result: { status: "success", data: { summary: "done" }, toolCalls: [] },
        seq: entered + 2,
        ...envelope,
      },
    ]);
    expect(visitsOf(report).visits).toMatchObject([{ node: "gather", result: { status: "success" } }]);
  });
});

describe("the HTML report", () => {
  const page = reportHtml(nice);

  it("shows the finding, what was done and what not, the path, every visit and call, the cost and the audit data", () => {
    const ids = ["finding", "way", "visits", "cost", "audit"];
    const places = ids.map((id) => page.indexOf(`<section id="${id}"`));
    expect(places.every((place) => place > 0)).toBe(true);
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(page).toContain("BETTERSTACK_TOKEN is not set");
    expect(page).toContain("the evidence does not separate the hypotheses");
    expect(page).toContain("requires not met: input.owner is missing");
    expect(page.match(/<details class="visit/g)).toHaveLength(9);
    for (const ref of ["r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8"]) expect(page).toContain(`id="${ref}"`);
  });

  it("opens the visits that failed or are degraded, and folds successful ones", () => {
    const visits = [...page.matchAll(/<details class="visit (\w+)"( open)?>/g)].map(([, status, open]) => [
      status,
      open !== undefined,
    ]);
    expect(visits.filter(([status]) => status === "success").every(([, open]) => !open)).toBe(true);
    expect(visits.filter(([status]) => status === "failed" || status === "degraded")).toHaveLength(2);
    expect(visits.filter(([status]) => status === "failed" || status === "degraded").every(([, open]) => open)).toBe(
      true,
    );
  });

  it("reports a degraded run as degraded", () => {
    expect(page).toContain('<span class="badge degraded">');
    expect(page).toContain("succeeded, 1 node failed during the run");
  });

  it("shows first why a run failed, and keeps the finding before that", () => {
    const text = reportHtml(failed);
    const head = text.slice(0, text.indexOf("<main>"));
    expect(head).toContain('<h1 dir="auto">Page the on-call engineer: no tool to page with');
    expect(head).toContain("<title>Page the on-call engineer: no tool to page with");
    expect(head).toContain("Then: Draft the post-mortem: the limit of 20 turns was reached");
    expect(text).toContain("payments.js returns early on a declined card");
  });

  it("marks the quotes of claims at the cited calls, and strikes out what no result shows", () => {
    const { record, events } = nice;
    const exit = events.findIndex((event) => event.type === "node:exit");
    const cite = (ref: string, quote: string) => ({ ref, quote });
    const claims = [
      {
        claim: { claim: "The disk is <full>." },
        supported: false,
        cites: [{ ...cite("r9", "no space"), problem: "r9 is no result of this run" }],
      },
      { claim: { claim: "Errors began." }, supported: true, cites: [cite("r1", '"<b>quoted</b>"')] },
    ];
    const checked = {
      type: "evidence:checked",
      node: "gather",
      evaluator: "claims_hold",
      claims,
      excerpts: {},
    } as const;
    const envelope = { seq: exit, time: "2026-11-20T15:00:00.000Z", epoch: 0, key: "k" };
    const told = reportHtml(
      reportOf(record, [...events.slice(0, exit), { ...checked, ...envelope }, ...events.slice(exit)]),
    );
    expect(told).toContain('<a class="cite" href="#r1">r1</a> <q dir="auto">"&#60;b&#62;quoted&#60;/b&#62;"</q>');
    expect(told).toContain('<li><mark dir="auto">"&#60;b&#62;quoted&#60;/b&#62;"</mark></li>');
    expect(told).toContain('<del dir="auto">The disk is &#60;full&#62;.</del>');
    expect(told).toContain(
      '<del dir="auto">no space</del> <span class="meta" dir="auto">r9 is no result of this run</span>',
    );
    expect(told.indexOf("Errors began.")).toBeLessThan(told.indexOf("The disk is"));
  });

  it("shows lists of claims as tables whose evidence leads to the calls", () => {
    expect(page).toContain('<th scope="col" dir="auto">claim</th><th scope="col" dir="auto">evidence</th>');
    const targets = [...page.matchAll(/<a class="cite" href="#([\w-]+)"/g)].map(([, target]) => target ?? "");
    expect(new Set(targets)).toEqual(new Set(["r1", "r2"]));
    for (const target of targets) expect(page).toContain(`<div class="exchange" id="${target}">`);
  });

  it("loads nothing, runs nothing and links only to itself, whatever a run's texts contain", () => {
    for (const text of [page, reportHtml(hostile), reportHtml(triageRun({ text: HUGE }))]) expectInert(text);
    fc.assert(
      fc.property(hostileText, (text) => expectInert(reportHtml(triageRun({ text })))),
      { numRuns: runsOf(25) },
    );
  });

  it("forbids scripts, images and connections by policy", () => {
    const policy = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(page)?.[1];
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/script|img|connect|https?:|\*/);
  });

  it("opens and closes its elements in pairs, whatever a run's texts contain", () => {
    for (const report of [nice, hostile, failed]) expectBalanced(reportHtml(report));
  });

  it("folds long outputs, and cuts none", () => {
    expect(page).toMatch(/<details class="fold"><summary>[^\n]*20\d,\d{3} characters/);
    expect(page.match(/14:38:13 ERROR pool timeout after 1000ms/g)?.length).toBeGreaterThan(4999);
  });

  it("leaves no visit out of a run of 10,000 events, and stays below 5 MB", () => {
    const text = reportHtml(longRun(3333));
    expect(text.length).toBeLessThan(5_000_000);
    expect(text.match(/<details class="visit/g)).toHaveLength(3333);
    expect(text).toContain("step 3331 is done");
    expectBalanced(text);
  });

  it("shows wide and deep values in full", () => {
    const wide = Object.fromEntries(
      Array.from({ length: 60 }, (_, i) => [`k${i}`, Array.from({ length: 10 }, () => Array(10).fill(`w${i}`))]),
    );
    const deep = Array.from({ length: 300 }).reduce<Json>((inner) => [inner], "the end");
    const { record, events } = nice;
    const swapped = events.map((event) =>
      event.type === "node:exit" ? { ...event, result: { ...event.result, data: { wide, deep } } } : event,
    );
    const text = reportHtml(reportOf(record, swapped));
    expect(text).toContain("the end");
    expect(text.match(/w59\b/g)?.length).toBeGreaterThanOrEqual(9 * 100);
  });

  it("includes a drawing of the run", () => {
    const drawn = reportHtml(nice, { graph: '<svg class="graph"></svg>' });
    expect(drawn).toMatch(/<figure class="drawing"><div [^>]*><svg class="graph"><\/svg><\/div><figcaption>/);
  });

  it("is the same for the same run", () => {
    const digest = (text: string) => createHash("sha256").update(text).digest("hex");
    expect(digest(reportHtml(triageRun()))).toBe(digest(page));
  });
});

describe("the Markdown summary", () => {
  it("contains the verdict, what was left out, claims with their evidence, the nodes and the next step", () => {
    const summary = summaryMarkdown(nice);
    expect(summary.split("\n", 1)[0]).toBe("## ▲ Incident triage: degraded");
    expect(summary).toContain("- `slack`: `SLACK_WEBHOOK_URL` is not set (Page the on-call engineer)");
    expect(summary).toContain("- Both instances ran out of pool connections from 14:38:10 on — r1; r2");
    expect(summary).toContain("| 5 | Challenge the cause | ✅\u00a0succeeded | 2 | 3/3 passed after 1 retry |");
    expect(summary).toContain("`skillflow doctor workflows/incident-triage.yml`");
  });

  it("shows how to continue a run that failed", () => {
    const summary = summaryMarkdown(failed);
    expect(summary.split("\n", 1)[0]).toBe("## ❌ Incident triage: failed at `page`");
    expect(summary).toContain("`skillflow resume 2026-11-20-checkout-7f3a`");
  });

  it("keeps its lines and its table, whatever a run's texts contain", () => {
    const shape = (summary: string) =>
      summary.split("\n").map((line) => /^(?:#+ |- |\| |---$|\*\*|$)/.exec(line)?.[0] ?? "text");
    const columns = (summary: string) =>
      summary
        .split("\n")
        .filter((line) => line.startsWith("|"))
        .map((line) => line.split("|").length);
    fc.assert(
      fc.property(
        hostileText.map((text) => `x${text}`),
        (text) => {
          const summary = summaryMarkdown(triageRun({ text }));
          expect(shape(summary)).toEqual(shape(summaryMarkdown(triageRun({ text: "x" }))));
          expect(new Set(columns(summary))).toEqual(new Set([9]));
          expect(summary).not.toMatch(/^\s*::|##\[/m);
        },
      ),
      { numRuns: runsOf(200) },
    );
  });

  it("stays short for a run of very many visits and for huge texts", () => {
    expect(summaryMarkdown(longRun(LONG ? 10_000 : 2_000)).length).toBeLessThan(30_000);
    expect(summaryMarkdown(triageRun({ text: HUGE })).length).toBeLessThan(60_000);
  });
});

describe("JUnit XML", () => {
  it("has a case for each visit, and a failure only if the workflow did not continue", () => {
    const suite = parseXml(junitXml(failed)).find(({ name }) => name === "testsuite");
    expect(suite?.attributes).toMatchObject({ tests: "9", failures: "1", errors: "0", skipped: "1" });
    const names = (text: string) => parseXml(text).map(({ name }) => name);
    expect(names(junitXml(failed)).filter((name) => name === "failure")).toHaveLength(1);
    expect(names(junitXml(nice))).not.toContain("failure");
  });

  it("has an error for what ended the run outside of a node", () => {
    const { record, events } = nice;
    const stopped = events.map((event) =>
      event.type === "workflow:end"
        ? {
            ...event,
            status: "stopped" as const,
            error: { code: "limit.reached", message: "the limit of $2 was reached" },
          }
        : event,
    );
    const elements = parseXml(junitXml(reportOf(record, stopped)));
    expect(elements.find(({ name }) => name === "error")?.attributes).toMatchObject({ type: "limit.reached" });
    expect(elements.find(({ name }) => name === "testsuite")?.attributes).toMatchObject({ tests: "10", errors: "1" });
  });

  it("is well-formed and counts correctly, whatever a run's texts contain", () => {
    fc.assert(
      fc.property(hostileText, fc.boolean(), (text, fails) => {
        const elements = parseXml(junitXml(triageRun({ text, fails })));
        expect(elements.filter(({ name }) => name === "testcase")).toHaveLength(9);
        expect(elements.filter(({ name }) => name === "failure")).toHaveLength(fails ? 1 : 0);
      }),
      { numRuns: runsOf(100) },
    );
    expect(parseXml(junitXml(hostile)).length).toBeGreaterThan(9);
  });
});

describe("SARIF", () => {
  const diagnostics = [
    {
      severity: "error" as const,
      code: "UNKNOWN_EDGE_TARGET" as const,
      message: `edge leads nowhere ${ATTACK}`,
      path: ["edges", 2, "to"],
      file: "./flows/a b#1.yml",
      line: 12,
      column: 5,
      hint: "name a node",
    },
    {
      severity: "warning" as const,
      code: "secret.in_document" as const,
      message: "a tainted node holds write tools",
      path: ["nodes", "file"],
      file: "flows/b.yml",
    },
    { severity: "error" as const, code: "UNKNOWN_EDGE_TARGET" as const, message: "edge leads nowhere", path: [] },
    { severity: "note" as const, code: "taint.write_held" as const, message: "perhaps", path: ["nodes", "file"] },
  ];

  it("has each finding with its rule, its level and its place", () => {
    const { runs } = readSarif(sarifOf(diagnostics));
    const [run] = runs;
    expect(run?.results.map(({ ruleId, level }) => [ruleId, level])).toEqual([
      ["UNKNOWN_EDGE_TARGET", "error"],
      ["secret.in_document", "warning"],
      ["UNKNOWN_EDGE_TARGET", "error"],
      ["taint.write_held", "note"],
    ]);
    expect(run?.results[0]?.locations?.[0]).toEqual({
      physicalLocation: { artifactLocation: { uri: "flows/a%20b%231.yml" }, region: { startLine: 12, startColumn: 5 } },
      logicalLocations: [{ fullyQualifiedName: "edges[2].to" }],
    });
  });

  it("keeps the structure rules of 2.1.0, for findings and for runs, whatever their texts contain", () => {
    expectSarif(sarifOf(diagnostics));
    expectSarif(sarifOf([]));
    for (const report of [nice, hostile, failed]) expectSarif(sarifOfRun(report));
  });

  it("has the node that ended the run as an error, at its place, and degraded nodes as warnings", () => {
    const placeOf = (node: string) => (node === "post-mortem/draft" ? { line: 40, column: 3 } : undefined);
    const text = sarifOfRun({ ...failed, placeOf });
    const results = readSarif(text).runs[0]?.results ?? [];
    expect(results.map(({ level, locations }) => [level, locations?.[0]?.physicalLocation?.region?.startLine])).toEqual(
      [
        ["error", 40],
        ["warning", 1],
        ["warning", 1],
        ["warning", 1],
      ],
    );
  });
});

describe("amounts and previews", () => {
  it.each([
    [formatDuration(12), "12 ms"],
    [formatDuration(1730), "1.7 s"],
    [formatDuration(114_180), "1 min 54 s"],
    [formatDuration(7_260_000), "2 h 1 min"],
    [formatCost(null), "unknown"],
    [formatCost(0.0012), "$0.0012"],
    [formatCost(12.345), "$12.35"],
    [cutText("ab😀c", 3), "ab… (3 more characters)"],
    [previewJson({ a: [1, "x"], b: {} }, 100), '{\n  "a": [\n    1,\n    "x"\n  ],\n  "b": {}\n}'],
  ])("%j is %j", (shown, expected) => {
    expect(shown).toBe(expected);
  });
});

/**
 * Checks that the page has only its own elements, no address outside of the page, and no attribute that runs anything.
 */
interface XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** The elements of a document, in order. Throws if it is not well-formed. */
function parseXml(text: string): XmlElement[] {
  const elements: XmlElement[] = [];
  const open: string[] = [];
  const token = /<\?xml [^?]*\?>|<(\/?)([a-z-]+)((?: [a-zA-Z]+="[^"<>]*")*)(\/?)>|[^<>&]+|&#\d+;/y;
  if (/[^\P{Cc}\n]|[\ufffe\uffff]|\p{Cs}/u.test(text)) throw new Error("holds a forbidden character");
  while (token.lastIndex < text.length) {
    const at = token.lastIndex;
    const [, end, name, attributes = "", empty] =
      token.exec(text) ?? fail(`no XML at ${at}: ${text.slice(at, at + 60)}`);
    if (name === undefined) continue;
    if (end === "/") {
      if (open.pop() !== name) throw new Error(`${name} is closed and was not open`);
      continue;
    }
    const pairs = [...attributes.matchAll(/ (\w+)="([^"]*)"/g)].map(([, key = "", value = ""]) => [key, value]);
    elements.push({ name, attributes: Object.fromEntries(pairs) });
    if (empty !== "/") open.push(name);
  }
  if (open.length > 0) throw new Error(`${open.join(" ")} is not closed`);
  return elements;
}

function fail(message: string): never {
  throw new Error(message);
}

interface Sarif {
  readonly $schema: string;
  readonly version: string;
  readonly runs: readonly {
    readonly tool: { readonly driver: { readonly name: string; readonly rules: readonly { readonly id: string }[] } };
    readonly results: readonly {
      readonly ruleId: string;
      readonly ruleIndex: number;
      readonly level: string;
      readonly message: { readonly text: string };
      readonly locations?: readonly {
        readonly physicalLocation?: {
          readonly artifactLocation: { readonly uri: string };
          readonly region?: { readonly startLine: number; readonly startColumn?: number };
        };
      }[];
    }[];
  }[];
}

function readSarif(text: string): Sarif {
  return JSON.parse(text) as Sarif;
}

function expectSarif(text: string): void {
  const log = readSarif(text);
  expect(log.version).toBe("2.1.0");
  expect(log.$schema).toMatch(/sarif-2\.1\.0\.json$/);
  const [run] = log.runs;
  const rules = run?.tool.driver.rules.map(({ id }) => id) ?? [];
  expect(run?.tool.driver.name).toBe("skillflow");
  expect(new Set(rules).size).toBe(rules.length);
  for (const { ruleId, ruleIndex, level, message, locations = [] } of run?.results ?? []) {
    expect(rules[ruleIndex]).toBe(ruleId);
    expect(level).toMatch(/^(?:error|warning|note|none)$/);
    expect(message.text).not.toBe("");
    expect(message.text).not.toMatch(/\]\(|[^\P{Cc}\n\t]/u);
    for (const { physicalLocation } of locations) {
      expect(physicalLocation?.artifactLocation.uri ?? "").toMatch(/^[\w%./:-]*$/);
      expect(physicalLocation?.region?.startLine ?? 1).toBeGreaterThanOrEqual(1);
      expect(physicalLocation?.region?.startColumn ?? 1).toBeGreaterThanOrEqual(1);
    }
  }
}
