// Scrapes the text metrics of an instance into one row about POST /checkout and the connection pool.
const ROUTE = "POST /checkout";

export class Scraper {
  #previous = new Map();

  /** Counts in a row cover the time since the previous scrape. Undefined while the instance restarts. */
  async scrape({ name, url, version }, time) {
    const response = await fetch(`${url}/metrics`).catch(() => undefined);
    if (!response?.ok) return undefined;
    const samples = parse(await response.text());
    const now = totals(samples);
    const before = this.#previous.get(name);
    this.#previous.set(name, { ...now, version });
    return newRow({ time, name, version, samples, now, before: before?.version === version ? before : undefined });
  }
}

function newRow({ time, name, version, samples, now, before }) {
  const since = (key) => now[key] - (before?.[key] ?? 0);
  const requests = since("requests");
  const errors = since("errors");
  return {
    time,
    instance: name,
    version,
    route: ROUTE,
    requests,
    errors_5xx: errors,
    error_ratio: requests === 0 ? 0 : Number((errors / requests).toFixed(4)),
    p50_ms: quantile(samples, "0.5"),
    p99_ms: quantile(samples, "0.99"),
    pool_in_use: gauge(samples, "pool_in_use"),
    pool_size: gauge(samples, "pool_size"),
    pool_waiting: gauge(samples, "pool_waiting"),
    payments_declined: since("declined"),
    payments_declined_since_start: now.declined,
  };
}

function totals(samples) {
  const ofRoute = samples.filter(({ name, labels }) => name === "http_requests_total" && labels.route === ROUTE);
  return {
    requests: sum(ofRoute),
    errors: sum(ofRoute.filter(({ labels }) => labels.status.startsWith("5"))),
    declined: sum(samples.filter(({ name }) => name === "payments_declined_total")),
  };
}

function quantile(samples, wanted) {
  const isWanted = ({ name, labels }) =>
    name === "http_request_duration_ms" && labels.route === ROUTE && labels.quantile === wanted;
  return samples.find(isWanted)?.value ?? null;
}

function gauge(samples, wanted) {
  return samples.find(({ name }) => name === wanted)?.value ?? null;
}

function sum(samples) {
  return samples.reduce((total, { value }) => total + value, 0);
}

function parse(text) {
  return text
    .trim()
    .split("\n")
    .map((line) => {
      const [, name, labels = "", value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line);
      const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, content]) => [label, content]);
      return { name, labels: Object.fromEntries(pairs), value: Number(value) };
    });
}
