import { isObject } from "skillflow/internal";
import { isoText, parseInstant } from "../line/timestamp.ts";

/** Flat row from nested telemetry: OpenTelemetry JSON, metric series or query results. */

export type Row = Readonly<Record<string, unknown>>;

/** Resource and scope that enclose the records of an OpenTelemetry export. */
export interface Surroundings {
  readonly resource?: unknown;
  readonly scope?: unknown;
}

/** Lists whose elements contain further lists, down to the records. */
export const OTLP_LISTS: ReadonlySet<string> = new Set([
  ...["resourceLogs", "resourceSpans", "resourceMetrics", "scopeLogs", "scopeSpans", "scopeMetrics"],
  ...["instrumentationLibraryLogs", "instrumentationLibrarySpans", "instrumentationLibraryMetrics"],
]);
export const OTLP_RECORDS: ReadonlySet<string> = new Set(["logRecords", "spans", "metrics"]);
const SCOPES: ReadonlySet<string> = new Set(["scope", "instrumentationScope", "instrumentationLibrary"]);

export function isOtlp(value: unknown): value is Row {
  return isObject(value) && Object.keys(value).some((key) => /^resource(?:Logs|Spans|Metrics)$/.test(camel(key)));
}

/** Returns whether a member is the resource or the scope. */
export function surroundingOf(key: string): keyof Surroundings | undefined {
  if (key === "resource") return "resource";
  return SCOPES.has(camel(key)) ? "scope" : undefined;
}

/** Converts snake case to camel case, because some exporters use the protocol's own field names. */
export function camel(key: string): string {
  return key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

export function* otlpRows(value: Row, around: Surroundings = {}): Generator<Row> {
  const own = Object.entries(value).flatMap(([key, member]) => {
    const place = surroundingOf(key);
    return place ? [[place, member]] : [];
  });
  const surroundings: Surroundings = { ...around, ...Object.fromEntries(own) };
  for (const [key, member] of Object.entries(value)) {
    if (!Array.isArray(member)) continue;
    const name = camel(key);
    for (const each of member.filter(isObject)) {
      if (OTLP_LISTS.has(name)) yield* otlpRows(each, surroundings);
      else if (OTLP_RECORDS.has(name)) yield* recordRows(name, each, surroundings);
    }
  }
}

/** Converts a log record or span to one row, and a metric to one row per point. */
export function* recordRows(list: string, record: Row, { resource, scope }: Surroundings): Generator<Row> {
  const common = {
    resource: attributesOf(isObject(resource) ? resource["attributes"] : undefined),
    scope: isObject(scope) ? scope["name"] : undefined,
  };
  const own = camelKeys(record);
  if (list === "logRecords") yield flat(logFields(own), own["attributes"], common);
  else if (list === "spans") yield flat(spanFields(own), own["attributes"], common);
  else {
    for (const [type, data] of Object.entries(own)) {
      const points = isObject(data) ? (data["dataPoints"] ?? data["data_points"]) : undefined;
      if (!Array.isArray(points)) continue;
      for (const point of points.filter(isObject).map(camelKeys)) {
        yield flat(
          { ...pointFields(point), metric: own["name"], unit: own["unit"], type },
          point["attributes"],
          common,
        );
      }
    }
  }
}

function logFields(own: Row): Row {
  return {
    time: nanoTime(own["timeUnixNano"]) ?? nanoTime(own["observedTimeUnixNano"]),
    severityText: own["severityText"],
    severityNumber: own["severityNumber"],
    body: anyValue(own["body"]),
    eventName: own["eventName"],
    traceId: own["traceId"],
    spanId: own["spanId"],
  };
}

function spanFields(own: Row): Row {
  const status = isObject(own["status"]) ? own["status"] : {};
  const [start, end] = [nanosOf(own["startTimeUnixNano"]), nanosOf(own["endTimeUnixNano"])];
  const events = (Array.isArray(own["events"]) ? own["events"] : []).filter(isObject).map(camelKeys);
  return {
    time: nanoTime(own["startTimeUnixNano"]),
    name: own["name"],
    duration_ms: start === undefined || end === undefined ? undefined : Number(end - start) / 1e6,
    kind: enumName(own["kind"], SPAN_KINDS),
    status: enumName(status["code"], ["UNSET", "OK", "ERROR"]),
    statusMessage: status["message"],
    traceId: own["traceId"],
    spanId: own["spanId"],
    parentSpanId: own["parentSpanId"] || undefined,
    events:
      events.length === 0
        ? undefined
        : events.map((event) => ({
            time: nanoTime(event["timeUnixNano"]),
            name: event["name"],
            ...attributesOf(event["attributes"]),
          })),
  };
}

const SPAN_KINDS = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];

function pointFields(point: Row): Row {
  const { quantileValues: quantiles, explicitBounds: bounds, bucketCounts: counts } = point;
  const isHistogram = Array.isArray(bounds) && Array.isArray(counts);
  return {
    time: nanoTime(point["timeUnixNano"]),
    value: numberOf(point["asDouble"] ?? point["asInt"]),
    ...Object.fromEntries(["count", "sum", "min", "max"].map((key) => [key, numberOf(point[key])])),
    buckets: isHistogram
      ? Object.fromEntries(counts.map((count, index) => [`<=${bounds[index] ?? "+Inf"}`, numberOf(count)]))
      : undefined,
    quantiles: Array.isArray(quantiles)
      ? Object.fromEntries(quantiles.filter(isObject).map(({ quantile, value }) => [String(quantile), value]))
      : undefined,
  };
}

/** Merges a record's own fields, its attributes and its resource's. Later fields with a used name get a prefix. */
function flat(
  own: Row,
  attributes: unknown,
  { resource, scope }: { readonly resource: Row; readonly scope: unknown },
): Row {
  const row: Record<string, unknown> = {};
  const add = (fields: Row, origin: string) => {
    for (const [key, value] of Object.entries(fields)) {
      if (value !== undefined && value !== "") row[Object.hasOwn(row, key) ? `${origin}.${key}` : key] = value;
    }
  };
  add(own, "record");
  add(attributesOf(attributes), "attributes");
  add(resource, "resource");
  add({ scope }, "scope");
  return row;
}

function attributesOf(list: unknown): Row {
  if (!Array.isArray(list)) return isObject(list) ? list : {};
  return Object.fromEntries(list.filter(isObject).map(({ key, value }) => [String(key), anyValue(value)]));
}

function anyValue(value: unknown): unknown {
  if (!isObject(value)) return value;
  const [entry] = Object.entries(value);
  if (!entry) return undefined;
  const [kind, content] = [camel(entry[0]), entry[1]];
  if (kind === "intValue" || kind === "doubleValue") return numberOf(content);
  const inner = isObject(content) && Array.isArray(content["values"]) ? content["values"] : [];
  if (kind === "arrayValue") return inner.map(anyValue);
  if (kind === "kvlistValue") return attributesOf(inner);
  return /^(?:string|bool|bytes)Value$/.test(kind) ? content : value;
}

/** Converts 64-bit numbers, which are strings in the export, unless that would lose precision. */
function numberOf(value: unknown): unknown {
  if (typeof value !== "string") return value;
  return /^-?\d{1,15}$/.test(value) ? Number(value) : value;
}

function enumName(value: unknown, names: readonly string[]): unknown {
  if (typeof value === "number") return names[value] ?? value;
  return typeof value === "string" ? value.replace(/^(?:SPAN_KIND|STATUS_CODE)_/, "") : undefined;
}

function nanosOf(value: unknown): bigint | undefined {
  const text = String(value ?? "");
  return /^[1-9]\d{0,19}$/.test(text) ? BigInt(text) : undefined;
}

function nanoTime(value: unknown): string | undefined {
  const nanos = nanosOf(value);
  if (nanos === undefined) return undefined;
  const millis = Number(nanos / 1_000_000n);
  if (millis > 8.64e15) return undefined;
  const below = String(nanos % 1_000_000n).padStart(6, "0");
  return isoText(millis).replace("Z", `${below.replace(/(?<!0)0+$/, "")}Z`);
}

/** Returns an element's rows: a series' points, a query result's fields, or undefined to keep the element. */
export function elementRows(element: unknown): Iterable<Row> | undefined {
  if (isOtlp(element)) return otlpRows(element);
  if (Array.isArray(element)) {
    const isFieldList =
      element.length > 0 && element.every((each) => isObject(each) && typeof each["field"] === "string");
    return [Object.fromEntries(element.map((each, index) => (isFieldList ? [each.field, each.value] : [index, each])))];
  }
  if (!isObject(element)) return [{ value: element }];
  return seriesRows(element) ?? nestedSeries(element);
}

function seriesRows(element: Row): Iterable<Row> | undefined {
  return labelledSeries(element) ?? pointList(element) ?? parallelLists(element);
}

const DEEPEST_SERIES = 4;

/** Converts series under the names of their metrics, at any depth. Scalars next to them identify the series. */
function nestedSeries(element: Row): Iterable<Row> | undefined {
  const found = seriesWithin(element, [], {});
  return found.length > 0 ? joined(found) : undefined;
}

function* joined(lists: readonly Iterable<Row>[]): Generator<Row> {
  for (const list of lists) yield* list;
}

function seriesWithin(element: Row, path: readonly string[], labels: Row): readonly Iterable<Row>[] {
  const members = Object.entries(element);
  const own = { ...labels, ...Object.fromEntries(members.filter(([, value]) => typeof value !== "object")) };
  return members.flatMap(([key, member]) => {
    if (!isObject(member) || path.length === DEEPEST_SERIES) return [];
    const within = [...path, key];
    const rows = seriesRows(member);
    return rows ? [named(rows, { ...own, metric: within.join(".") })] : seriesWithin(member, within, own);
  });
}

function* named(rows: Iterable<Row>, names: Row): Generator<Row> {
  for (const { time, ...row } of rows) yield { time, ...names, ...row };
}

/** Converts results of the Prometheus and Loki query APIs: labels, with values as pairs of time and text. */
function labelledSeries(element: Row): Iterable<Row> | undefined {
  const { metric, stream, value, values } = element;
  const pairs = Array.isArray(values) ? values : Array.isArray(value) ? [value] : undefined;
  const labels = isObject(metric) ? metric : stream;
  if (!pairs || !isObject(labels)) return undefined;
  const { __name__: name, ...others } = labels;
  return each(pairs.filter(Array.isArray), ([at, content]) => ({
    time: timeText(at),
    ...(name === undefined ? {} : { metric: name }),
    ...others,
    ...(isObject(metric) ? { value: exactNumber(content) } : { line: content }),
  }));
}

/** Yields rows one by one, because many points with many labels would not fit into memory. */
function* each<Item>(items: readonly Item[], make: (item: Item, index: number) => Row): Generator<Row> {
  for (const [index, item] of items.entries()) yield make(item, index);
}

const POINTS: readonly string[] = ["pointlist", "points", "datapoints", "values", "data"];

/** Converts a list of pairs in which one half is a time. All other fields identify the series. */
function pointList(element: Row): Iterable<Row> | undefined {
  for (const key of POINTS) {
    const pairs = element[key];
    if (
      !Array.isArray(pairs) ||
      pairs.length === 0 ||
      !pairs.every((pair) => Array.isArray(pair) && pair.length === 2)
    ) {
      continue;
    }
    const at = [0, 1].find((index) => pairs.every((pair) => timeText(pair[index]) !== undefined));
    if (at === undefined) continue;
    const { [key]: _, ...names } = element;
    return each(pairs, (pair) => ({ time: timeText(pair[at]), ...names, value: pair[1 - at] }));
  }
  return undefined;
}

/** Converts a list of times next to lists of as many values, such as CloudWatch's `Timestamps` and `Values`. */
function parallelLists(element: Row): Iterable<Row> | undefined {
  const key = Object.keys(element).find((name) => PARALLEL_TIMES.test(name) && Array.isArray(element[name]));
  const times = key === undefined ? undefined : element[key];
  if (!Array.isArray(times) || times.length === 0 || times.some((time) => timeText(time) === undefined))
    return undefined;
  const others = Object.entries(element).filter(([name]) => name !== key);
  const lists = others.filter(([, list]) => Array.isArray(list) && list.length === times.length);
  if (lists.length === 0) return undefined;
  const names = Object.fromEntries(others.filter((member) => !lists.includes(member)));
  const columns = lists.map(([name, list]) => [/^values$/i.test(name) ? "value" : name, list as unknown[]] as const);
  return each(times, (time, index) => ({
    time,
    ...names,
    ...Object.fromEntries(columns.map(([name, list]) => [name, list[index]])),
  }));
}

const PARALLEL_TIMES = /^(?:time_?stamps?|times?|ts|t|x|dates?)$/i;

function timeText(value: unknown): string | undefined {
  if (typeof value !== "number" && typeof value !== "string") return undefined;
  const time = parseInstant(String(value));
  return time === undefined ? undefined : isoText(time);
}

function exactNumber(value: unknown): unknown {
  return typeof value === "string" && value !== "" && Number.isFinite(Number(value)) ? Number(value) : value;
}

function camelKeys(record: Row): Row {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [camel(key), value]));
}
