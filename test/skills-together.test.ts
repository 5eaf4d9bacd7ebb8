import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "skillflow";
import { type Loopback, type LoopbackHandler, sendJson, startLoopback } from "skillflow/testing";
import { afterEach, describe, expect, it } from "vitest";
import { runHere } from "./cli/in-process.ts";
import { makeProject, readEvents, resultOf } from "./cli/program.ts";
import * as betterstack from "./services/betterstack.ts";
import * as cloudwatch from "./services/cloudwatch.ts";
import * as datadog from "./services/datadog.ts";
import * as elasticsearch from "./services/elasticsearch.ts";
import * as github from "./services/github.ts";
import * as gitlab from "./services/gitlab.ts";
import * as grafana from "./services/grafana.ts";
import * as jira from "./services/jira.ts";
import * as kubernetes from "./services/kubernetes.ts";
import * as linear from "./services/linear.ts";
import * as loki from "./services/loki.ts";
import * as pagerduty from "./services/pagerduty.ts";
import * as prometheus from "./services/prometheus.ts";
import * as sentry from "./services/sentry.ts";
import * as slack from "./services/slack.ts";

/** All built-in skills at one node at once: most vendors answer, one is down, one refuses, one is slow. */

interface Vendor {
  /** What it is asked, which answers as soon as it is up. */
  readonly asked: readonly [tool: string, input: JsonObject];
  readonly start?: () => Promise<Loopback>;
  readonly env?: (url: string) => Readonly<Record<string, string>>;
  /** What its call fails with, where it does. */
  readonly fails?: RegExp;
  /** It answers when all others have. */
  readonly isSlow?: true;
}

const loopback = (handler: LoopbackHandler) => () => startLoopback(handler);

const VENDORS: Readonly<Record<string, Vendor>> = {
  betterstack: {
    asked: ["list_incidents", { resolved: false }],
    start: betterstack.startBetterStack,
    env: (url) => ({ BETTERSTACK_API_TOKEN: betterstack.TOKEN, BETTERSTACK_API_URL: url }),
  },
  cloudwatch: {
    asked: ["list_alarms", {}],
    start: cloudwatch.startCloudWatch,
    env: (url) => ({
      AWS_ACCESS_KEY_ID: cloudwatch.ACCESS_KEY,
      AWS_SECRET_ACCESS_KEY: cloudwatch.SECRET,
      AWS_SESSION_TOKEN: cloudwatch.SESSION,
      AWS_REGION: cloudwatch.REGION,
      AWS_ENDPOINT_URL: url,
    }),
  },
  datadog: {
    asked: ["search_logs", { query: "service:checkout", from: "2026-11-20T14:30:00Z", to: "2026-11-20T14:45:00Z" }],
    start: datadog.startDatadog,
    env: (url) => ({ DD_API_KEY: datadog.API_KEY, DD_APP_KEY: datadog.APP_KEY, DD_API_URL: url }),
  },
  elasticsearch: {
    asked: ["list_indices", {}],
    start: elasticsearch.startElasticsearch,
    env: (url) => ({ ELASTICSEARCH_URL: url, ELASTICSEARCH_API_KEY: elasticsearch.API_KEY }),
    isSlow: true,
  },
  git: { asked: ["log", {}], env: () => ({ GIT_REPOSITORY: ".", PATH: process.env["PATH"] ?? "" }) },
  github: {
    asked: ["list_commits", { limit: 3 }],
    start: github.startGitHub,
    env: (url) => ({ GITHUB_TOKEN: github.READ_TOKEN, GITHUB_API_URL: url, GITHUB_REPOSITORY: "acme/shop" }),
  },
  gitlab: {
    asked: ["list_commits", {}],
    start: gitlab.startGitLab,
    env: (url) => ({ GITLAB_URL: url, GITLAB_TOKEN: gitlab.TOKEN, GITLAB_PROJECT: gitlab.PROJECT }),
  },
  grafana: {
    asked: ["list_alerts", {}],
    start: grafana.startGrafana,
    env: (url) => ({ GRAFANA_URL: url, GRAFANA_TOKEN: grafana.TOKEN }),
  },
  http: {
    asked: ["check", { urls: ["{{url}}/health"] }],
    start: loopback((_request, response) => sendJson(response, 503, { status: "degraded" })),
    env: (url) => ({ HTTP_HOSTS: url }),
  },
  jira: {
    asked: ["search_issues", { jql: "project = OPS ORDER BY updated DESC" }],
    start: jira.startJira,
    env: (url) => ({ JIRA_BASE_URL: url, JIRA_USER_EMAIL: jira.EMAIL, JIRA_API_TOKEN: jira.TOKEN }),
  },
  kubernetes: {
    asked: ["list_pods", { namespace: "shop" }],
    start: kubernetes.startKubernetes,
    env: (url) => ({ KUBERNETES_URL: url, KUBERNETES_TOKEN: kubernetes.TOKEN }),
  },
  ...(linear.hasSchema
    ? {
        linear: {
          asked: ["search_issues", { query: "checkout" }],
          start: linear.startLinear,
          env: (url) => ({ LINEAR_API_KEY: linear.KEY, LINEAR_API_URL: `${url}/graphql` }),
        } satisfies Vendor,
      }
    : {}),
  logs: { asked: ["search", { files: ["app.log"] }] },
  loki: {
    asked: ["list_labels", {}],
    start: loki.startLoki,
    env: (url) => ({ LOKI_URL: url, LOKI_TOKEN: loki.TOKEN }),
  },
  notification: { asked: ["channels", {}], env: () => ({ NOTIFICATION_FILE: "notices.jsonl" }) },
  pagerduty: {
    asked: ["list_incidents", {}],
    start: pagerduty.startPagerDuty,
    env: (url) => ({ PAGERDUTY_API_URL: url, PAGERDUTY_API_KEY: pagerduty.KEY }),
  },
  postgres: {
    asked: ["list_queries", {}],
    env: () => ({ POSTGRES_URL: "postgres://triage:pgcanary0123456789@127.0.0.1:1/shop" }),
    fails: /ECONNREFUSED|did not answer|does not answer/,
  },
  prometheus: {
    asked: ["list_alerts", {}],
    start: prometheus.startPrometheus,
    env: (url) => ({ PROMETHEUS_URL: url, PROMETHEUS_TOKEN: prometheus.TOKEN }),
  },
  ...(sentry.hasContract
    ? {
        sentry: {
          asked: ["list_issues", {}],
          start: sentry.startSentry,
          env: (url) => ({ SENTRY_AUTH_TOKEN: sentry.TOKEN, SENTRY_BASE_URL: url, SENTRY_ORG: "acme" }),
        } satisfies Vendor,
      }
    : {}),
  slack: {
    asked: ["list_channels", {}],
    start: slack.startSlack,
    env: (url) => ({ SLACK_BOT_TOKEN: slack.BOT_TOKEN, SLACK_API_URL: `${url}/api` }),
  },
  supabase: {
    asked: ["count", { table: "orders" }],
    start: loopback((_request, response) =>
      sendJson(response, 403, { code: "42501", message: "permission denied for table orders" }),
    ),
    env: (url) => ({
      SUPABASE_URL: url,
      SUPABASE_SERVICE_ROLE_KEY: "sb_secret_canary0123456789",
      SUPABASE_TABLES: "orders",
    }),
    fails: /42501|permission denied|does not allow/,
  },
};

/** Those that need a published contract beside the checkout. */
const ELSEWHERE = [...(linear.hasSchema ? [] : ["linear"]), ...(sentry.hasContract ? [] : ["sentry"])];

const open: Loopback[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((service) => service.close()));
});

/** In front of a service: what it is asked waits for the others. */
function delayed({ url }: Loopback, others: Promise<void>): Promise<Loopback> {
  return startLoopback(async ({ method, url: path, headers }, response) => {
    await others;
    const { host: _, connection: __, ...kept } = headers;
    const answer = await fetch(`${url}${path}`, { method, headers: kept as Record<string, string> });
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
    response.end(await answer.text());
  });
}

async function startAll(others: Promise<void>) {
  const env: Record<string, string> = {};
  const calls: { tool: string; input: JsonObject }[] = [];
  for (const [id, { asked, start, env: envOf, isSlow }] of Object.entries(VENDORS)) {
    const own = await start?.();
    const service = own && isSlow ? await delayed(own, others) : own;
    open.push(...(own ? [own] : []), ...(service && service !== own ? [service] : []));
    const url = service?.url ?? "";
    Object.assign(env, envOf?.(url));
    const [tool, input] = asked;
    calls.push({ tool: `${id}_${tool}`, input: JSON.parse(JSON.stringify(input).replaceAll("{{url}}", url)) });
  }
  return { env, calls };
}

const WORKFLOW = `
id: look-at-all
name: Look at all
entry: look
nodes:
  look:
    name: Look
    instruction: Look at every system.
    skills: [${Object.keys(VENDORS).join(", ")}]
edges: []
`;

describe("all built-in skills at once", () => {
  it("are those that there are", () => {
    expect([...Object.keys(VENDORS), ...ELSEWHERE].sort()).toEqual(readdirSync(join(import.meta.dirname, "../skills")));
  });

  it("answer side by side, whichever of them is down, refuses or is slow, and each says which", async () => {
    let tellAll: () => void = () => undefined;
    const others = new Promise<void>((resolve) => {
      tellAll = resolve;
    });
    const { env, calls } = await startAll(others);
    const script = { replies: [{ calls }, { text: "Looked at." }] };
    const cwd = makeProject({ "all.yml": WORKFLOW, "script.json": script, "app.log": "2026-11-20T14:38:05Z ERROR\n" });
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...args], { cwd });
    git("init", "-q");
    git("commit", "-q", "--allow-empty", "-m", "Begin");
    let told = "";
    const onText = (_: string, text: string) => {
      told += text;
      if (told.split("tool:result ").length > calls.length - 1) tellAll();
    };
    const args = ["run", "all.yml", "--run-id", "all", "--model", "script:script.json", "--no-discover", "--json"];
    const ended = await runHere(args, { cwd, env, onText });
    expect(ended.code, ended.stderr).toBe(0);
    const made = resultOf(ended).results["look"]?.toolCalls ?? [];
    expect(made.map(({ tool }) => tool)).toEqual(calls.map(({ tool }) => tool));
    for (const [index, [id, { fails }]] of Object.entries(VENDORS).entries()) {
      const { error, output } = made[index] ?? {};
      if (fails) expect(error, id).toMatch(fails);
      else expect([id, error, output === undefined]).toEqual([id, undefined, false]);
    }
    const results = readEvents(cwd, "all").flatMap((event) => (event.type === "tool:result" ? [event.tool] : []));
    expect(results.at(-1)).toBe("elasticsearch_list_indices");
    for (const secret of Object.values(env).filter((value) => /canary/i.test(value))) {
      expect(ended.stdout + ended.stderr).not.toContain(secret);
    }
  });
});
