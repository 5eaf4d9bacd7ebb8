/** Payloads of vendors, as in their documentation, without long parts that no source here reads. */

interface Payload {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export const PAYLOADS: Readonly<Record<string, Payload>> = {
  // https://docs.sentry.io/integrations/integration-platform/webhooks/issue-alerts/
  sentry: {
    headers: { "sentry-hook-resource": "event_alert", "request-id": "5bd9b4d2-46a5-4b3f-8f5e-0f2f3d2b4c11" },
    body: {
      action: "triggered",
      actor: { id: "sentry", name: "Sentry", type: "application" },
      data: {
        event: {
          culprit: "?(<anonymous>)",
          datetime: "2019-08-19T21:06:04.000000Z",
          event_id: "e4874d664c3540c1a32eab185f12c5ab",
          issue_id: "1170820242",
          level: "error",
          platform: "javascript",
          title: "ReferenceError: heck is not defined",
          type: "error",
          web_url:
            "https://sentry.io/organizations/test-org/issues/1170820242/events/e4874d664c3540c1a32eab185f12c5ab/",
        },
        triggered_rule: "Very Important Alert Rule!",
      },
      installation: { uuid: "a8e5d37a-696c-4c54-adb5-b3f28d64c7de" },
    },
  },
  // https://developer.pagerduty.com/docs/webhooks-overview: an incident that was triggered
  pagerduty: {
    headers: { "x-webhook-id": "cc6e2ee4-d4b7-4d9c-9b3c-4e6e0d2a53cc" },
    body: {
      event: {
        id: "01DFU77KTL4GXS1KEBBJ0IXGRQ",
        event_type: "incident.triggered",
        resource_type: "incident",
        occurred_at: "2020-10-02T18:45:22.169Z",
        agent: null,
        client: null,
        data: {
          id: "PGR0VU2",
          type: "incident",
          self: "https://api.pagerduty.com/incidents/PGR0VU2",
          html_url: "https://acme.pagerduty.com/incidents/PGR0VU2",
          number: 2,
          status: "triggered",
          title: "A little bump in the road",
          urgency: "high",
        },
      },
    },
  },
  // https://docs.github.com/en/webhooks/webhook-events-and-payloads#issues
  github: {
    headers: { "x-github-event": "issues", "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958" },
    body: {
      action: "opened",
      issue: {
        number: 1347,
        title: "Found a bug",
        url: "https://api.github.com/repos/octocat/Hello-World/issues/1347",
        html_url: "https://github.com/octocat/Hello-World/issues/1347",
      },
      repository: { id: 1296269, full_name: "octocat/Hello-World", owner: { login: "octocat", id: 1 } },
      sender: { login: "octocat", id: 1 },
    },
  },
  // https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/
  grafana: {
    headers: {},
    body: {
      receiver: "My Super Webhook",
      status: "firing",
      orgId: 1,
      alerts: [
        {
          status: "firing",
          labels: { alertname: "High memory usage", team: "blue", zone: "us-1" },
          annotations: {
            description: "The system has high memory usage",
            runbook_url: "https://myrunbook.com/runbook/1234",
            summary: "This alert was triggered for zone us-1",
          },
          startsAt: "2021-10-12T09:51:03.157076+02:00",
          endsAt: "0001-01-01T00:00:00Z",
          fingerprint: "c6eadffa33fcdf37",
          values: { B: 44.23943737541908, C: 1 },
        },
      ],
      groupLabels: {},
      commonLabels: { team: "blue" },
      externalURL: "https://play.grafana.org/",
      version: "1",
      groupKey: "{}:{}",
      truncatedAlerts: 0,
      title: "[FIRING:1] (blue)",
      state: "alerting",
    },
  },
  // https://betterstack.com/docs/uptime/webhooks/
  betterstack: {
    headers: {},
    body: {
      event: "started",
      data: {
        id: "1",
        type: "incident",
        attributes: {
          name: "Tesla.com homepage",
          url: "https://tesla.com",
          http_method: "get",
          cause: "Error 500",
          started_at: "2020-10-21T10:51:28.151Z",
          acknowledged_at: null,
          resolved_at: null,
        },
        relationships: { monitor: { data: { id: "4", type: "monitor" } } },
      },
    },
  },
  // https://docs.datadoghq.com/integrations/webhooks/: the payload that a new webhook has
  datadog: {
    headers: {},
    body: {
      body: "%%%\nsystem.load.1 over host:my-host was > 0 at least once during the last 1m\n%%%",
      last_updated: "1406662672000",
      event_type: "query_alert_monitor",
      title: "[Triggered on {host:my-host}] Host is Down",
      date: "1406662672000",
      org: { id: "11023", name: "Datadog" },
      id: "1234567",
    },
  },
};
