import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { revealText } from "../../src/core/base/inert.ts";
import type { Json, JsonObject } from "../../src/core/base/values.ts";
import type { EventBody } from "../../src/core/engine/event/event.ts";
import { type Operation, operationDigest, summarize } from "../../src/core/engine/event/operation.ts";
import { planPage } from "../../src/reports/html/plan.ts";
import { reportHtml } from "../../src/reports/html/report.ts";
import { junitXml } from "../../src/reports/junit.ts";
import { summaryMarkdown } from "../../src/reports/markdown.ts";
import { viewReport } from "../../src/reports/model/plan.ts";
import type { Report } from "../../src/reports/model/report.ts";
import { planMarkdown } from "../../src/reports/plan-markdown.ts";
import { sarifOfRun } from "../../src/reports/sarif.ts";
import { runsOf } from "../harness/long.ts";
import { hostileText } from "./hostile-text.ts";
import { expectBalanced, expectInert } from "./html-checks.ts";
import { HOSTILE, reportOf, triageRun } from "./triage-run.ts";

type Planned = Partial<Operation> & { readonly input: Json };

function operationOf(planned: Planned, index: number): Operation {
  const named = { skill: "tracker", tool: "create_issue", ...planned };
  return {
    id: `op-${index + 1}`,
    node: "gather",
    visit: 1,
    effect: "write",
    audience: "team",
    sources: [],
    refers: [],
    ...named,
    summary: summarize(named),
    digest: operationDigest(named),
  };
}

/** The triage run, which planned these operations in its first visit. `after` has the events after its end. */
function planning(planned: readonly Planned[], after: readonly EventBody[] = []): Report {
  const { record, events } = triageRun();
  const at = events.findIndex(({ type }) => type === "node:exit");
  const operations = planned.map(operationOf);
  const bodies = operations.flatMap((operation): EventBody[] => {
    const { id, input, node, tool } = operation;
    const call = { node, tool: `tracker_${tool}`, ref: `r9${id.slice(3)}`, id: `call-${id}` };
    return [
      { type: "tool:call", input, ...call },
      { type: "operation:planned", node, operation, id: call.id },
      { type: "tool:result", planned: true, output: { planned: true, id }, ...call },
    ];
  });
  const all = [...events.slice(0, at), ...bodies, ...events.slice(at), ...after];
  const envelope = { epoch: 0, key: "k", time: "2026-11-20T15:00:00.000Z" };
  return reportOf(
    record,
    all.map((event, seq) => ({ ...envelope, ...event, seq })),
  );
}

it("shows the results of applied operations in the summaries of later ones", () => {
  const planned = [{ input: { title: "a" } }, { input: { title: "see ${op-1.url}" } }];
  const report = planning(planned, [
    { type: "operation:begun", operation: "op-1", digest: "d", by: "kim", call: "c1" },
    { type: "operation:ended", operation: "op-1", digest: "d", output: { url: "https://tracker.test/1" } },
  ]);
  expect(viewReport(planning(planned)).operations[1]?.operation.summary).toContain("see ⟨link after apply: op-1⟩");
  expect(viewReport(report).operations[1]?.operation.summary).toContain("see https://tracker.test/1");
});

const ISSUE = { title: "SEV1", body: "first line\n```\ncode\n````\n::set-output name=a::b\nlast" };
const TWO: readonly Planned[] = [
  { input: ISSUE, audience: "public", sources: [{ ref: "input" }, { ref: "r1", tool: "logs_search", node: "gather" }] },
  { input: { title: "Second", token: "[redacted:PAGER_TOKEN]" }, refers: ["op-1"] },
];
const DIGEST = operationDigest({ skill: "tracker", tool: "create_issue", input: ISSUE });
const APPLIED: readonly EventBody[] = [
  { type: "operation:begun", operation: "op-1", digest: DIGEST, call: DIGEST, by: "kim@laptop" },
  {
    type: "operation:ended",
    operation: "op-1",
    digest: DIGEST,
    output: { url: "https://tracker.example/7" },
  },
  { type: "operation:begun", operation: "op-2", digest: DIGEST, call: DIGEST, by: "kim@laptop" },
];
const markdownOf = (report: Report) => planMarkdown(viewReport(report));
const pageOf = (report: Report) => planPage(viewReport(report));

describe("a plan in Markdown", () => {
  const text = markdownOf(planning(TWO));

  it("shows for each operation the text, the target, its readers, the earlier reads, and its digest", () => {
    expect(text).toContain("### op-1: tracker `create_issue`: “SEV1”");
    expect(text).toContain("**public**");
    expect(text).toContain("the run's input, `r1` `logs_search` in gather");
    expect(text).toContain(`- **Digest:** \`${DIGEST}\``);
    expect(text).toContain("- **After:** `op-1`");
    expect(text).toContain(`--plan-digest ${viewReport(planning(TWO)).digest}`);
  });

  it("warns about an input that lost a secret", () => {
    const [, first = "", second = ""] = text.split(/^### /m);
    expect(first).not.toContain("A secret in this input was redacted");
    expect(second).toContain("⚠️ A secret in this input was redacted");
  });

  it("shows inputs in blocks that no run of backticks ends, and in which no command starts", () => {
    expect(text).toContain(`\`\`\`\`\`text\n${ISSUE.body.replace("::set-output", ": :set-output")}\n\`\`\`\`\``);
    expect(text).toContain('```json\n{\n  "title": "SEV1"\n}\n```');
  });

  it("names characters that hide or reorder text, at their place", () => {
    const hidden = markdownOf(planning([{ input: { body: "a\u202eb\u200bc\nd\u0007", title: "x\u202ey" } }]));
    expect(hidden).toContain("a⟨U+202E⟩b⟨U+200B⟩c\nd⟨U+0007⟩");
    expect(hidden).toContain('"title": "x\\u202ey"');
  });

  it("lists a long list of reads once, and names the operation where it is listed", () => {
    const told = markdownOf(
      planning([
        { input: { n: 1 }, sources: sources(5) },
        { input: { n: 2 }, sources: sources(5) },
      ]),
    );
    expect(told.match(/`r4` `logs_search`/g)).toHaveLength(1);
    expect(told).toContain("same as before `op-1`");
  });

  it("is inert outside of its blocks, whatever an input contains", () => {
    fc.assert(
      fc.property(
        hostileText.map((words) => `x${words}`),
        (words) => {
          const input = { title: words, body: `${words}\n${words}`, [words]: words };
          const told = markdownOf(planning([{ input, node: "gather", sources: [{ ref: "r1", tool: words }] }]));
          const bare = withoutBlocks(told);
          expect(bare).not.toMatch(/^\s*::|##\[/m);
          expect(bare.replace(/`[^`\n]*`/g, "")).not.toMatch(/[<>]|@\w|:\/\/|\]\(|!\[/);
          expect(bare.match(/^### /gm)).toHaveLength(1);
        },
      ),
      { numRuns: runsOf(200) },
    );
  });

  it("shows who applied what and when, and what is in doubt, and the link is inert", () => {
    const applied = markdownOf(planning(TWO, APPLIED));
    expect(applied).toContain("2 planned writes, 1 applied, 1 in doubt");
    expect(applied).toMatch(
      /- \*\*State:\*\* applied by `kim@laptop`, 2026-11-20 15:00:00 UTC\n- \*\*Link:\*\* `https:\/\/tracker\.example\/7`\n/,
    );
    expect(applied).toContain("- **State:** in doubt by `kim@laptop`");
  });

  it.each<[string, readonly Planned[], RegExp]>([
    ["1,000 operations", many(1000), /…and \d+ more: \d+ × `tracker create_issue`/],
    ["a huge input", [{ input: { body: `\n${"x".repeat(200_000)}` } }], /\d{3},\d{3} more characters of this input/],
    ["a huge run of backticks", [{ input: { body: `\n${"`".repeat(60_000)}` } }], /1 operation without room here/],
    ["many names", [{ input: { title: "x" }, sources: sources(5000) }], /and 4,980 more/],
  ])("stays below 65,536 characters with %s, and states what is left out", (_, planned, told) => {
    const long = markdownOf(planning(planned));
    expect(long.length).toBeLessThan(65_536);
    expect(long).toMatch(told);
    for (const [, digest = ""] of long.matchAll(/[Dd]igest(?::\*\*)? `(\w+)`/g)) expect(digest).toHaveLength(64);
  });

  it("stays below it for all sizes of inputs", () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 80_000 }), { maxLength: 12 });
    fc.assert(
      fc.property(sizes, fc.constantFrom("x", "`", "\u202e", "😀"), (lengths, mark) => {
        const planned = lengths.map((length, n): Planned => ({ input: { n, body: `\n${mark.repeat(length)}` } }));
        const report = planning(planned);
        const told = markdownOf(report);
        expect(told.length).toBeLessThan(65_536);
        for (const { id } of report.result.plan) expect(told).toContain(id);
      }),
      { numRuns: 10 },
    );
  });

  it("contains the full digest of every operation that fits", () => {
    const long = markdownOf(planning(many(200)));
    expect(long.match(/`[0-9a-f]{64}`/g)?.length).toBeGreaterThan(100);
  });
});

describe("a plan as a page", () => {
  const page = pageOf(planning(TWO, APPLIED));

  it("shows each operation in full: its input, the authors of what was read, its digest and its result", () => {
    expect(page).toContain('<article class="operation" id="op-1">');
    expect(page).toContain(`<code>${DIGEST}</code>`);
    expect(page).toContain("kim@laptop, 2026-11-20 15:00:00 UTC");
    expect(page).toContain("<code>https://tracker.example/7</code>");
    expect(page).toContain('<a class="cite" href="#op-1">op-1</a>');
    expect(page).toContain('<span class="badge skipped">in doubt</span>');
    expect(page).toContain("A secret in this input was redacted");
  });

  it("cuts no input, of any length", () => {
    expect(pageOf(planning([{ input: { body: `\n${"x".repeat(200_000)}` } }]))).toContain("x".repeat(200_000));
  });

  it("is inert and valid, whatever an input contains", () => {
    for (const words of [HOSTILE.join(" "), ...HOSTILE]) {
      const input = { title: words, body: `${words}\n${words}`, [words]: words };
      const told = pageOf(planning([{ input, sources: [{ ref: "r1", tool: words, node: words }] }]));
      expectInert(told);
      expectBalanced(told);
    }
  });
});

describe("a run's reports", () => {
  const report = planning(TWO, APPLIED.slice(0, 2));

  it("show the plan, with reads linked to their calls, and calls that were planned", () => {
    const page = reportHtml(report);
    expect(page).toContain('<a href="#plan">Planned writes: 1 planned, 1 applied</a>');
    expect(page).toContain('<a class="cite" href="#r1">r1</a> logs_search in gather');
    expect(page).toContain('<span class="badge active">planned op-2</span>');
    expectInert(page);
    expectBalanced(page);
    const summary = summaryMarkdown(report);
    expect(summary).toContain("## Planned: 2 writes, 1 planned, 1 applied");
    expect(summary).toContain("Review and apply what it planned: `skillflow apply");
  });

  it("accept no tool's own claim that it planned", () => {
    const page = reportHtml(triageRun());
    expect(page).not.toContain("Planned writes");
    expect(page).not.toContain('<span class="badge active">planned');
  });

  it("do not count as failures in JUnit, and keep SARIF valid", () => {
    expect(junitXml(report)).toContain('failures="0"');
    expect(JSON.parse(sarifOfRun(report))).toMatchObject({ version: "2.1.0" });
  });
});

describe("a revealed text", () => {
  it("contains nothing that a terminal obeys or that hides, and keeps everything visible", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        const shown = revealText(text);
        expect(shown).not.toMatch(/(?![\n\t])[\p{Cc}\u202a-\u202e\u200b\ufeff]/u);
        expect(shown.replace(/⟨U\+[0-9A-F]+⟩/g, "")).toContain([...text].filter((mark) => /\w/.test(mark))[0] ?? "");
      }),
    );
    expect(revealText("a\r\nb\rc")).toBe("a\nb⟨U+000D⟩c");
    // Emoji remain unchanged.
    const blank = "\u3164\ufe00 a\u200d\ufe0f \u{e0101}";
    const marked = "⟨U+3164⟩⟨U+FE00⟩ a⟨U+200D⟩⟨U+FE0F⟩ ⟨U+E0101⟩";
    expect(revealText(`👩🏽\u200d💻 ❤\ufe0f${blank}`)).toBe(`👩🏽\u200d💻 ❤\ufe0f${marked}`);
  });

  it("is used for the diff of a patch, which could otherwise show another order than it has", () => {
    const patch = {
      kind: "patch" as const,
      base: "0".repeat(40),
      branch: "b",
      files: [],
      diff: "+a /*\u202e */ b\u3164",
    };
    const report = planning([{ ...patch, input: { title: "t" } } as Planned]);
    for (const shown of [planMarkdown(viewReport(report)), planPage(viewReport(report))])
      expect(shown).toMatch(/\+a \/\*⟨U\+202E⟩ \*\/ b⟨U\+3164⟩/);
  });
});

function many(count: number): Planned[] {
  return Array.from({ length: count }, (_, index) => ({
    input: { title: `issue ${index}`, body: "a\nb" } as JsonObject,
  }));
}

function sources(count: number) {
  return Array.from({ length: count }, (_, index) => ({ ref: `r${index}`, tool: "logs_search", node: "gather" }));
}

function withoutBlocks(text: string): string {
  return text.replace(/^(`{3,})\w+\n[\s\S]*?^\1$/gm, "");
}
