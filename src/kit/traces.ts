import { clip } from "../core/base/preview.ts";
import { groupBy } from "../core/base/values.ts";

/** Traces for skills that read them: where the time went, and what failed first. */

export interface TraceSpan {
  readonly id: string;
  readonly parent?: string | undefined;
  readonly service: string;
  readonly name: string;
  readonly kind?: string | undefined;
  /** Milliseconds, with fractions. */
  readonly start: number;
  readonly duration: number;
  readonly failed: boolean;
  readonly message?: string | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** Shape of a described trace, for a result's schema. */
export const traceShape = `started duration_ms:number spans_total:number errors:number
  services:[{ service spans:number errors:number own_ms:number }]
  spans:[{ span depth:number service name kind at_ms:number duration_ms:number own_ms:number error:flag message
    attributes:any }]
  left_out:number`;

interface Telling {
  /** Maximum number of spans. Prefers spans that failed or have the most own time, with their ancestors. */
  readonly most: number;
  /** Attributes to show. Defaults to commonly useful ones. */
  readonly attributes?: readonly string[] | undefined;
}

/** Describes a trace in call order. A span's own time excludes the time covered by its children. */
export function describeTrace(spans: readonly TraceSpan[], { most, attributes = USUAL }: Telling) {
  const tree = treeOf(spans);
  const shown = tellingOf(tree, most);
  const started = spans.reduce((least, { start }) => Math.min(least, start), Number.POSITIVE_INFINITY);
  const ended = spans.reduce((most, { start, duration }) => Math.max(most, start + duration), Number.NEGATIVE_INFINITY);
  return {
    started: spans.length > 0 ? new Date(started).toISOString() : undefined,
    duration_ms: spans.length > 0 ? inMs(ended - started) : undefined,
    spans_total: spans.length,
    errors: spans.filter(({ failed }) => failed).length,
    services: servicesOf(tree),
    spans: shown.map(({ span, depth, own }) => ({
      ...{ span: span.id, depth, service: span.service, name: clip(span.name, 200), kind: span.kind },
      ...{ at_ms: inMs(span.start - started), duration_ms: inMs(span.duration), own_ms: inMs(own) },
      error: span.failed || undefined,
      message: span.message && clip(span.message, 500),
      attributes: attributesOf(span, attributes),
    })),
    left_out: spans.length - shown.length || undefined,
  };
}

interface Placed {
  readonly span: TraceSpan;
  readonly depth: number;
  readonly own: number;
  readonly above: Placed | undefined;
}

/**
 * Orders parents before children, and siblings by start. A span whose parent is missing becomes a root. Spans in a cycle
 * of parents are left out.
 */
function treeOf(spans: readonly TraceSpan[]): readonly Placed[] {
  const known = new Set(spans.map(({ id }) => id));
  const sorted = spans.toSorted((a, b) => a.start - b.start);
  const children = groupBy(sorted, ({ id, parent }) => (parent !== id && known.has(parent ?? "") ? parent : undefined));
  const placed: Placed[] = [];
  const roots = children.get(undefined) ?? [];
  const waiting = roots.toReversed().map((span) => ({ span, above: undefined as Placed | undefined }));
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { span, above } = next;
    const below = children.get(span.id) ?? [];
    const one = { span, above, depth: above ? above.depth + 1 : 0, own: ownTime(span, below) };
    placed.push(one);
    children.delete(span.id);
    for (const child of below.toReversed()) waiting.push({ span: child, above: one });
  }
  return placed;
}

/** Returns the time that no child covers. Children may overlap and outlast their parent. */
function ownTime({ start, duration }: TraceSpan, children: readonly TraceSpan[]): number {
  let own = duration;
  let covered = start;
  for (const child of children) {
    const from = Math.max(child.start, covered);
    const to = Math.min(child.start + child.duration, start + duration);
    if (to > from) own -= to - from;
    covered = Math.max(covered, to);
  }
  return Math.max(0, own);
}

function tellingOf(tree: readonly Placed[], most: number): readonly Placed[] {
  if (tree.length <= most) return tree;
  const ranked = [...tree].sort((a, b) => rank(a) - rank(b) || b.own - a.own);
  const shown = new Set<Placed>();
  for (const one of ranked) {
    const path: Placed[] = [];
    const room = most - shown.size;
    for (let at: Placed | undefined = one; at && !shown.has(at) && path.length <= room; at = at.above) path.push(at);
    if (path.length > room) continue;
    for (const each of path) shown.add(each);
  }
  return tree.filter((one) => shown.has(one));
}

function rank({ span, above }: Placed): number {
  if (!above) return 0;
  return span.failed ? 1 : 2;
}

function servicesOf(tree: readonly Placed[]) {
  const services = new Map<string, { spans: number; errors: number; own: number }>();
  for (const { span, own } of tree) {
    const before = services.get(span.service) ?? { spans: 0, errors: 0, own: 0 };
    const errors = before.errors + Number(span.failed);
    services.set(span.service, { spans: before.spans + 1, errors, own: before.own + own });
  }
  return [...services]
    .map(([service, { own, ...counts }]) => ({ service, ...counts, own_ms: inMs(own) }))
    .sort((a, b) => b.own_ms - a.own_ms)
    .slice(0, 20);
}

const USUAL = [
  ...["http.request.method", "http.method", "http.response.status_code", "http.status_code", "http.route", "url.path"],
  ...["rpc.method", "rpc.grpc.status_code", "db.system", "db.system.name", "db.operation.name", "db.collection.name"],
  ...["messaging.destination.name", "error.type", "exception.type", "exception.message", "server.address"],
  ...["peer.service", "k8s.pod.name", "service.version"],
];

function attributesOf({ attributes }: TraceSpan, names: readonly string[]) {
  const found = names.flatMap((name) => {
    const value = attributes[name];
    if (value === undefined || value === null || value === "") return [];
    return [[name, typeof value === "string" ? clip(value, 300) : value] as const];
  });
  return found.length > 0 ? Object.fromEntries(found) : undefined;
}

function inMs(value: number): number {
  return Math.round(value * 100) / 100;
}
