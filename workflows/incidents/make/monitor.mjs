// A monitoring system: scrapes counters, stores them in the format of its export, and evaluates one rule.

/** Samples of a Prometheus exposition: metric, labels, value. */
export function parseExposition(text) {
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [, metric, labels = "", value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line);
      const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, content]) => [label, content]);
      return { metric, labels: Object.fromEntries(pairs), value: Number(value) };
    });
}

/** The sum of a metric's samples whose labels hold, as text or pattern. */
export function total(samples, metric, labels = {}) {
  return samples
    .filter((sample) => sample.metric === metric)
    .filter((sample) =>
      Object.entries(labels).every(([key, wanted]) => new RegExp(`^(?:${wanted})$`).test(sample.labels[key])),
    )
    .reduce((sum, { value }) => sum + value, 0);
}

/**
 * Scrapes until the rule has held for `holds` seconds, and `after` seconds more. A rule gets the scrapes of its window,
 * oldest first, each { time, samples by instance }, and yields the value that is compared with the threshold.
 * Resolves to { value, since, at } of the moment it fired.
 */
export async function watch(
  stage,
  { instances, every = 2, window = 10, holds = 6, after = 8, limit = 180, value, above, keep, fire },
) {
  const scrapes = [];
  let since;
  let fired;
  const give = Date.now() + limit * 1000;
  for (let end = Number.POSITIVE_INFINITY; Date.now() < end; ) {
    if (!fired && Date.now() > give) throw new Error(`the alert of ${stage.name} did not fire`);
    await stage.wait(every);
    const time = Date.now();
    const scrape = { time, samples: await scrapeAll(stage, instances) };
    await keep?.(scrape);
    scrapes.push(scrape);
    const seen = scrapes.filter((one) => one.time >= time - window * 1000 * stage.pace);
    const now = seen.length > 1 ? value(seen) : 0;
    since = now > above ? (since ?? time) : undefined;
    if (fired || since === undefined || time - since < holds * 1000 * stage.pace) continue;
    fired = { value: now, since: new Date(since).toISOString(), at: new Date(time).toISOString() };
    stage.say(`fires at ${now.toFixed(3)}`);
    await fire?.(fired);
    end = time + after * 1000 * stage.pace;
  }
  return fired;
}

async function scrapeAll(stage, instances) {
  const read = async (name) => {
    const signal = AbortSignal.timeout(5000);
    const response = await fetch(`${await stage.url(name)}/metrics`, { signal }).catch(() => undefined);
    return [name, response?.ok ? parseExposition(await response.text()) : undefined];
  };
  return Object.fromEntries((await Promise.all(instances.map(read))).filter(([, samples]) => samples));
}

/** How much a sum grew over a window, restarts of an instance left out. */
export function growth(scrapes, metric, labels) {
  let grown = 0;
  for (const [index, scrape] of scrapes.entries()) {
    const before = scrapes[index - 1];
    for (const [name, samples] of Object.entries(scrape.samples)) {
      if (!before?.samples[name]) continue;
      grown += Math.max(0, total(samples, metric, labels) - total(before.samples[name], metric, labels));
    }
  }
  return grown;
}

/** Stores scrapes as a Prometheus text export with a time after each sample. */
export function keepExposition(stage, file) {
  const known = new Set();
  return async ({ time, samples }) => {
    const lines = Object.entries(samples).flatMap(([instance, own]) =>
      own.flatMap(({ metric, labels, value }) => {
        const all = Object.entries({ ...labels, instance }).map(([key, content]) => `${key}="${content}"`);
        const head = known.has(metric)
          ? []
          : [`# TYPE ${metric} ${/_(?:total|sum)$/.test(metric) ? "counter" : "gauge"}`];
        known.add(metric);
        return [...head, `${metric}{${all.join(",")}} ${value} ${time}`];
      }),
    );
    await stage.append(file, lines.map((line) => `${line}\n`).join(""));
  };
}

/** Stores the results of `row` for each scrape and the one before it, as a table. */
export function keepTable(stage, file, row) {
  let before;
  return async (scrape) => {
    const rows = before ? [row([before, scrape])].flat() : [];
    const isFirst = before && !before.headed;
    if (isFirst && rows.length > 0) await stage.append(file, `${Object.keys(rows[0]).join(",")}\n`);
    for (const one of rows) await stage.append(file, `${Object.values(one).join(",")}\n`);
    before = { ...scrape, headed: Boolean(before) };
  };
}
