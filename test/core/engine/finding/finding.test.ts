import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../../../src/core/base/values.ts";
import type { Evaluator } from "../../../../src/core/document/workflow/evaluator.ts";
import { findingSchema } from "../../../../src/core/engine/finding/json.ts";
import {
  calls,
  gives,
  type NodeParts,
  type PlayOptions,
  play,
  recordOf,
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
  return { played, input, finding: input?.body as { readonly [name: string]: Json } };
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
});
