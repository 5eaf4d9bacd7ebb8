import { type LoopbackRequest, sendJson, startLoopback } from "../../src/testing.ts";

/**
 * An OpenTelemetry collector that accepts traces as OTLP/JSON, strictly as specified: ids are hexadecimal, 64-bit
 * integers decimal strings, enumerations numbers, names in lowerCamelCase, and there are no unknown fields.
 */

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: number;
  readonly start: bigint;
  readonly end: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly { readonly name: string; readonly attributes: Readonly<Record<string, unknown>> }[];
  readonly status: { readonly code?: number; readonly message?: string };
}

interface Answer {
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** `answers` are used in order, then each request is accepted. */
export async function startCollector(answers: readonly Answer[] = []) {
  const requests: LoopbackRequest[] = [];
  const faults: string[] = [];
  const spans: ReceivedSpan[] = [];
  const waiting = [...answers];
  const service = await startLoopback((request, response) => {
    requests.push(request);
    const told = waiting.shift();
    for (const [name, value] of Object.entries(told?.headers ?? {})) response.setHeader(name, value);
    if (told?.status !== undefined && told.status >= 300) return sendJson(response, told.status, told.body ?? {});
    const found = checkRequest(request);
    faults.push(...found.faults);
    spans.push(...found.spans);
    return sendJson(response, 200, told?.body ?? {});
  });
  return { url: `${service.url}/v1/traces`, origin: service.url, requests, faults, spans, close: service.close };
}

function checkRequest({ method, headers, body }: LoopbackRequest) {
  const faults: string[] = [];
  if (method !== "POST") faults.push(`method ${method}`);
  if (headers["content-type"] !== "application/json") faults.push(`content type ${headers["content-type"]}`);
  const spans: ReceivedSpan[] = [];
  const check = checker(faults);
  const root = check.object(typeof body === "string" ? JSON.parse(body) : body, "", ["resourceSpans"]);
  for (const [at, group] of check.list(root.resourceSpans, "resourceSpans").entries()) {
    const place = `resourceSpans[${at}]`;
    const known = check.object(group, place, ["resource", "scopeSpans", "schemaUrl"]);
    check.attributes(check.object(known.resource, `${place}.resource`, ["attributes"]).attributes, `${place}.resource`);
    for (const scope of check.list(known.scopeSpans, `${place}.scopeSpans`)) {
      const { scope: named, spans: list } = check.object(scope, `${place}.scope`, ["scope", "spans", "schemaUrl"]);
      check.object(named, `${place}.scope.scope`, ["name", "version", "attributes"]);
      spans.push(...check.list(list, `${place}.spans`).map((span, index) => check.span(span, `span ${index}`)));
    }
  }
  return { faults, spans };
}

type Members = Readonly<Record<string, unknown>>;

function checker(faults: string[]) {
  const fault = (place: string, what: string) => void faults.push(`${place}: ${what}`);
  const object = (value: unknown, place: string, names: readonly string[]): Members => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      fault(place, "is not an object");
      return {};
    }
    for (const name of Object.keys(value)) if (!names.includes(name)) fault(place, `has ${name}`);
    return value as Members;
  };
  const list = (value: unknown, place: string): readonly unknown[] => {
    if (Array.isArray(value)) return value;
    if (value !== undefined) fault(place, "is no list");
    return [];
  };
  const text = (value: unknown, place: string, pattern: RegExp): string => {
    if (typeof value === "string" && pattern.test(value)) return value;
    fault(place, `is ${JSON.stringify(value)}`);
    return "";
  };
  const VALUES: Readonly<Record<string, (value: unknown, place: string) => unknown>> = {
    stringValue: (value, place) => text(value, place, /^[^\ud800-\udfff]*$/su),
    boolValue: (value, place) => (typeof value === "boolean" ? value : fault(place, "is no boolean")),
    intValue: (value, place) => Number(text(value, place, /^-?\d{1,19}$/)),
    doubleValue: (value, place) => (typeof value === "number" ? value : fault(place, "is no number")),
    arrayValue: (value, place) =>
      list(object(value, place, ["values"]).values, place).map((each) => any(each, `${place}[]`)),
  };
  const any = (value: unknown, place: string): unknown => {
    const members = object(value, place, Object.keys(VALUES));
    const [[name, inner] = ["", undefined], ...others] = Object.entries(members);
    if (others.length > 0 || name === "") fault(place, "has not one value");
    return VALUES[name]?.(inner, `${place}.${name}`);
  };
  const attributes = (value: unknown, place: string): Members => {
    const pairs = list(value, `${place}.attributes`).map((each): [string, unknown] => {
      const pair = object(each, place, ["key", "value"]);
      const key = text(pair.key, `${place}.key`, /^[a-z][a-z_.]*[a-z]$/);
      return [key, any(pair.value, `${place}.${key}`)];
    });
    if (new Set(pairs.map(([key]) => key)).size < pairs.length) fault(place, "has a key twice");
    return Object.fromEntries(pairs);
  };
  const time = (value: unknown, place: string) => BigInt(text(value, place, /^[1-9]\d{17,18}$/) || 0);
  const SPAN = "traceId spanId parentSpanId name kind startTimeUnixNano endTimeUnixNano attributes events status".split(
    " ",
  );
  const span = (value: unknown, place: string): ReceivedSpan => {
    const members = object(value, place, SPAN);
    const status = object(members.status, `${place}.status`, ["code", "message"]);
    if (![undefined, 1, 2].includes(status.code as undefined)) fault(place, `has the status ${status.code}`);
    if (![1, 2, 3, 4, 5].includes(members.kind as number)) fault(place, `is of the kind ${members.kind}`);
    const start = time(members.startTimeUnixNano, `${place}.start`);
    const end = time(members.endTimeUnixNano, `${place}.end`);
    if (end < start) fault(place, "ends before it begins");
    return {
      traceId: text(members.traceId, `${place}.traceId`, /^(?!0{32})[0-9a-f]{32}$/),
      spanId: text(members.spanId, `${place}.spanId`, /^(?!0{16})[0-9a-f]{16}$/),
      parentSpanId:
        members.parentSpanId === undefined ? "" : text(members.parentSpanId, `${place}.parent`, /^[0-9a-f]{16}$/),
      name: text(members.name, `${place}.name`, /./),
      kind: members.kind as number,
      start,
      end,
      attributes: attributes(members.attributes, place),
      events: list(members.events, `${place}.events`).map((each) => {
        const event = object(each, `${place}.event`, ["timeUnixNano", "name", "attributes"]);
        time(event.timeUnixNano, `${place}.event.time`);
        return { name: text(event.name, `${place}.event.name`, /./), attributes: attributes(event.attributes, place) };
      }),
      status,
    };
  };
  return { object, list, attributes, span };
}
