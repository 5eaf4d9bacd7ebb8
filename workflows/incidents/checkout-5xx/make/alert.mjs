// The alert rule and the webhook payload that Alertmanager would send for it.
const THRESHOLD = 0.05;
const WINDOW_MS = 30_000;
const FOR_MS = 30_000;
const FOLDER = "workflows/incidents/checkout-5xx";
const SELECTOR = 'service="checkout",route="POST /checkout"';
const EXPRESSION =
  `sum(rate(http_requests_total{${SELECTOR},status=~"5.."}[30s]))` +
  ` / sum(rate(http_requests_total{${SELECTOR}}[30s])) > ${THRESHOLD}`;
const LABELS = {
  alertname: "CheckoutHighErrorRate",
  route: "POST /checkout",
  service: "checkout",
  severity: "critical",
};

/** Fires once the ratio over the last 30 s has stayed above the threshold for 30 s. */
export class AlertRule {
  #rows = [];
  #pendingSince;

  add(rows) {
    this.#rows.push(...rows);
  }

  evaluate(now = Date.now()) {
    this.#rows = this.#rows.filter((row) => Date.parse(row.time) > now - WINDOW_MS);
    const requests = this.#rows.reduce((sum, row) => sum + row.requests, 0);
    const errors = this.#rows.reduce((sum, row) => sum + row.errors_5xx, 0);
    const ratio = requests === 0 ? 0 : errors / requests;
    this.#pendingSince = ratio > THRESHOLD ? (this.#pendingSince ?? now) : undefined;
    const pending = this.#pendingSince !== undefined;
    return { ratio, pending, firing: pending && now - this.#pendingSince >= FOR_MS };
  }
}

export function webhookPayload({ ratio, startsAt }) {
  const annotations = annotationsFor(ratio);
  const { alertname, service, severity } = LABELS;
  return {
    receiver: "incident-triage",
    status: "firing",
    alerts: [
      {
        status: "firing",
        labels: LABELS,
        annotations,
        startsAt,
        endsAt: "0001-01-01T00:00:00Z",
        generatorURL: `https://prometheus.example.com/graph?g0.expr=${encodeURIComponent(EXPRESSION)}&g0.tab=1`,
        fingerprint: fingerprint(LABELS),
      },
    ],
    groupLabels: { alertname, service },
    commonLabels: LABELS,
    commonAnnotations: annotations,
    externalURL: "https://alertmanager.example.com",
    version: "4",
    groupKey: `{}/{severity="${severity}"}:{alertname="${alertname}", service="${service}"}`,
    truncatedAlerts: 0,
  };
}

function annotationsFor(ratio) {
  const percent = (ratio * 100).toFixed(1);
  return {
    summary: "Checkout answers too many POST /checkout with 5xx",
    description: `${percent} % of POST /checkout answered 5xx over the last 30 s (threshold 5 % for 30 s).`,
    runbook_url: "https://runbooks.example.com/checkout/high-error-rate",
    logs: `${FOLDER}/logs/*.log.gz`,
    deploys: `${FOLDER}/deploys.jsonl`,
    metrics: `${FOLDER}/metrics.jsonl`,
    repository: `${FOLDER}/checkout.bundle`,
  };
}

/** FNV-1a over the sorted labels with 0xff after each part, as Prometheus identifies a label set. */
function fingerprint(labels) {
  let hash = 0xcbf29ce484222325n;
  const add = (byte) => {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  };
  for (const part of Object.entries(labels)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flat()) {
    Buffer.from(part).forEach(add);
    add(0xff);
  }
  return hash.toString(16).padStart(16, "0");
}
