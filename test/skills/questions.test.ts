import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Json, Skill, ToolContext } from "skillflow";
import { type Loopback, type LoopbackHandler, sendJson, startLoopback, toolContext } from "skillflow/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeQuestions, type Question } from "../contracts/questions.ts";
import { type Script as GitHubScript, startGitHub } from "../services/github.ts";
import { UNPUBLISHED, VENDORS, type Vendor } from "../services/vendors.ts";

const SKILLS = join(import.meta.dirname, "../../skills");
const PERIOD = { from: "2026-01-31T07:30:00Z", to: "2026-01-31T08:30:00Z" };
const POD = { namespace: "shop", pod: "checkout-7d9f-abcde" };
const LAMBDA = { ...PERIOD, namespace: "AWS/Lambda", metric: "Errors" };

type Questions = Readonly<Record<string, Question>>;

const ASKED: Readonly<Record<string, Questions>> = {
  betterstack: {
    "What is down, since when?": {
      asks: [
        ["list_incidents", { resolved: false }],
        ["get_incident", ([{ incidents }]) => ({ incident_id: incidents[0].id })],
        ["get_monitor", { monitor_id: "2" }],
        ["list_incidents", { monitor_id: "2" }],
      ],
      tells: ["Status 502", "2026-01-31T08:00:00", "Bad gateway", '"expected_status_codes":[200]'],
    },
    "Who is on it?": {
      asks: [
        ["get_timeline", { incident_id: "25" }],
        ["list_on_call", {}],
      ],
      tells: ["Called Ada", "Looking", "ada@example.com"],
    },
    "What do the logs say?": {
      asks: [
        [
          "query_logs",
          { sql: "SELECT dt, raw FROM logs WHERE dt > '2026-01-31 07:55:00' ORDER BY dt DESC LIMIT 20", limit: 5 },
        ],
      ],
      tells: ["connection refused"],
    },
  },
  cloudwatch: {
    "What is wrong, since when?": {
      asks: [
        ["list_alarms", {}],
        ["get_alarm_history", { alarm: "checkout-errors", ...PERIOD }],
      ],
      tells: ["greater than the threshold", "2026-01-31T08:02", "Alarm updated from OK to ALARM"],
    },
    "How bad?": {
      asks: [
        ["list_metrics", { namespace: "AWS/Lambda" }],
        ["get_metric_data", { ...LAMBDA, stat: "Sum", dimensions: [{ name: "FunctionName", value: "checkout" }] }],
      ],
      tells: ["FunctionName", '"value":12'],
    },
    "What exactly failed?": {
      asks: [
        ["query_logs", { ...PERIOD, groups: ["/aws/lambda/checkout"], query: "stats count(*) by bin(5m)" }],
        ["filter_log_events", { ...PERIOD, group: "/aws/lambda/checkout", filter: "ERROR" }],
      ],
      tells: ["08:00:00", "payment failed: 502"],
    },
  },
  datadog: {
    "How bad, since when?": {
      asks: [
        ["aggregate_logs", { ...PERIOD, query: "status:error", group_by: ["service"] }],
        ["find_metrics", { name: "checkout" }],
        ["describe_metric", ([, { metrics }]) => ({ metric: metrics[0] })],
        ["query_metrics", { ...PERIOD, query: "avg:system.cpu.idle{*} by {host}" }],
        ["aggregate_spans", { ...PERIOD, query: "status:error", group_by: ["service"] }],
      ],
      tells: ['"service":"checkout"', "128", "checkout.latency", "host:web-1"],
    },
    "What exactly failed?": {
      asks: [
        ["search_logs", { ...PERIOD, query: "service:checkout status:error" }],
        ["search_spans", { ...PERIOD, query: "service:checkout status:error" }],
        ["get_trace", ([, { spans }]) => ({ ...PERIOD, trace_id: spans[0].trace_id })],
        ["get_dependencies", { ...PERIOD, env: "prod", service: "checkout" }],
      ],
      tells: ["connection refused by payments:443", "POST /pay", "payments"],
    },
    "What changed before?": {
      asks: [["list_events", { ...PERIOD, query: "source:deployment" }]],
      tells: ["checkout 2.1.0 is out", "07:58"],
    },
  },
  elasticsearch: {
    "How bad, since when?": {
      asks: [
        ["count", { ...PERIOD, index: "logs-*", query: "level:error", interval: "5m" }],
        ["count", { ...PERIOD, index: "logs-*", query: "level:error", by: "service.keyword" }],
      ],
      tells: ["checkout", "480"],
    },
    "What exactly failed?": {
      asks: [["search", { ...PERIOD, index: "logs-*", query: "level:error", fields: ["message"], oldest_first: true }]],
      tells: ["PoolTimeoutError: no connection free"],
    },
    "Is Elasticsearch itself the cause?": {
      asks: [
        ["cluster_health", {}],
        ["list_indices", {}],
      ],
      tells: ["yellow", "93.4", "above the low watermark"],
    },
  },
  github: {
    "What changed before?": {
      asks: [
        ["list_deployments", {}],
        ["list_commits", { path: "src", since: "2026-01-31T06:00:00Z" }],
        ["compare_commits", { base: "v1.0", head: "v1.1" }],
        ["get_commit", ([, { commits }]) => ({ ref: commits[0].sha })],
      ],
      tells: ["Fix all the bugs", "file1.txt", "topic-branch"],
    },
    "Is it known?": {
      asks: [
        ["search_issues", { query: "line number", state: "open" }],
        ["get_issue", ([{ items }]) => ({ number: items[0].number })],
        ["list_comments", ([{ items }]) => ({ number: items[0].number })],
      ],
      tells: ["Line Number Indexes Beyond 20 Not Displayed", "Me too"],
    },
    "Did a build or a deployment fail?": {
      asks: [
        ["list_workflow_runs", { status: "failure" }],
        ["get_workflow_run_logs", ([{ runs }]) => ({ run_id: runs[0].id })],
        ["get_checks", { ref: "master" }],
      ],
      tells: ["Build", "1 test failed", "mighty_readme"],
    },
  },
  gitlab: {
    "What was put out?": {
      asks: [
        ["list_deployments", { environment: "production" }],
        ["compare", ([{ deployments }]) => ({ from: "v1.13.0", to: deployments[0].sha })],
      ],
      tells: ["2026-01-31T07:58", "Give up on a payment after a second"],
    },
    "What did it change?": {
      asks: [
        ["compare", { from: "v1.13.0", to: "v1.14.0", path: "src/pay.ts" }],
        ["get_commit", { ref: "v1.14.0" }],
        ["get_merge_request", { number: 133 }],
        ["get_pipeline", { pipeline: 46 }],
        [
          "get_job_log",
          ([, , , { jobs }]) => ({ job: jobs.find((one: { status: string }) => one.status === "failed").id }),
        ],
      ],
      tells: ["WAIT = 1000", "The gateway is slow at night"],
    },
    "Is it known?": {
      asks: [
        ["search_issues", { search: "502", state: "opened" }],
        ["search_issues", { search: "502", state: "closed" }],
      ],
      tells: ["Checkout answers 502 at night"],
    },
  },
  grafana: {
    "What fires, since when?": {
      asks: [
        ["list_alerts", {}],
        ["list_silences", {}],
        ["list_rules", { contains: "checkout" }],
      ],
      tells: ["CheckoutErrors", "2026-01-31T08:01:00", "resized tonight", "sum(rate(http_requests_total"],
    },
    "What changed?": {
      asks: [["list_annotations", { ...PERIOD }]],
      tells: ["checkout 1.14.0 deployed", "2026-01-31T07:58"],
    },
    "What to measure?": {
      asks: [
        ["search_dashboards", { query: "checkout" }],
        ["get_dashboard", ([{ dashboards }]) => ({ dashboard: dashboards[0].uid })],
        ["list_datasources", {}],
      ],
      tells: ["http_requests_total", "prom-1"],
    },
  },
  jira: {
    "Is it known?": {
      asks: [["search_issues", { jql: 'project = OPS AND text ~ "payment timeout" AND statusCategory != Done' }]],
      tells: ["OPS-7", "Payments time out at night", "In Progress"],
    },
    "What was tried then?": {
      asks: [["get_issue", { issue: "OPS-7" }]],
      tells: ["Error: 502", "Rolled back", "Release 1.15"],
    },
    "Where does it go?": {
      asks: [["add_comment", { issue: "OPS-7", text: "Seen again." }]],
      tells: ['"id":"10001"'],
    },
  },
  kubernetes: {
    "What is unwell?": {
      asks: [
        ["list_pods", { namespace: "*" }],
        ["list_workloads", { namespace: "shop" }],
        ["list_nodes", {}],
      ],
      tells: ["CrashLoopBackOff", "has timed out progressing", "MemoryPressure"],
    },
    "Why?": {
      asks: [
        ["list_events", { namespace: "shop", object: POD.pod }],
        ["get_pod", POD],
        ["get_logs", { ...POD, previous: true }],
        ["top_pods", { namespace: "shop" }],
      ],
      tells: ["Back-off restarting", "OOMKilled", '"memory_percent":96', "137", "out of connections"],
    },
    "What changed?": {
      asks: [["rollout_history", { deployment: "checkout", namespace: "shop" }]],
      tells: ["checkout:1.13.1", "checkout:1.14.0", "2026-01-31T07:57"],
    },
  },
  linear: {
    "Is it known?": {
      asks: [
        ["search_issues", { query: "Checkout", status: "open" }],
        ["search_issues", { query: "Checkout", status: "closed" }],
      ],
      tells: ["OPS-7", "Checkout 5xx"],
    },
    "What was said of it?": {
      asks: [
        ["get_issue", { issue: "OPS-7" }],
        ["list_comments", { issue: "OPS-7" }],
      ],
      tells: ["Since 08:00."],
    },
    "Where does the follow-up go?": { asks: [["list_users", {}]], tells: ["ada@example.com"] },
  },
  loki: {
    "Where are the logs?": {
      asks: [
        ["list_labels", {}],
        ["list_labels", { label: "app" }],
        ["list_streams", { selector: '{app="checkout"}' }],
      ],
      tells: ["app", "checkout", '"bytes":48000000'],
    },
    "How bad, since when?": {
      asks: [
        ["count_logs", { ...PERIOD, query: 'sum by (level) (count_over_time({app="checkout"} |= "error" [5m]))' }],
        ["list_patterns", { ...PERIOD, selector: '{app="checkout"}' }],
      ],
      tells: ["480", "2026-01-31T08:05", "no connection free after <_> ms"],
    },
    "What exactly failed?": {
      asks: [["search_logs", { ...PERIOD, query: '{app="checkout"} |= "Error"', oldest_first: true }]],
      tells: ["PoolTimeoutError: no connection free after 500 ms"],
    },
  },
  pagerduty: {
    "What is open?": {
      asks: [
        ["list_incidents", {}],
        ["list_incidents", { service: "PIJ90N7", statuses: ["resolved"] }],
        ["get_incident", ([{ incidents }]) => ({ incident: incidents[0].id })],
      ],
      tells: ["Checkout answers 5xx", "2026-01-31T08:01:42", "Rolling back 1.14.0"],
    },
    "What set it off?": {
      asks: [
        ["list_alerts", { incident: "PT4KHLK" }],
        ["list_changes", { incident: "PT4KHLK" }],
      ],
      tells: ["rate 5xx > 10", "checkout 1.14.0 deployed", "2026-01-31T07:58"],
    },
    "Who is on it?": {
      asks: [
        ["get_timeline", { incident: "PT4KHLK" }],
        ["list_on_call", { escalation_policy: "PT20YPA" }],
      ],
      tells: ["Notified Earline Greenholt", "Tim Wright"],
    },
  },
  prometheus: {
    "What is wrong now?": {
      asks: [
        ["list_alerts", {}],
        ["list_rules", { contains: "CheckoutErrors" }],
        ["query", { query: 'sum(rate(http_requests_total{service="checkout",code=~"5.."}[5m]))' }],
      ],
      tells: ["CheckoutErrors", "2026-01-31T08:00:27", "> 10"],
    },
    "How bad, since when?": {
      asks: [["query_range", { ...PERIOD, query: 'sum by (service) (rate(http_requests_total{code=~"5.."}[5m]))' }]],
      tells: ['"max":', "12", "2026-01-31T08:05"],
    },
    "Is the data itself missing?": {
      asks: [
        ["list_targets", {}],
        ["query", { query: "up == 0" }],
      ],
      tells: ["connect: connection refused", "10.0.0.3:8080"],
    },
  },
  sentry: {
    "What fails, since when?": {
      asks: [
        ["list_issues", { sort: "freq", stats_period: "1h" }],
        ["get_issue", ([{ issues }]) => ({ issue: issues[0].short_id })],
        ["get_issue_tag", { issue: "PUMP-STATION-1", tag: "release" }],
        ["get_issue_events", { issue: "PUMP-STATION-1" }],
      ],
      tells: ["first_seen", "PUMP-STATION-1"],
    },
    "Why?": {
      asks: [
        ["get_latest_event", { issue: "PUMP-STATION-1" }],
        ["get_event", { event_id: "9fac2ceed9344f2bbfdd1fdacb0ed9b1" }],
        ["get_trace", { trace_id: "0123456789abcdef0123456789abcdef" }],
      ],
      tells: ["src/pay.ts", "TimeoutError"],
    },
    "By which change?": {
      asks: [
        ["list_releases", {}],
        ["get_release", ([{ releases }]) => ({ version: releases[0].version })],
        ["get_suspect_commits", { issue: "PUMP-STATION-1" }],
      ],
      tells: ["a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6a1b2", '"author":"Ada"'],
    },
  },
  slack: {
    "Has somebody said something about it?": {
      asks: [
        ["read_channel", { channel: "#incidents", since: "2026-01-31T07:30:00Z" }],
        ["read_thread", ([{ messages }]) => ({ channel: "C0123456789", thread_ts: messages[0].ts })],
        ["search_messages", { query: "checkout", by_time: true }],
      ],
      tells: ["Checkout is slow", "The pool"],
    },
    "Whom does it concern?": {
      asks: [
        ["list_channels", { name: "incid" }],
        ["list_users", { name: "ada" }],
      ],
      tells: ["C0123456789", "U0ADA00001", "SRE"],
    },
    "Do those who need it know?": {
      asks: [["send_message", { text: "Checkout fails since 08:00: rolled back.", channel: "#incidents" }]],
      tells: ["C0123456789", "1700000000"],
    },
  },
  tempo: {
    "Who fails or is slow, since when?": {
      asks: [["measure_spans", { ...PERIOD, query: "{status=error} | rate() by (resource.service.name)" }]],
      tells: ["payments", "2026-01-31T08:05", '"value":12.5'],
    },
    "What does one look like?": {
      asks: [
        ["list_attributes", { ...PERIOD, attribute: "resource.service.name" }],
        ["search_traces", { ...PERIOD, query: '{resource.service.name="payments" && status=error}' }],
      ],
      tells: ["POST /pay", '"duration_ms":5057'],
    },
    "Whose fault is it?": {
      asks: [["get_trace", { trace: "2f3e0cee77ae5dc9c17ade3689eb2e54" }]],
      tells: ["deadline exceeded", '"own_ms":5005'],
    },
  },
};

const TIMED_OUT = "canceling statement due to statement timeout";
const BIGINT = { type: "integer", format: "bigint" };
const TEXT = { type: "string", format: "text" };

const HERE: Readonly<Record<string, Questions>> = {
  git: {
    "What changed?": {
      asks: [
        ["refs", {}],
        ["changed_files", { from: "v1.0", to: "v1.1" }],
        ["log", { since: "2024-01-03T00:00:00Z" }],
      ],
      tells: ["v1.1", "src/pay.ts", "Give up sooner"],
    },
    "Which commit did it?": {
      asks: [
        ["log", { path: "src/pay.ts", patch: true }],
        ["log", { changes_text: "WAIT = 1000" }],
        ["show", ([{ commits }]) => ({ commits: [commits[0].id] })],
        ["diff", { from: "v1.0", to: "v1.1", path: "src/pay.ts" }],
      ],
      tells: ["+const WAIT = 1000", "Give up sooner", "Ann"],
    },
    "What does the failing line rest on?": {
      asks: [
        ["read_file", { path: "src/pay.ts", ref: "v1.1" }],
        ["blame", { path: "src/pay.ts", ref: "v1.1" }],
      ],
      tells: ["WAIT = 1000", "Give up sooner"],
    },
  },
  http: {
    "Is it up, from here?": {
      asks: [["check", () => ({ urls: [`${site.url}/health`] })]],
      tells: ['"status":503', '"ok":false'],
    },
    "What does it say of itself?": {
      asks: [["get", () => ({ url: `${site.url}/health` })]],
      tells: ["no connection to the database"],
    },
    "Is it the same everywhere?": {
      asks: [
        ["check", () => ({ urls: [`${site.url}/health`, `${site.url}/version`] })],
        ["get", () => ({ url: `${site.url}/version` })],
      ],
      tells: ['"answering":1', "1.14.0"],
    },
  },
  logs: {
    "How bad, since when?": {
      asks: [
        ["files", {}],
        ["count_by", { files: ["app.log"], bucket: "1m" }],
        ["count_by", { files: ["app.log"], by: "level" }],
        ["series", { files: ["app.log"], fields: ["ms"] }],
      ],
      tells: ['"08:00":3', '["error",2]', '["ms",3'],
    },
    "What exactly failed?": {
      asks: [
        ["count_by", { files: ["app.log"], shape: true }],
        ["search", { files: ["app.log"], contains: "timeout", limit: 1 }],
        ["around", ([, { lines }]) => ({ file: "app.log", offset: Number(Object.keys(lines)[0]?.split("@")[1]) })],
      ],
      tells: ["pay failed: timeout", "at pay (src/pay.ts:7)"],
    },
    "What else happened then?": {
      asks: [["time_window", { files: ["app.log"], at: "2026-01-31T08:00:00Z", seconds: 60 }]],
      tells: ["deployed 1.14.0"],
    },
  },
  notification: {
    "Whom can I reach here?": { asks: [["channels", {}]], tells: ["file", "NOTIFICATION_"] },
    "Who has to be woken?": {
      asks: [["send", { channels: ["pagerduty", "file"], title: "Checkout fails", text: "x", severity: "critical" }]],
      tells: ["not_configured"],
    },
    "Have they got it?": {
      asks: [["send", { channels: ["file"], title: "Checkout fails", text: "Since 08:00." }]],
      tells: ["delivered"],
    },
  },
  supabase: {
    "Which rows are affected, and how many?": {
      asks: [
        ["list_tables", {}],
        ["describe_table", ([{ tables }]) => ({ table: tables[0].table })],
        ["count", { table: "orders", where: [{ column: "state", op: "eq", value: "failed" }] }],
        ["group", { table: "orders", by: ["state"] }],
        ["query", { table: "orders", select: "id,state", order: [{ column: "id", descending: true }], limit: 2 }],
      ],
      tells: ['"count":333', "failed", '"id":1000'],
    },
    "What do the services say?": {
      asks: [["service_logs", { service: "database", ...PERIOD }]],
      tells: ["canceling statement due to statement timeout"],
    },
    "What changed in the schema?": {
      asks: [
        ["list_migrations", {}],
        ["describe_table", { table: "orders" }],
      ],
      tells: ["20260131074500", "drop_orders_state_idx"],
    },
  },
};

let workDir = "";
let site: Loopback;
let supabase: Loopback;
const running: Loopback[] = [];
beforeAll(async () => {
  workDir = mkdtempSync(join(tmpdir(), "questions-"));
  site = await started(
    startLoopback(({ url }, response) =>
      url === "/version"
        ? sendJson(response, 200, { version: "1.14.0" })
        : sendJson(response, 503, { status: "no connection to the database" }),
    ),
  );
  supabase = await started(startLoopback(answerSupabase));
  writeFileSync(join(workDir, "app.log"), LINES.join("\n"));
  makeHistory(workDir);
});
afterAll(async () => {
  rmSync(workDir, { recursive: true, force: true });
  await Promise.all(running.map((each) => each.close()));
});

const LINES = [
  '{"time":"2026-01-31T07:59:30Z","level":"info","msg":"deployed 1.14.0","ms":3}',
  '{"time":"2026-01-31T08:00:05Z","level":"error","msg":"pay failed: timeout after 1000 ms","ms":1000}',
  "    at pay (src/pay.ts:7)",
  '{"time":"2026-01-31T08:00:06Z","level":"error","msg":"pay failed: timeout after 1000 ms","ms":1001}',
  "",
];

function makeHistory(folder: string): void {
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", ...args], { cwd: folder });
  const commit = (words: string, wait: number, tag: string) => {
    mkdirSync(join(folder, "src"), { recursive: true });
    writeFileSync(join(folder, "src", "pay.ts"), `const WAIT = ${wait};\nexport const pay = () => WAIT;\n`);
    git("add", "src");
    git("commit", "-q", "-m", words);
    git("tag", tag);
  };
  git("init", "-q");
  commit("Add payments", 60_000, "v1.0");
  commit("Give up sooner", 1000, "v1.1");
}

/** The published run of GitHub ended well, ours does not. */
const failing: GitHubScript = ({ operation, example }) =>
  operation === "actions/list-jobs-for-workflow-run"
    ? { body: JSON.parse(JSON.stringify(example).replaceAll('"success"', '"failure"')) }
    : undefined;
const STARTS: Readonly<Record<string, () => Promise<Loopback>>> = { github: () => startGitHub(failing) };

/** Supabase's own answers, by the path asked for. */
const SUPABASE: readonly (readonly [RegExp, Json])[] = [
  [/logs\.all/, { result: [{ id: "1", timestamp: 1_769_846_400_000_000, event_message: TIMED_OUT }], error: null }],
  [/database\/migrations/, [{ version: "20260131074500", name: "drop_orders_state_idx" }]],
  [/select=.*count/, [{ state: "failed", count: 333 }]],
  [/\/orders/, [{ id: 1000, state: "failed" }]],
  [
    /\/rest\/v1\/($|\?)/,
    { definitions: { orders: { properties: { id: BIGINT, state: TEXT } } }, paths: { "/orders": {} } },
  ],
];

const answerSupabase: LoopbackHandler = ({ url }, response) => {
  const body = SUPABASE.find(([path]) => path.test(url))?.[1];
  sendJson(response, body === undefined ? 404 : 200, body ?? {}, { "content-range": "0-0/333" });
};

const CONFIG: Readonly<Record<string, () => Readonly<Record<string, string>>>> = {
  http: () => ({ HTTP_HOSTS: site.url }),
  notification: () => ({ NOTIFICATION_FILE: "notices.jsonl" }),
  supabase: () => ({
    SUPABASE_URL: supabase.url,
    SUPABASE_SERVICE_ROLE_KEY: "sb_secret_canary0123456789",
    SUPABASE_TABLES: "orders",
    SUPABASE_ACCESS_TOKEN: "sbp_canary0123456789abcdef",
    SUPABASE_PROJECT: "abcdefgh",
    SUPABASE_MANAGEMENT_URL: supabase.url,
  }),
};

async function started(service: Promise<Loopback>): Promise<Loopback> {
  const loopback = await service;
  running.push(loopback);
  return loopback;
}

const load = async (id: string) => (await import(`../../skills/${id}/skill.ts`)).default as Skill;

describe("what each skill is asked in a triage", async () => {
  it("is written down for all of them", () => {
    // Those of postgres are asked where its database is.
    const all = [...Object.keys(ASKED), ...Object.keys(HERE), "postgres"];
    expect(all.sort()).toEqual(readdirSync(SKILLS).sort());
  });

  for (const [id, questions] of Object.entries(ASKED)) {
    if (UNPUBLISHED.includes(id)) continue;
    const { start, env }: Vendor = VENDORS[id as keyof typeof VENDORS];
    describeQuestions(
      await load(id),
      async () => toolContext({ config: env((await started((STARTS[id] ?? start)())).url) }),
      questions,
    );
  }
  for (const [id, questions] of Object.entries(HERE)) {
    const contextOf = async (): Promise<ToolContext> => toolContext({ config: CONFIG[id]?.() ?? {}, workDir });
    describeQuestions(await load(id), contextOf, questions);
  }
});
