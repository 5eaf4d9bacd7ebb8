import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../../../src/core/base/values.ts";
import { checkWorkflow } from "../../../../src/core/document/check/workflow.ts";
import type { Evaluator } from "../../../../src/core/document/workflow/evaluator.ts";
import { foundWords, judgeClaims } from "../../../../src/core/engine/finding/claims.ts";
import { headlineIn } from "../../../../src/core/engine/finding/finding.ts";
import { findingSchema } from "../../../../src/core/engine/finding/json.ts";
import { describeResult } from "../../../../src/core/engine/result/result.ts";
import {
  calls,
  eventsOf,
  gives,
  type NodeParts,
  type PlayOptions,
  play,
  recordOf,
  resultAt,
  skillOf,
  toolOf,
  workflowOf,
} from "../../../harness/harness.ts";

const OPS = skillOf("ops", [toolOf("ops", "logs"), toolOf("ops", "rows"), toolOf("ops", "file", { effect: "write" })]);
const EVIDENCE: Evaluator = { name: "shown", kind: "evidence", rule: { claims: "claims[*]" }, on_unsupported: "drop" };

const LOG = [
  "2026-11-20T14:35:01Z ERROR pool exhausted after 1500 ms",
  "2026-11-20T14:35:02Z WARN the ```js fence``` of a note",
  '{"ts":"14:40","message":"payment declined for order 4711","url":"https://log.example/4711"}',
].join("\n");
const ROWS = {
  columns: ["at", "service"],
  rows: [["2026-11-20T14:30:00Z", "checkout is slow"]],
  url: "https://log.example/all",
};

const claim = (text: string, ...cites: [ref: string, quote: string][]): JsonObject => {
  return { claim: text, evidence: cites.map(([ref, quote]) => ({ ref, quote })) };
};

const ANSWER = {
  headline: "Checkout fails",
  verdict: "deploy_regression",
  severity: "SEV1",
  impact: "All orders of *EU* customers fail, see #12 and @ops.",
  cause: "The pool is too small",
  file: "src/pool_size.ts",
  line: 42,
  commit: "04fa1ae",
  first_step: "Roll back",
  ruled_out: [{ candidate: "the database", because: "its latency is unchanged" }, "the network"],
  missing_evidence: ["heap dumps"],
  claims: [
    claim("the pool ran dry after 1500 ms", ["r1", "ERROR pool exhausted after 1500 ms"]),
    claim("payments were declined", ["r1", "payment declined for order 4711"], ["r2", "never in there at all"]),
    claim("the checkout took 99 s", ["r2", "checkout is slow"]),
    claim("the disk is full", ["r1", "the disk is full"]),
    claim("a note has a fence", ["r1", "the ```js fence``` of a note"]),
  ],
};

const REPORT = {
  headline: "look.headline",
  severity: "look.severity",
  impact: "look.impact",
  cause: "look.cause",
  action: "look.first_step",
};

interface Playing extends PlayOptions {
  readonly node?: NodeParts;
  readonly with?: JsonObject;
  readonly workflow?: object;
  readonly url?: string;
}

/** Plays a node that answers, then a steps node whose only call takes the finding. Returns that call's input. */
function filed(answer: Json, { node, with: given, workflow: parts, url, ...options }: Playing = {}) {
  const whole = given ?? { body: "{{finding}}" };
  const nodes = {
    look: { skills: ["ops"], output: { type: "object" }, eval: [EVIDENCE], ...node },
    file: { skills: ["ops"], steps: [{ id: "one", tool: "file", with: whole as { body: string } }] },
  };
  const workflow = { ...workflowOf(nodes, ["look -> file"]), report: REPORT, verdict: "look.verdict", ...parts };
  const record = { ...recordOf(workflow, { skills: [OPS] }), ...(url === undefined ? {} : { report_url: url }) };
  const played = play(record, {
    answers: [calls("ops_logs", "ops_rows"), gives(answer)],
    tools: ({ tool }) => ({ output: tool.name === "logs" ? LOG : tool.name === "rows" ? ROWS : "ok" }),
    ...options,
  });
  const input = played.called.findLast(({ tool }) => tool.name === "file")?.input as JsonObject | undefined;
  return { played: { ...played, record }, input, finding: input?.body as { readonly [name: string]: Json } };
}

describe("the finding in templates", () => {
  test("has the sections of Markdown in order, and only claims with their quotes", () => {
    const { finding } = filed(ANSWER, { url: "https://ci.example/runs/7" });
    expect(finding.title).toBe("Checkout fails");
    expect(finding.markdown).toMatchInlineSnapshot(`
      "**Severity:** SEV1

      **Verdict:** deploy_regression

      **Impact:** All orders of \\*EU\\* customers fail, see #&#8203;12 and @&#8203;ops.

      **Cause:** The pool is too small (\`src/pool_size.ts:42\`, commit \`04fa1ae\`)

      **First step:** Roll back

      **1.** the pool ran dry after 1500 ms (quote found)

      \`\`\`text
      ERROR pool exhausted after 1500 ms
      \`\`\`

      \`r1 ops_logs\` · 2026-11-20T14:35:01Z

      **2.** payments were declined (1 of 2 quotes found, facts found)

      \`\`\`text
      payment declined for order 4711
      \`\`\`

      \`r1 ops_logs\` · 14:40 · <https://log.example/4711>

      **3.** the checkout took 99 s (quote found, facts not found: 99 s)

      \`\`\`text
      checkout is slow
      \`\`\`

      \`r2 ops_rows\` · 2026-11-20T14:30:00Z · <https://log.example/all>

      **4.** a note has a fence (quote found)

      \`\`\`\`text
      the \`\`\`js fence\`\`\` of a note
      \`\`\`\`

      \`r1 ops_logs\` · 2026-11-20T14:35:02Z

      **Ruled out:**

      - the database: its latency is unchanged
      - the network

      **Missing evidence:**

      - heap dumps

      Run \`r1\` · 4 of 5 claims kept: quotes found in the results, 1 with facts not found in the quoted records · <https://ci.example/runs/7>"
    `);
    expect(finding.slack).toMatchInlineSnapshot(`
      "*Checkout fails*
      *Severity:* SEV1
      *Verdict:* deploy_​regression
      *Impact:* All orders of *​EU*​ customers fail, see #12 and @​ops.
      *Cause:* The pool is too small (\`src/pool_size.ts:42\`, commit \`04fa1ae\`)
      *First step:* Roll back
      *1.* the pool ran dry after 1500 ms (quote found)
      \`\`\`
      ERROR pool exhausted after 1500 ms
      \`\`\`
      \`r1 ops_logs\` · 2026-11-20T14:35:01Z
      *2.* payments were declined (1 of 2 quotes found, facts found)
      \`\`\`
      payment declined for order 4711
      \`\`\`
      \`r1 ops_logs\` · 14:40 · <https://log.example/4711>
      *3.* the checkout took 99 s (quote found, facts not found: 99 s)
      \`\`\`
      checkout is slow
      \`\`\`
      \`r2 ops_rows\` · 2026-11-20T14:30:00Z · <https://log.example/all>
      *4.* a note has a fence (quote found)
      > the \`​\`​\`​js fence\`​\`​\`​ of a note
      \`r1 ops_logs\` · 2026-11-20T14:35:02Z
      *Ruled out:*
      - the database: its latency is unchanged
      - the network
      *Missing evidence:*
      - heap dumps
      Run \`r1\` · 4 of 5 claims kept: quotes found in the results, 1 with facts not found in the quoted records · <https://ci.example/runs/7>"
    `);
    expect(finding.text).toMatchInlineSnapshot(`
      "Checkout fails
      Severity: SEV1
      Verdict: deploy_regression
      Impact: All orders of *EU* customers fail, see #12 and @ops.
      Cause: The pool is too small (src/pool_size.ts:42, commit 04fa1ae)
      First step: Roll back
      1. the pool ran dry after 1500 ms (quote found): r1 ops_logs
      2. payments were declined (1 of 2 quotes found, facts found): r1 ops_logs
      3. the checkout took 99 s (quote found, facts not found: 99 s): r2 ops_rows
      4. a note has a fence (quote found): r1 ops_logs
      Ruled out:
      - the database: its latency is unchanged
      - the network
      Missing evidence:
      - heap dumps
      Run r1 · 4 of 5 claims kept: quotes found in the results, 1 with facts not found in the quoted records · https://ci.example/runs/7"
    `);
  });

  test("has a structured form that fits its schema", () => {
    const { finding } = filed(ANSWER);
    expect(findingSchema().strict().parse(finding.json)).toEqual(finding.json);
    expect(finding.json).toMatchInlineSnapshot(`
      {
        "cause": {
          "commit": "04fa1ae",
          "file": "src/pool_size.ts",
          "line": "42",
          "shown": true,
          "text": "The pool is too small",
        },
        "claims": [
          {
            "claim": "the pool ran dry after 1500 ms",
            "quotes": [
              {
                "quote": "ERROR pool exhausted after 1500 ms",
                "ref": "r1",
                "time": "2026-11-20T14:35:01Z",
                "tool": "ops_logs",
              },
            ],
            "status": "found",
          },
          {
            "claim": "payments were declined",
            "quotes": [
              {
                "quote": "payment declined for order 4711",
                "ref": "r1",
                "time": "14:40",
                "tool": "ops_logs",
                "url": "https://log.example/4711",
              },
            ],
            "status": "partial",
          },
          {
            "claim": "the checkout took 99 s",
            "missing": [
              "99 s",
            ],
            "quotes": [
              {
                "quote": "checkout is slow",
                "ref": "r2",
                "time": "2026-11-20T14:30:00Z",
                "tool": "ops_rows",
                "url": "https://log.example/all",
              },
            ],
            "status": "unbound",
          },
          {
            "claim": "a note has a fence",
            "quotes": [
              {
                "quote": "the \`\`\`js fence\`\`\` of a note",
                "ref": "r1",
                "time": "2026-11-20T14:35:02Z",
                "tool": "ops_logs",
              },
            ],
            "status": "found",
          },
        ],
        "counts": {
          "claims": 5,
          "kept": 4,
          "partial": 1,
          "unbound": 1,
        },
        "first_step": "Roll back",
        "headline": "Checkout fails",
        "impact": "All orders of *EU* customers fail, see #12 and @ops.",
        "missing_evidence": [
          "heap dumps",
        ],
        "ruled_out": [
          {
            "text": "the database",
            "why": "its latency is unchanged",
          },
          {
            "text": "the network",
          },
        ],
        "severity": "SEV1",
        "verdict": "deploy_regression",
      }
    `);
  });

  test("is in the result document of a workflow with a report", () => {
    const { finding, played } = filed(ANSWER);
    expect(describeResult(played.record, played.state).finding).toEqual(finding.json);
    const guessed = filed(ANSWER, { workflow: { report: undefined } });
    expect(describeResult(guessed.played.record, guessed.played.state)).not.toHaveProperty("finding");
    expect(guessed.finding).toMatchObject({
      title: "Checkout fails",
      json: { cause: { text: "The pool is too small" } },
    });
  });

  test("has paths that are checked", () => {
    const paths = ["finding.title", "finding.json.cause.text", "run.report_url", "finding.titel", "run.url"];
    const steps = paths.map((path, index) => ({ id: `s${index}`, tool: "file", with: { body: `{{${path}}}` } }));
    const nodes = { look: { skills: ["ops"], steps }, all: { map: { over: "input.list", as: "item" } } };
    const workflow = workflowOf(nodes, ["look -> all"]);
    const found = checkWorkflow(workflow, new Set(["ops"])).filter(({ code }) => code === "UNKNOWN_PATH");
    expect(found.map(({ path }) => path[3])).toEqual([3, 4]);
    const hidden = checkWorkflow(workflowOf({ finding: {}, file: { skills: ["ops"], steps } }), new Set(["ops"]));
    expect(hidden.find(({ code }) => code === "RESERVED_NODE_ID")?.path).toEqual(["nodes", "finding"]);
  });

  test("returns the same bytes for the same record", () => {
    expect(JSON.stringify(filed(ANSWER).finding)).toBe(JSON.stringify(filed(ANSWER).finding));
  });

  test("can be inserted in parts, and leaves out what does not resolve", () => {
    const body = { url: "{{run.report_url}}", text: "{{finding.title}} ({{finding.json.counts.kept}})" };
    const { input } = filed(ANSWER, { with: { ...body, "url?": "{{run.report_url}}" }, url: "https://ci.example/1" });
    expect(input).toEqual({ url: "https://ci.example/1", text: "Checkout fails (4)" });
    const unknown = filed(ANSWER, { with: { url: "{{run.report_url}}" } });
    expect(resultAt(unknown.played, "file").data.error).toContain("with.url: run.report_url does not resolve");
    const nothing = filed(
      { claims: ANSWER.claims },
      { workflow: { report: { headline: "look.none" }, verdict: "look.no" } },
    );
    expect(nothing.finding).not.toHaveProperty("title");
  });

  test("shows a cause without a valid claim as not shown by evidence", () => {
    const rule = { claims: "claims[*]", min_supported: 0 };
    const claims = [claim("the disk is full", ["r1", "the disk is full"])];
    const evaluator = { ...EVIDENCE, rule } as Evaluator;
    const { finding, played } = filed({ ...ANSWER, claims }, { node: { eval: [evaluator] } });
    expect(finding.title).toBe("Cause not shown by evidence: Checkout fails");
    expect(finding.markdown).toContain("**Cause:** not shown by evidence: The pool is too small");
    expect(finding.markdown).toContain("0 of 1 claim kept: no quotes found in the results");
    expect(finding.json).toMatchObject({ cause: { shown: false, text: "The pool is too small" }, claims: [] });
    expect(describeResult(played.record, played.state).degraded).toHaveLength(1);
    const none = filed({ ...ANSWER, claims: [] }, { node: { eval: [evaluator] } });
    expect(none.finding.title).toBe("Cause not shown by evidence: Checkout fails");
    expect(describeResult(none.played.record, none.played.state).degraded).toEqual([
      { node: "look", reason: "no claim shows its cause" },
    ]);
    const unchecked = filed({ ...ANSWER, claims: [] }, { node: { eval: undefined } });
    expect(unchecked.finding.title).toBe("Checkout fails");
  });

  test("shows next to each text which of its facts were not found", () => {
    const answer = {
      ...ANSWER,
      headline: `33 orders ${"are lost ".repeat(20)}`,
      cause: "900 slots",
      impact: "12 % fail",
    };
    const texts = ["headline", "cause", "impact", "first_step", "note"];
    const node = { eval: [{ ...EVIDENCE, rule: { claims: "claims[*]", texts } } as Evaluator] };
    const reply = gives({ ...answer, first_step: "Roll back 7 hosts", note: "see 4712" });
    const { finding, played } = filed(answer, { node, answers: [calls("ops_logs", "ops_rows"), reply, reply] });
    const missing = { headline: ["33"], cause: ["900"], impact: ["12 %"], first_step: ["7"], "look.note": ["4712"] };
    expect(finding.json).toMatchObject({ missing, headline: answer.headline, cause: { text: "900 slots" } });
    expect(findingSchema().strict().parse(finding.json)).toEqual(finding.json);
    expect(finding.title).toMatch(/^33 orders are lost .{60,80}… \(facts not found: 33\)$/);
    expect(headlineIn(played.state, played.record)).toBe(finding.title);
    for (const text of [finding.text, finding.markdown, finding.slack].map(String)) {
      expect(text).toContain("12 % fail (facts not found: 12 %)");
      expect(text).toMatch(/900 slots \(.*04fa1ae.*\) \(facts not found: 900\)/);
      expect(text).toContain("Roll back 7 hosts (facts not found: 7)");
      expect(text).toMatch(/Facts not found:\*{0,2}\n+- look\.note: 4712/);
    }
    const guessed = filed(answer, {
      node,
      workflow: { report: undefined },
      answers: [calls("ops_logs"), reply, reply],
    });
    expect(guessed.finding.json).toMatchObject({ missing });
  });

  test("has no refutation that does not hold, not even as a claim", () => {
    const said = claim("the pool ran dry after 1500 ms", ["r1", "ERROR pool exhausted after 1500 ms"]);
    const quote: [string, string] = ["r1", "payment declined for order 4711"];
    const refuted = [claim("the pool took 77 s", quote), claim(String(said.claim), quote, ["r1", "never in there"])];
    const rule = { claims: "refuted[*]", refutes: "refuted[*]", min_supported: 0 };
    const nodes = {
      look: { skills: ["ops"], output: { type: "object" }, eval: [EVIDENCE] },
      doubt: { output: { type: "object" }, eval: [{ ...EVIDENCE, rule }] },
      file: { skills: ["ops"], steps: [{ id: "one", tool: "file", with: { body: "{{finding}}" } }] },
    };
    const { played, finding } = filed(null, {
      workflow: workflowOf(nodes, ["look -> doubt", "doubt -> file"]),
      answers: [calls("ops_logs"), gives({ ...ANSWER, claims: [said] }), gives({ refuted }), gives({ refuted })],
    });
    expect(finding.json).toMatchObject({
      claims: [{ claim: said.claim, status: "found" }],
      counts: { claims: 3, kept: 1, partial: 0, unbound: 0 },
    });
    const checks = eventsOf(played.events, "evidence:checked").slice(-1);
    const judged = checks.flatMap((check) => judgeClaims({ eval: [{ ...EVIDENCE, rule } as Evaluator] }, check));
    expect(judged.map(({ status }) => status)).toEqual(["dropped", "dropped"]);
    expect(judged.map(foundWords)[0]).toContain("; refutes nothing: no earlier node has this claim");
  });

  test("counts the missing facts of the claims that are kept, and of no other", () => {
    const quote: [string, string] = ["r1", "ERROR pool exhausted after 1500 ms"];
    const claims = [claim("the pool ran dry after 1500 ms", quote), claim("it took 77 s", quote)];
    const counts = (on_unbound: "drop" | "mark") => {
      const node = { output: { type: "object" }, eval: [{ ...EVIDENCE, on_unbound } as Evaluator] };
      const reply = gives({ ...ANSWER, claims });
      return (filed(null, { node, answers: [calls("ops_logs"), reply, reply] }).finding.json as JsonObject)["counts"];
    };
    expect(counts("mark")).toEqual({ claims: 2, kept: 2, partial: 0, unbound: 1 });
    expect(counts("drop")).toEqual({ claims: 2, kept: 1, partial: 0, unbound: 0 });
  });

  test("keeps within its limits, and loses whole claims from the end", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "grapheme", maxLength: 900 }), { minLength: 1, maxLength: 40 }),
        (texts) => {
          const claims = texts.map((text) => claim(text, ["r1", "ERROR pool exhausted after 1500 ms"]));
          const impact = texts.join(" ");
          const { finding } = filed({ ...ANSWER, headline: impact, impact, cause: impact, ruled_out: texts, claims });
          const { title = "", text = "", slack = "", markdown = "" } = finding as Readonly<Record<string, string>>;
          expect(title.length).toBeLessThanOrEqual(120);
          expect(title).not.toMatch(/[\n\r]/);
          expect(text.length).toBeLessThanOrEqual(1500);
          expect(slack.length).toBeLessThanOrEqual(2900);
          expect(markdown.length).toBeLessThanOrEqual(60_000);
        },
      ),
      { numRuns: 40 },
    );
    const claims = Array.from({ length: 60 }, (_, index) => {
      return claim(`claim ${"x".repeat(40)} ${index}`, ["r1", "ERROR pool exhausted after 1500 ms"]);
    });
    const { finding } = filed({ ...ANSWER, claims });
    for (const text of [finding.text, finding.slack]) expect(text).toMatch(/\nand \d+ more\n/);
    expect(finding.markdown).toContain("**60.** claim");
  });

  test("puts every quote into a fence that is longer than any inside it", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 12 }), fc.string({ maxLength: 40 }), (ticks, rest) => {
        const quote = `quoted line ${"`".repeat(ticks)} ${rest.replace(/[\s.,\u2026[\]]/g, "-")} end`;
        const log = `first\n${quote}\nlast`;
        const tools: PlayOptions["tools"] = () => ({ output: log });
        const { finding } = filed({ ...ANSWER, claims: [claim("it is there", ["r1", quote])] }, { tools });
        const [, fence = "", inside] = /^(`{3,})text\n([\s\S]*?)\n\1$/m.exec(String(finding.markdown)) ?? [];
        expect(inside).toBe(quote);
        for (const [run] of quote.matchAll(/`+/g)) expect(fence.length).toBeGreaterThan(run.length);
      }),
      { numRuns: 60 },
    );
  });
});
