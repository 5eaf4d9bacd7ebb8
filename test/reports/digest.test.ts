import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/core/base/values.ts";
import type { RunEvent } from "../../src/core/engine/event/event.ts";
import { digestFor } from "../../src/reports/digest.ts";
import type { Digest } from "../../src/reports/model/digest.ts";
import type { Report } from "../../src/reports/model/report.ts";

const ESCAPE = String.fromCharCode(0x1b);

interface Item {
  readonly key: string;
  readonly title?: string;
  readonly link?: string;
  readonly status?: string;
  readonly skipped_reason?: string;
  readonly data?: JsonObject;
}

interface Parts {
  readonly verdict?: string;
  readonly status?: string;
  readonly left?: number;
  readonly beside?: JsonObject;
  readonly plan?: readonly { readonly id: string; readonly key: string; readonly summary: string }[];
}

/** The report of a run over a board with these items. */
function reportOf(
  items: readonly Item[],
  { verdict = "changed", status = "succeeded", left = 0, ...parts }: Parts = {},
) {
  const issues = items.map(({ key, title, link }) => ({ fingerprint: key, title, link }));
  const told = items.map(({ key, status: became = "success", skipped_reason, data = {} }) => {
    return { key, status: became, data, ...(skipped_reason === undefined ? {} : { skipped_reason }) };
  });
  const operations = (parts.plan ?? []).map(({ id, summary }) => ({
    id,
    summary,
    sources: [],
    digest: "0".repeat(64),
  }));
  const report = {
    record: {
      ...{ run: "r", kind: "run", input: {}, skills: [], settings: {} },
      workflow: {
        ...{ id: "board", name: "Board" },
        nodes: {
          each: {
            name: "Each",
            map: { over: "board.issues", as: "issue", key: "issue.fingerprint", unseen: { state: "s" } },
          },
        },
      },
    },
    result: {
      ...{ run: "r", status, verdict, degraded: [], plan: operations },
      results: { board: { data: { issues, ...parts.beside } }, each: { data: { items: told, left, failed: 0 } } },
    },
    events: [
      { type: "map:start", node: "each", items: items.map(placeOf), left },
      ...(parts.plan ?? []).map(({ id, key }) => ({
        type: "operation:planned",
        at: `each[${key}]`,
        operation: { id },
      })),
    ] as RunEvent[],
  };
  return report as unknown as Report;
}

const placeOf = ({ key, skipped_reason = "" }: Item, index: number) => {
  return { key, index, ...(skipped_reason.startsWith("seen ") ? { seen: true } : {}) };
};

const judged = (key: string, verdict: string, more: Partial<Item> = {}): Item => ({
  ...{ key, title: `Title of ${key}`, link: `https://board.example/${key}` },
  data: { verdict, results: { sort: { why: `why ${key}` } } },
  ...more,
});
const jsonOf = (report: Report) => JSON.parse(digestFor(report, "digest.json")) as Digest;
const slackOf = (report: Report) =>
  JSON.parse(digestFor(report, "digest.slack.json")) as {
    readonly send: boolean;
    readonly text: string;
    readonly blocks: readonly {
      readonly type: string;
      readonly text?: { readonly text: string; readonly verbatim?: boolean };
    }[];
  };

describe("a digest", () => {
  test("counts new judgements by class, urgent ones first, and states what was not judged", () => {
    const report = reportOf(
      [
        judged("a", "noise"),
        judged("b", "actionable"),
        judged("c", "needs_person"),
        { key: "d", status: "skipped", skipped_reason: "seen 2 d ago" },
        { key: "e", status: "skipped", skipped_reason: "an earlier item has the key e" },
        { key: "f", title: "Broken", status: "failed", data: { error: "max_cost_usd" } },
      ],
      { left: 9, beside: { left: 40, gaps: ["no releases"] } },
    );
    const digest = jsonOf(report);
    expect(digest.headline).toBe("1 needs person, 1 actionable, 1 noise, 1 failed");
    expect(digest.items.map(({ key }) => key)).toEqual(["c", "b", "a"]);
    expect(digest).toMatchObject({ unchanged: 1, skipped: 1, left: 9, beyond: 40, gaps: ["no releases"], send: true });
    expect(digest.failed).toEqual([{ key: "f", title: "Broken", error: "max_cost_usd" }]);
    const page = digestFor(report, "digest.md");
    expect(page).toContain("- 9 left for the next run");
    expect(page).toContain("- 40 not listed");
    expect(page).toContain("- 1 unchanged since they were judged");
  });

  test.each([
    ["nothing was judged in this run", reportOf([{ key: "a", status: "skipped", skipped_reason: "seen 1 d ago" }])],
    ["the verdict is nothing_new", reportOf([judged("a", "noise")], { verdict: "nothing_new" })],
    ["the verdict is inconclusive", reportOf([judged("a", "watch")], { verdict: "inconclusive" })],
    ["the run ended as failed", reportOf([judged("a", "watch")], { status: "failed" })],
  ])("is not sent if %s", (why, report) => {
    expect(jsonOf(report)).toMatchObject({ send: false, why });
    expect(slackOf(report)).toMatchObject({ send: false, why });
    for (const name of ["digest.md", "digest.html"]) expect(digestFor(report, name)).toContain("Not to be sent");
  });

  test("shows an item's valid evidence, and the operation that is planned for it", () => {
    const claims = [
      { claim: "It is thrown there.", evidence: [{ ref: "r4", quote: "at pay" }], supported: true },
      { claim: "It rained.", evidence: [{ ref: "r4", quote: "rain" }], supported: false },
    ];
    const data = { verdict: "actionable", results: { sort: { why: "new" }, investigate: { cause: "a leak", claims } } };
    const report = reportOf([judged("a", "", { data }), judged("b", "watch")], {
      plan: [{ id: "op-1", key: "a", summary: "github create_issue: “A leak”" }],
    });
    const [item, other] = jsonOf(report).items;
    expect(item?.evidence).toEqual([{ claim: "It is thrown there.", cites: [{ ref: "r4", quote: "at pay" }] }]);
    expect(item?.writes).toEqual([{ id: "op-1", standing: "planned", text: "github create_issue: “A leak”" }]);
    expect(other?.writes).toEqual([]);
    expect(digestFor(report, "digest.html")).not.toContain("It rained");
  });

  const HOSTILE = `<!channel> <@U1> @here *now* [pay](https://evil.example/x) <https://evil.example|ok> <script>alert(1)</script> ${ESCAPE}[2Jgone \u202e`;

  test("keeps a hostile title from becoming a mention, a link, markup or a command", () => {
    const report = reportOf([
      judged("a", HOSTILE, { title: HOSTILE, link: "https://board.example/a|<!channel>" }),
      judged("b", "watch", { title: "<!here>", link: "javascript:alert(1)" }),
    ]);
    const { blocks, text } = slackOf(report);
    for (const block of [{ text: { text, verbatim: true } }, ...blocks.slice(1, -1)]) {
      expect(block.text?.verbatim).toBe(true);
      expect(block.text?.text).not.toMatch(/<|@(?:here|U1)|\*now\*/u);
      expect(block.text?.text).not.toContain(ESCAPE);
    }
    const page = digestFor(report, "digest.html");
    expect(page).not.toMatch(/<script|href="(?!#)/);
    const markdown = digestFor(report, "digest.md");
    expect(markdown.replace(/`[^`]*`/g, "")).not.toMatch(/<!|\]\(|<script|@here/);
    for (const name of ["digest.md", "digest.html", "digest.json"]) {
      for (const mark of [ESCAPE, "\u202e"]) expect(digestFor(report, name)).not.toContain(mark);
    }
  });

  test("stays within Slack's limits, for any number of items and any length of text", () => {
    const long = "<&>".repeat(400_000);
    const many = Array.from({ length: 10_000 }, (_, n) => judged(`k${n}`, "actionable", { title: long }));
    const report = reportOf(many);
    const { blocks, text } = slackOf(report);
    expect(blocks.length).toBeLessThanOrEqual(50);
    for (const block of blocks) expect(block.text?.text.length ?? 0).toBeLessThanOrEqual(3000);
    expect(blocks[0]?.text?.text.length).toBeLessThanOrEqual(150);
    expect(text.length).toBeLessThanOrEqual(3000);
    expect(JSON.stringify(blocks.at(-1))).toContain("9953 more judged in this run");
    expect(digestFor(report, "digest.json").length).toBeLessThan(200_000);
  });

  test("reports that a run went over no list", () => {
    const report = reportOf([]);
    const plain = { ...report, record: { ...report.record, workflow: { ...report.record.workflow, nodes: {} } } };
    expect(jsonOf(plain)).toMatchObject({ send: false, why: "no node of the run mapped over a list", items: [] });
  });
});
