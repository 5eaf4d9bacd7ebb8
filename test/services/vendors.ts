import type { Loopback } from "skillflow/testing";
import * as betterstack from "./betterstack.ts";
import * as cloudwatch from "./cloudwatch.ts";
import * as datadog from "./datadog.ts";
import * as elasticsearch from "./elasticsearch.ts";
import * as github from "./github.ts";
import * as gitlab from "./gitlab.ts";
import * as grafana from "./grafana.ts";
import * as jira from "./jira.ts";
import * as kubernetes from "./kubernetes.ts";
import * as linear from "./linear.ts";
import * as loki from "./loki.ts";
import * as pagerduty from "./pagerduty.ts";
import * as prometheus from "./prometheus.ts";
import * as sentry from "./sentry.ts";
import * as slack from "./slack.ts";
import * as tempo from "./tempo.ts";

/** The vendors of the built-in skills on loopback, each with the config that its skill has for it. */

export interface Vendor {
  readonly start: () => Promise<Loopback>;
  readonly env: (url: string) => Readonly<Record<string, string>>;
}

export const VENDORS = {
  betterstack: {
    start: betterstack.startBetterStack,
    env: (url) => ({
      BETTERSTACK_API_TOKEN: betterstack.TOKEN,
      BETTERSTACK_API_URL: url,
      BETTERSTACK_QUERY_ENDPOINT: url,
      BETTERSTACK_QUERY_USERNAME: betterstack.USERNAME,
      BETTERSTACK_QUERY_PASSWORD: betterstack.PASSWORD,
      BETTERSTACK_SOURCE: betterstack.SOURCE,
    }),
  },
  cloudwatch: {
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
    start: datadog.startDatadog,
    env: (url) => ({ DD_API_KEY: datadog.API_KEY, DD_APP_KEY: datadog.APP_KEY, DD_API_URL: url }),
  },
  elasticsearch: {
    start: elasticsearch.startElasticsearch,
    env: (url) => ({ ELASTICSEARCH_URL: url, ELASTICSEARCH_API_KEY: elasticsearch.API_KEY }),
  },
  github: {
    start: github.startGitHub,
    env: (url) => ({ GITHUB_TOKEN: github.READ_TOKEN, GITHUB_API_URL: url, GITHUB_REPOSITORY: "acme/shop" }),
  },
  gitlab: {
    start: gitlab.startGitLab,
    env: (url) => ({ GITLAB_URL: url, GITLAB_TOKEN: gitlab.TOKEN, GITLAB_PROJECT: gitlab.PROJECT }),
  },
  grafana: {
    start: grafana.startGrafana,
    env: (url) => ({ GRAFANA_URL: url, GRAFANA_TOKEN: grafana.TOKEN }),
  },
  jira: {
    start: jira.startJira,
    env: (url) => ({ JIRA_BASE_URL: url, JIRA_USER_EMAIL: jira.EMAIL, JIRA_API_TOKEN: jira.TOKEN }),
  },
  kubernetes: {
    start: () => kubernetes.startKubernetes(),
    env: (url) => ({ KUBERNETES_URL: url, KUBERNETES_TOKEN: kubernetes.TOKEN }),
  },
  linear: {
    start: linear.startLinear,
    env: (url) => ({ LINEAR_API_KEY: linear.KEY, LINEAR_API_URL: `${url}/graphql` }),
  },
  loki: { start: loki.startLoki, env: (url) => ({ LOKI_URL: url, LOKI_TOKEN: loki.TOKEN }) },
  pagerduty: {
    start: pagerduty.startPagerDuty,
    env: (url) => ({ PAGERDUTY_API_URL: url, PAGERDUTY_API_KEY: pagerduty.KEY }),
  },
  prometheus: {
    start: prometheus.startPrometheus,
    env: (url) => ({ PROMETHEUS_URL: url, PROMETHEUS_TOKEN: prometheus.TOKEN }),
  },
  sentry: {
    start: sentry.startSentry,
    env: (url) => ({ SENTRY_AUTH_TOKEN: sentry.TOKEN, SENTRY_BASE_URL: url, SENTRY_ORG: "acme" }),
  },
  slack: {
    start: slack.startSlack,
    env: (url) => ({
      SLACK_BOT_TOKEN: slack.BOT_TOKEN,
      SLACK_USER_TOKEN: slack.USER_TOKEN,
      SLACK_API_URL: `${url}/api`,
    }),
  },
  tempo: { start: tempo.startTempo, env: (url) => ({ TEMPO_URL: url, TEMPO_TOKEN: tempo.TOKEN }) },
} satisfies Readonly<Record<string, Vendor>>;

/** Those whose published contract is not here: it stands beside the checkout. */
export const UNPUBLISHED: readonly string[] = [
  ...(linear.hasSchema ? [] : ["linear"]),
  ...(sentry.hasContract ? [] : ["sentry"]),
];
