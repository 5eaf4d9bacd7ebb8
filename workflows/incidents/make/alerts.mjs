// The webhook payloads of each monitoring system, as its documentation publishes them.
import { createHash } from "node:crypto";

const HOST = "example.com";

/** Ids that are the same each time. */
const digest = (text, length) => createHash("sha256").update(text).digest("hex").slice(0, length);
const number = (text) => Number.parseInt(digest(text, 7), 16);
const uuid = (text) => digest(text, 32).replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, "$1-$2-$3-$4-$5");
const link = (system, path) => `https://${system}.${HOST}/${path}`;
const lines = (evidence) =>
  Object.entries(evidence)
    .map(([what, where]) => `${what}: ${where}`)
    .join("\n");

/** Paths of an incident's evidence. */
export function evidenceOf({ name, service }, kinds = ["logs", "deploys", "metrics", "repository"]) {
  const folder = `workflows/incidents/${name}`;
  const places = {
    logs: `${folder}/logs/*.gz`,
    deploys: `${folder}/deploys.jsonl`,
    metrics: `${folder}/metrics.csv`,
    repository: `${folder}/${service}.bundle`,
  };
  return Object.fromEntries(kinds.map((kind) => [kind, places[kind]]));
}

/** The default payload of Datadog's webhooks integration. */
export function datadog({ title, body, at, evidence }) {
  const time = String(Date.parse(at));
  return {
    id: String(number(title)),
    last_updated: time,
    event_type: "metric_alert_monitor",
    title: `[P2] [Triggered] ${title}`,
    date: time,
    org: { id: "314159", name: "Example" },
    body: `%%%\n${body}\n\n${lines(evidence)}\n\n[Monitor Status](${link("app.datadoghq", `monitors/${number(title)}`)})\n%%%`,
  };
}

/** Grafana Alerting's contact point of the type webhook. */
export function grafana({ title, summary, labels, value, threshold, since, evidence }) {
  const own = { alertname: title, grafana_folder: "Customer journeys", ...labels };
  const annotations = { summary, ...evidence };
  const uid = digest(title, 12);
  const alert = {
    status: "firing",
    labels: own,
    annotations,
    startsAt: since,
    endsAt: "0001-01-01T00:00:00Z",
    generatorURL: link("grafana", `alerting/grafana/${uid}/view?orgId=1`),
    fingerprint: digest(JSON.stringify(own), 16),
    silenceURL: link("grafana", `alerting/silence/new?alertmanager=grafana&matcher=alertname%3D${title}`),
    dashboardURL: "",
    panelURL: "",
    values: { A: value, C: 1 },
    valueString: `[ var='A' labels={} value=${value} ], [ var='C' labels={} value=1 ]`,
    orgId: 1,
  };
  return {
    receiver: "incident-triage",
    status: "firing",
    alerts: [alert],
    groupLabels: { alertname: title },
    commonLabels: own,
    commonAnnotations: annotations,
    externalURL: link("grafana", ""),
    version: "1",
    groupKey: `{}:{alertname="${title}"}`,
    truncatedAlerts: 0,
    orgId: 1,
    title: `[FIRING:1] ${title} (${own.service})`,
    state: "alerting",
    message: `**Firing**\n\nValue: A=${value}, C=1\nThreshold: ${threshold}\n${summary}\n${lines(evidence)}\n`,
  };
}

/** PagerDuty's webhooks, version 3. An incident has little more than a title, so the title says where to look. */
export function pagerduty({ title, service, at, evidence }) {
  const reference = (type, path, summary) => {
    const id = `P${digest(path + summary, 6).toUpperCase()}`;
    const self = `https://api.pagerduty.com/${path}/${id}`;
    return { html_url: link("acme.pagerduty", `${path}/${id}`), id, self, summary, type: `${type}_reference` };
  };
  const id = `Q${digest(title, 13).toUpperCase()}`;
  const places = Object.entries(evidence).map(([what, where]) => `${what} ${where}`);
  return {
    event: {
      id: `01${digest(at, 24).toUpperCase()}`,
      event_type: "incident.triggered",
      resource_type: "incident",
      occurred_at: at,
      agent: null,
      client: { name: "Prometheus" },
      data: {
        id,
        type: "incident",
        self: `https://api.pagerduty.com/incidents/${id}`,
        html_url: link("acme.pagerduty", `incidents/${id}`),
        number: number(title) % 10_000,
        status: "triggered",
        incident_key: digest(title, 32),
        created_at: at,
        title: `${title} (${places.join(", ")})`,
        service: reference("service", "services", service),
        assignees: [reference("user", "users", "Mirela Vantor")],
        escalation_policy: reference("escalation_policy", "escalation_policies", "Backend"),
        teams: [reference("team", "teams", "Backend")],
        priority: reference("priority", "priorities", "P2"),
        urgency: "high",
        conference_bridge: null,
        resolve_reason: null,
      },
    },
  };
}

/** Better Stack's outgoing webhook of an incident. */
export function betterstack({ name, cause, url, at, evidence }) {
  const metadata = Object.fromEntries(
    Object.entries(evidence).map(([key, value]) => [key, [{ type: "String", value }]]),
  );
  const id = String(number(name));
  return {
    data: {
      id,
      type: "incident",
      attributes: {
        name,
        url,
        http_method: url ? "post" : null,
        cause,
        incident_group_id: null,
        started_at: at,
        acknowledged_at: null,
        acknowledged_by: null,
        resolved_at: null,
        resolved_by: null,
        status: "Started",
        team_name: "Backend",
        response_content: null,
        response_options: null,
        regions: ["eu"],
        response_url: null,
        screenshot_url: null,
        origin_url: null,
        escalation_policy_id: null,
        call: false,
        sms: false,
        email: true,
        push: true,
        critical_alert: false,
        metadata,
      },
      relationships: {
        [url ? "monitor" : "heartbeat"]: { data: { id: String(number(cause)), type: url ? "monitor" : "heartbeat" } },
      },
    },
  };
}

/** Sentry's webhook of an issue alert. */
export function sentry({ type, value, culprit, project, release, at, rule, frames, evidence, tags = {} }) {
  const issue = String(number(type + value));
  const id = digest(at + value, 32);
  return {
    action: "triggered",
    actor: { id: "sentry", name: "Sentry", type: "application" },
    data: {
      event: {
        culprit,
        datetime: at,
        event_id: id,
        exception: {
          values: [{ mechanism: { handled: true, type: "generic" }, stacktrace: { frames }, type, value }],
        },
        extra: evidence,
        issue_id: issue,
        issue_url: `https://sentry.io/api/0/issues/${issue}/`,
        level: "error",
        location: frames.at(-1).filename,
        logger: "",
        message: "",
        metadata: { filename: frames.at(-1).filename, function: frames.at(-1).function, type, value },
        platform: "node",
        project: number(project) % 100_000,
        release,
        tags: Object.entries({ level: "error", environment: "production", release, ...tags }),
        timestamp: Date.parse(at) / 1000,
        title: `${type}: ${value}`,
        type: "error",
        url: `https://sentry.io/api/0/projects/example/${project}/events/${id}/`,
        web_url: `https://sentry.io/organizations/example/issues/${issue}/events/${id}/`,
      },
      triggered_rule: rule,
    },
    installation: { uuid: uuid(project) },
  };
}

/**
 * The message that Amazon SNS posts when a CloudWatch alarm changes its state. The alarm is a string inside the
 * message.
 */
export function cloudwatch({ name, description, reason, metric, threshold, at, evidence }) {
  const account = "123456789012";
  const region = "eu-central-1";
  const topic = `arn:aws:sns:${region}:${account}:incidents`;
  const alarm = {
    AlarmName: name,
    AlarmDescription: `${description}\n${lines(evidence)}`,
    AWSAccountId: account,
    AlarmConfigurationUpdatedTimestamp: "2026-09-07T12:10:44.000+0000",
    NewStateValue: "ALARM",
    NewStateReason: reason,
    StateChangeTime: at.replace("Z", "+0000"),
    Region: "EU (Frankfurt)",
    AlarmArn: `arn:aws:cloudwatch:${region}:${account}:alarm:${name}`,
    OldStateValue: "OK",
    OKActions: [],
    AlarmActions: [topic],
    InsufficientDataActions: [],
    Trigger: {
      MetricName: metric,
      Namespace: "AWS/ApplicationELB",
      StatisticType: "Statistic",
      Statistic: "SUM",
      Unit: null,
      Dimensions: [{ value: "app/tickets/50dc6c495c0c9188", name: "LoadBalancer" }],
      Period: 10,
      EvaluationPeriods: 1,
      DatapointsToAlarm: 1,
      ComparisonOperator: "GreaterThanThreshold",
      Threshold: threshold,
      TreatMissingData: "notBreaching",
      EvaluateLowSampleCountPercentile: "",
    },
  };
  return {
    Type: "Notification",
    MessageId: uuid(at),
    TopicArn: topic,
    Subject: `ALARM: "${name}" in EU (Frankfurt)`,
    Message: JSON.stringify(alarm),
    Timestamp: at,
    SignatureVersion: "1",
    Signature: "EXAMPLEw6JRN",
    SigningCertURL: `https://sns.${region}.amazonaws.com/SimpleNotificationService-EXAMPLE.pem`,
    UnsubscribeURL: `https://sns.${region}.amazonaws.com/?Action=Unsubscribe&SubscriptionArn=${topic}:${uuid(topic)}`,
  };
}

/** Alertmanager's webhook, version 4. With `ended` the alert has ended. */
export function alertmanager({ labels, summary, description, since, ended, evidence }) {
  const annotations = { summary, description, ...evidence };
  const status = ended ? "resolved" : "firing";
  const { alertname, service } = labels;
  return {
    receiver: "incident-triage",
    status,
    alerts: [
      {
        status,
        labels,
        annotations,
        startsAt: since,
        endsAt: ended ?? "0001-01-01T00:00:00Z",
        generatorURL: link("prometheus", "graph?g0.expr=probe_success%20%3D%3D%200&g0.tab=1"),
        fingerprint: digest(JSON.stringify(labels), 16),
      },
    ],
    groupLabels: { alertname, service },
    commonLabels: labels,
    commonAnnotations: annotations,
    externalURL: link("alertmanager", ""),
    version: "4",
    groupKey: `{}:{alertname="${alertname}", service="${service}"}`,
    truncatedAlerts: 0,
  };
}
