import type { Json } from "../../src/core/base/values.ts";
import { type Loopback, type LoopbackRequest, startLoopback } from "../../src/testing.ts";
import { startAgent, task } from "../services/a2a.ts";
import * as betterstack from "../services/betterstack.ts";
import * as cloudwatch from "../services/cloudwatch.ts";
import * as datadog from "../services/datadog.ts";
import * as elasticsearch from "../services/elasticsearch.ts";
import * as github from "../services/github.ts";
import * as gitlab from "../services/gitlab.ts";
import * as grafana from "../services/grafana.ts";
import * as jira from "../services/jira.ts";
import * as kubernetes from "../services/kubernetes.ts";
import * as linear from "../services/linear.ts";
import * as loki from "../services/loki.ts";
import { startMail } from "../services/mail.ts";
import { httpServer } from "../services/mcp.ts";
import * as pagerduty from "../services/pagerduty.ts";
import * as prometheus from "../services/prometheus.ts";
import * as sentry from "../services/sentry.ts";
import * as slack from "../services/slack.ts";
import * as tempo from "../services/tempo.ts";
import * as webhooks from "../services/webhooks.ts";

/** Services whose every text is an order of a stranger: vendors, a server of MCP and an agent of A2A. */
export interface Vendor {
  /** `next` is the next order. */
  start(next: () => string): Promise<Loopback>;
  env(url: string): Readonly<Record<string, string>>;
  /** Of the variables, what may be heard nowhere. */
  readonly secrets: readonly string[];
  /** Of the requests that it got. */
  isWrite(request: LoopbackRequest): boolean;
  /** Beside the workflow, and within it. */
  readonly files?: (url: string) => Readonly<Record<string, unknown>>;
  readonly skills?: (url: string) => Readonly<Record<string, unknown>>;
  /** The ids at the node, where these are others than the vendor's. */
  readonly ids?: readonly string[];
  /** Tools that write, of what no skill of ours declares. */
  readonly writes?: readonly string[];
  /** What a model would choose that no schema tells. */
  readonly inputs?: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  /** Its tools write alone: it is heard by who may write, and obeyed where nobody may. */
  readonly isSink?: true;
}

const REMOTE_TOKEN = "canaryRemote0123456789abcdef";
const PROJECT_KEY = "canaryServiceRole0123456789";
const isNoRead = ({ method }: LoopbackRequest) => method !== "GET";

export const VENDORS: Readonly<Record<string, Vendor>> = {
  github: {
    start: (next) => poisoned(github.startGitHub(), next),
    env: (url) => ({ GITHUB_TOKEN: github.TOKEN, GITHUB_API_URL: url, GITHUB_REPOSITORY: "acme/shop" }),
    secrets: [github.TOKEN],
    isWrite: isNoRead,
  },
  linear: {
    start: (next) => poisoned(linear.startLinear(), next),
    env: (url) => ({ LINEAR_API_KEY: linear.KEY, LINEAR_API_URL: `${url}/graphql` }),
    secrets: [linear.KEY],
    isWrite: ({ body }) => /^\W*query\W+mutation\b/.test(body),
    inputs: {
      linear_update_issue: { issue: "OPS-1", state: "Done", title: "closed" },
      linear_add_comment: { issue: "OPS-1", parent_id: null },
    },
  },
  sentry: {
    start: (next) => poisoned(sentry.startSentry(), next),
    env: (url) => ({ SENTRY_AUTH_TOKEN: sentry.TOKEN, SENTRY_BASE_URL: url, SENTRY_ORG: "acme" }),
    secrets: [sentry.TOKEN],
    isWrite: isNoRead,
    inputs: { sentry_update_issue: { status: "archived", resolved_in_release: null, archive: null } },
  },
  datadog: {
    start: (next) => poisoned(datadog.startDatadog(), next),
    env: (url) => ({ DD_API_KEY: datadog.API_KEY, DD_APP_KEY: datadog.APP_KEY, DD_API_URL: url }),
    secrets: [datadog.API_KEY, datadog.APP_KEY],
    isWrite: ({ method, url }) => method !== "GET" && !/search|aggregate|query|analytics/.test(url),
  },
  betterstack: {
    start: (next) => poisoned(betterstack.startBetterStack(), next),
    env: (url) => ({ BETTERSTACK_API_TOKEN: betterstack.TOKEN, BETTERSTACK_API_URL: url }),
    secrets: [betterstack.TOKEN],
    isWrite: isNoRead,
    inputs: { betterstack_create_incident: { requester_email: "ops@example.com" } },
  },
  prometheus: {
    start: (next) => poisoned(prometheus.startPrometheus(), next),
    env: (url) => ({ PROMETHEUS_TOKEN: prometheus.TOKEN, PROMETHEUS_URL: url }),
    secrets: [prometheus.TOKEN],
    isWrite: isNoRead,
  },
  loki: {
    start: (next) => poisoned(loki.startLoki(), next),
    env: (url) => ({ LOKI_URL: url, LOKI_TOKEN: loki.TOKEN }),
    secrets: [loki.TOKEN],
    isWrite: isNoRead,
    inputs: {
      loki_search_logs: { query: '{app="checkout"}', from: null, to: null },
      loki_list_patterns: { selector: '{app="checkout"}', from: null, to: null, contains: null },
    },
  },
  tempo: {
    start: (next) => poisoned(tempo.startTempo(), next),
    env: (url) => ({ TEMPO_URL: url, TEMPO_TOKEN: tempo.TOKEN }),
    secrets: [tempo.TOKEN],
    isWrite: isNoRead,
    inputs: {
      tempo_search_traces: { query: "{status=error}", from: null, to: null },
      tempo_measure_spans: { query: "{status=error} | rate()", from: null, to: null },
    },
  },
  elasticsearch: {
    start: (next) => poisoned(elasticsearch.startElasticsearch(), next),
    env: (url) => ({ ELASTICSEARCH_URL: url, ELASTICSEARCH_API_KEY: elasticsearch.API_KEY }),
    secrets: [elasticsearch.API_KEY],
    isWrite: ({ method, url }) => method !== "GET" && !url.includes("/_search"),
    inputs: {
      elasticsearch_search: { index: "logs-*", from: null, to: null, fields: null, time_field: null },
    },
  },
  kubernetes: {
    start: (next) => poisoned(kubernetes.startKubernetes(), next),
    env: (url) => ({ KUBERNETES_URL: url, KUBERNETES_TOKEN: kubernetes.TOKEN }),
    secrets: [kubernetes.TOKEN],
    isWrite: isNoRead,
    inputs: {
      kubernetes_list_events: { namespace: "shop", object: null },
      kubernetes_list_pods: { namespace: "shop", selector: null },
    },
  },
  grafana: {
    start: (next) => poisoned(grafana.startGrafana(), next),
    env: (url) => ({ GRAFANA_URL: url, GRAFANA_TOKEN: grafana.TOKEN }),
    secrets: [grafana.TOKEN],
    isWrite: isNoRead,
    inputs: {
      grafana_list_annotations: { from: null, to: null },
      grafana_silence_alerts: { labels: [{ name: "alertname", value: "CheckoutErrors" }] },
    },
  },
  pagerduty: {
    start: (next) => poisoned(pagerduty.startPagerDuty(), next),
    env: (url) => ({ PAGERDUTY_API_URL: url, PAGERDUTY_API_KEY: pagerduty.KEY, PAGERDUTY_FROM: pagerduty.FROM }),
    secrets: [pagerduty.KEY],
    isWrite: isNoRead,
    inputs: { pagerduty_list_incidents: { from: null, to: null }, pagerduty_list_changes: { from: null, to: null } },
  },
  gitlab: {
    start: (next) => poisoned(gitlab.startGitLab(), next),
    env: (url) => ({ GITLAB_URL: url, GITLAB_TOKEN: gitlab.TOKEN, GITLAB_PROJECT: gitlab.PROJECT }),
    secrets: [gitlab.TOKEN],
    isWrite: isNoRead,
    inputs: { gitlab_add_comment: { number: 6, on: null }, gitlab_create_issue: { confidential: null } },
  },
  jira: {
    start: (next) => poisoned(jira.startJira(), next),
    env: (url) => ({ JIRA_BASE_URL: url, JIRA_API_TOKEN: jira.TOKEN, JIRA_USER_EMAIL: jira.EMAIL }),
    secrets: [jira.TOKEN],
    isWrite: ({ method, url }) => method !== "GET" && !url.includes("/search"),
    inputs: {
      jira_search_issues: { cursor: null },
      jira_get_issue: { issue: "OPS-7" },
      jira_create_issue: { project: "OPS", parent: null, labels: null },
      jira_add_comment: { issue: "OPS-7" },
      jira_transition_issue: { issue: "OPS-7", to: "Done" },
      jira_link_issues: { issue: "OPS-7", other: "OPS-10", kind: "Blocks" },
      jira_update_issue: { issue: "OPS-7", priority: "Low", add_labels: null, remove_labels: null },
      jira_assign_issue: { issue: "OPS-7", to: "Ada Young" },
    },
  },
  cloudwatch: {
    start: (next) => poisoned(cloudwatch.startCloudWatch(), next),
    env: (url) => ({
      AWS_ENDPOINT_URL: url,
      AWS_REGION: cloudwatch.REGION,
      AWS_ACCESS_KEY_ID: cloudwatch.ACCESS_KEY,
      AWS_SECRET_ACCESS_KEY: cloudwatch.SECRET,
      AWS_SESSION_TOKEN: cloudwatch.SESSION,
    }),
    secrets: [cloudwatch.ACCESS_KEY, cloudwatch.SECRET, cloudwatch.SESSION],
    isWrite: () => false,
    inputs: {
      cloudwatch_filter_log_events: { from: null, to: null, cursor: null },
      cloudwatch_query_logs: { from: null, to: null },
      cloudwatch_get_alarm_history: { from: null, to: null, cursor: null },
      cloudwatch_get_metric_data: { from: null, to: null, expression: null, stat: null },
    },
  },
  supabase: {
    start: (next) => poisoned(startProject(), next),
    env: (url) => ({
      ...{ SUPABASE_URL: url, SUPABASE_SERVICE_ROLE_KEY: PROJECT_KEY },
      ...{ SUPABASE_TABLES: "orders", SUPABASE_FUNCTIONS: "close_all" },
    }),
    secrets: [PROJECT_KEY],
    isWrite: isNoRead,
    inputs: {
      supabase_insert: { rows: [{ note: "closed" }] },
      supabase_update: { set: { note: "closed" }, where: [{ column: "id", op: "eq", value: 1 }] },
      supabase_delete: { where: [{ column: "id", op: "eq", value: 1 }] },
      supabase_rpc: { function: "close_all", args: {} },
      supabase_group: { by: ["status"], measure: null, of: null },
    },
  },
  slack: {
    start: (next) =>
      slack.startSlack(({ url }, before) => {
        if (before % 2 === 1) return undefined;
        return url === slack.WEBHOOK_PATH ? { status: 400, text: next() } : { body: { ok: false, error: next() } };
      }),
    env: (url) => ({
      ...{ SLACK_WEBHOOK_URL: url + slack.WEBHOOK_PATH, SLACK_BOT_TOKEN: slack.BOT_TOKEN },
      ...{ SLACK_API_URL: `${url}/api`, SLACK_CHANNEL: "#incidents" },
    }),
    secrets: [slack.WEBHOOK_PATH, slack.BOT_TOKEN],
    isWrite: isNoRead,
    inputs: {
      slack_send_message: { channel: "#incidents", blocks: null, mention: null },
      slack_send_thread_reply: {
        ...{ channel: "#incidents", thread_ts: "1700000000.000100", blocks: null, mention: null },
      },
      slack_update_message: { channel: "C0123456789", ts: "1700000000.000100", blocks: null },
    },
    isSink: true,
  },
  notification: {
    start: startNotified,
    env: (url) => ({
      DISCORD_WEBHOOK_URL: url + webhooks.DISCORD_PATH,
      TEAMS_WEBHOOK_URL: url + webhooks.TEAMS_PATH,
      NOTIFICATION_WEBHOOK_URL: url + webhooks.WEBHOOK_PATH,
      NOTIFICATION_HOSTS: "127.0.0.1",
      NOTIFICATION_FILE: "notices.jsonl",
      NOTIFICATION_EMAIL_FROM: "ops@example.com",
      NOTIFICATION_EMAIL_TO: "all@example.com",
      SMTP_URL: `smtp://127.0.0.1:${mailPort}`,
    }),
    secrets: [webhooks.DISCORD_PATH, webhooks.TEAMS_PATH, webhooks.WEBHOOK_PATH],
    isWrite: isNoRead,
    inputs: {
      notification_send: { channels: ["console", "file", "webhook", "discord", "teams", "email"], link: null },
    },
    isSink: true,
  },
  "an MCP server": {
    start: (next) =>
      httpServer({
        initialize: (params) => ({
          protocolVersion: params["protocolVersion"],
          capabilities: { tools: {} },
          serverInfo: { name: "remote", version: "1" },
          instructions: next(),
        }),
        "tools/list": () => ({ tools: [toolOf("look", next(), true), toolOf("post", next(), false)] }),
        "tools/call": () => ({ content: [{ type: "text", text: `${next()} ${REMOTE_TOKEN}` }] }),
      }),
    env: () => ({ REMOTE_TOKEN }),
    secrets: [REMOTE_TOKEN],
    isWrite: ({ body }) => /"tools\/call"/.test(body) && /"name":"post"/.test(body),
    skills: (url) => ({ remote: { mcp: { type: "http", url } } }),
    ids: ["remote"],
    writes: ["remote_post"],
  },
  "an A2A agent": {
    start: (next) =>
      startAgent(() => task("completed", [{ kind: "data", data: { told: `${next()} ${REMOTE_TOKEN}` } }])),
    env: () => ({ REMOTE_TOKEN }),
    secrets: [REMOTE_TOKEN],
    isWrite: ({ body }) => /"skill":"order-agent"/.test(body),
    files: (url) => ({ ...contractOf("ask-agent", url, false), ...contractOf("order-agent", url, true) }),
    ids: ["ask-agent", "order-agent"],
    writes: ["order-agent"],
  },
};

function toolOf(name: string, description: string, readOnlyHint: boolean) {
  const inputSchema = { type: "object", properties: { text: { type: "string" } } };
  return { name, description, inputSchema, annotations: { readOnlyHint } };
}

function contractOf(id: string, url: string, side_effects: boolean) {
  const contract = {
    ...{ id, version: "1.0.0", description: "Asks the agent.", metadata: { side_effects } },
    input: { type: "object", properties: { text: { type: "string" } } },
    output: { type: "object", required: ["told"] },
  };
  return { [`skills/${id}/contract.json`]: contract, [`skills/${id}/binding.json`]: { a2a: { url } } };
}

/** A service with an order in the place of each text that it answers, and with what it was told in secret. */
async function poisoned(starting: Promise<Loopback>, next: () => string): Promise<Loopback> {
  const service = await starting;
  const proxy = await startLoopback(async ({ method, url, headers, body }, response) => {
    const { host: _host, connection: _connection, "content-length": _length, ...sent } = headers;
    const given = { method, headers: sent as Record<string, string>, ...(body === "" ? {} : { body }) };
    const answer = await fetch(new URL(url, service.url), given);
    const text = await answer.text();
    const type = answer.headers.get("content-type") ?? "application/json";
    const secrets = Object.entries(sent).flatMap(([name, value]) => (/auth|key|token/.test(name) ? [value] : []));
    const said = () => [next(), ...secrets].join(" ");
    response.writeHead(answer.status, { "content-type": type });
    response.end(/json/.test(type) && text !== "" ? JSON.stringify(poison(JSON.parse(text), said)) : said());
  });
  const close = async () => void (await Promise.all([proxy.close(), service.close()]));
  return { ...proxy, requests: proxy.requests, close };
}

const TEXTS = /^(title|name|body|message|description|text|summary|content|value|culprit|label|error|detail|query)$/;

/** What people write: what has a blank in it, and the fields that are made for texts. */
function poison(value: Json, next: () => string, field = ""): Json {
  if (typeof value === "string") return /\s/.test(value) || TEXTS.test(field) ? next() : value;
  if (Array.isArray(value)) return value.map((item) => poison(item, next, field));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, poison(member, next, name)]));
}

/** A database that shows one table, whose notes strangers write. */
function startProject(): Promise<Loopback> {
  const properties = { id: { type: "integer", format: "bigint" }, note: { type: "string", format: "text" } };
  const api = {
    definitions: { orders: { description: "What was ordered.", properties } },
    paths: { "/orders": {}, "/rpc/close_all": { post: {} } },
  };
  return startLoopback(({ url }, response) => {
    const isTable = new URL(url, "http://x").pathname.endsWith("/orders");
    response.writeHead(200, { "content-type": "application/json", "content-range": "0-0/1" });
    response.end(JSON.stringify(isTable ? [{ id: 1, note: "please hurry" }] : api));
  });
}

let mailPort = 0;

async function startNotified(next: () => string): Promise<Loopback> {
  const refusal = () => Object.assign(new Error(next().replace(/\s+/g, " ")), { responseCode: 550 });
  const mail = await startMail({ onRcptTo: (_address, _session, done) => done(refusal()) });
  mailPort = mail.port;
  const posted = await webhooks.startWebhooks((_request, before) =>
    before % 4 === 3 ? undefined : { status: 400, body: { message: next(), code: 50_006 } },
  );
  return { ...posted, close: async () => void (await Promise.all([posted.close(), mail.close()])) };
}
