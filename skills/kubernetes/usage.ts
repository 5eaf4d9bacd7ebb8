import { type Ask, each, firstOf, resultSchema, ServiceFault, TEAM_SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { conditionOf, conditions, namespace, selector, text } from "./fields.ts";
import { kubernetesTool, listAll, listOf, pathOf } from "./service.ts";

const USED = "cpu memory cpu_percent:number memory_percent:number";

const sortBy = z.enum(["share", "memory", "cpu"]).optional();

export const usageTools = [
  kubernetesTool({
    name: "top_pods",
    description:
      "Measures the CPU and memory that pods use now, and the percentage of each container's limit, nearest to a limit first. For values over time, use Prometheus.",
    ...TEAM_SNAPSHOT,
    selects: ["namespace", "selector"],
    input_schema: z.strictObject({
      namespace,
      selector,
      sort_by: sortBy.describe("Default share: of a container's limit."),
      limit: z.int().min(1).max(100).optional(),
    }),
    output_schema: resultSchema(
      "pods",
      `pods:[{ name namespace ${USED} containers:[any] }] at window matching:number left_out:number note`,
    ),
    work: async ({ ask, own }, input) => {
      const where = input.namespace ?? own.namespace;
      const labelSelector = input.selector;
      const measured = await ask({
        path: pathOf(METRICS, where, "pods"),
        query: { labelSelector },
        needs: `permission to list pods of metrics.k8s.io in ${where}`,
        instead: NO_METRICS,
        answer: listOf(podMetrics),
      });
      const { items, unread } = await listAll(ask, { where, plural: "pods", item: podLimits, labelSelector });
      const limits = new Map(items.flatMap(limitsOf));
      const all = measured.items.map((item) => podUsage(item, limits)).sort(byMost(input.sort_by ?? "share"));
      const { shown, ...counts } = firstOf(all, input.limit ?? 20);
      return {
        pods: shown.map(({ order: _, ...one }) => one),
        at: measured.items[0]?.timestamp,
        window: measured.items[0]?.window,
        ...counts,
        note: all.length === 0 ? NONE_MEASURED : unread,
      };
    },
  }),
  kubernetesTool({
    name: "top_nodes",
    description:
      "Measures the CPU and memory that nodes use now, as a percentage of what pods can allocate, fullest first.",
    ...TEAM_SNAPSHOT,
    selects: ["selector"],
    input_schema: z.strictObject({
      selector,
      sort_by: sortBy.describe("Default share: of what can be allocated."),
      limit: z.int().min(1).max(100).optional(),
    }),
    output_schema: resultSchema("nodes", `nodes:[{ name ${USED} }] at matching:number left_out:number note`),
    work: async ({ ask }, input) => {
      const measured = await ask({
        path: pathOf(METRICS, "*", "nodes"),
        query: { labelSelector: input.selector },
        needs: "permission to list nodes of metrics.k8s.io",
        instead: NO_METRICS,
        answer: listOf(nodeMetrics),
      });
      const sizes = await nodeSizes(ask, input.selector);
      const all = measured.items
        .map(({ metadata, usage }) => ({ name: metadata.name, ...used(usage, sizes?.get(metadata.name)) }))
        .sort(byMost(input.sort_by ?? "share"));
      const { shown, ...counts } = firstOf(all, input.limit ?? 20);
      const unsized = sizes ? undefined : "Percentages are unknown without permission to list nodes.";
      return {
        nodes: shown.map(({ order: _, ...one }) => one),
        at: measured.items[0]?.timestamp,
        ...counts,
        note: all.length === 0 ? NONE_MEASURED : unsized,
      };
    },
  }),
];

const METRICS = "metrics.k8s.io/v1beta1";
const NO_METRICS =
  "This cluster has no metrics server. If you have the skill prometheus, query container_memory_working_set_bytes and container_cpu_usage_seconds_total.";
const NONE_MEASURED =
  "The metrics server responds, but has no matching measurement. It measures a pod about a minute after its start.";

const amounts = z.record(z.string(), z.union([z.string(), z.number()]));
const metricsMetadata = z.object({ name: z.string(), namespace: text });
const podMetrics = z.object({
  metadata: metricsMetadata,
  ...each(text, "timestamp window"),
  containers: z.array(z.object({ name: z.string(), usage: amounts })),
});
const nodeMetrics = z.object({ metadata: metricsMetadata, timestamp: text, usage: amounts });

const limited = z
  .array(z.object({ name: z.string(), resources: z.object({ limits: amounts.nullish() }).nullish() }))
  .nullish();
const podLimits = z.object({
  metadata: metricsMetadata,
  spec: z.object({ containers: limited, initContainers: limited }),
});
const nodeSize = z.object({ metadata: metricsMetadata, status: z.object({ allocatable: amounts.nullish() }) });

type Amounts = z.infer<typeof amounts>;

function limitsOf({ metadata, spec }: z.infer<typeof podLimits>) {
  // Sidecars are init containers that keep running.
  return [...(spec.containers ?? []), ...(spec.initContainers ?? [])].map(({ name, resources }) => {
    return [placeOf(metadata, name), resources?.limits ?? undefined] as const;
  });
}

function placeOf({ namespace: where, name }: z.infer<typeof metricsMetadata>, container: string): string {
  return [where, name, container].join("/");
}

/** Returns a pod's total usage, and the share of the container that is nearest to its limit. */
function podUsage(
  { metadata, containers }: z.infer<typeof podMetrics>,
  limits: ReadonlyMap<string, Amounts | undefined>,
) {
  const each = containers.map(({ name, usage }) => ({ name, ...used(usage, limits.get(placeOf(metadata, name))) }));
  const sum = (key: "cpu" | "memory") => each.reduce((all, { order }) => all + order[key], 0);
  const order = { cpu: sum("cpu"), memory: sum("memory"), share: Math.max(0, ...each.map((one) => one.order.share)) };
  return {
    name: metadata.name,
    namespace: metadata.namespace,
    cpu: coresText(order.cpu),
    memory: bytesText(order.memory),
    containers: each.map(({ order: _, ...one }) => one),
    order,
  };
}

function used(usage: Amounts, most: Amounts | undefined) {
  const [cpu, memory] = [amountOf(usage["cpu"]) ?? 0, amountOf(usage["memory"]) ?? 0];
  const cpu_percent = percentOf(cpu, amountOf(most?.["cpu"]));
  const memory_percent = percentOf(memory, amountOf(most?.["memory"]));
  return {
    cpu: coresText(cpu),
    memory: bytesText(memory),
    cpu_percent,
    memory_percent,
    order: { cpu, memory, share: Math.max(cpu_percent ?? 0, memory_percent ?? 0) },
  };
}

interface Ordered {
  readonly order: { readonly cpu: number; readonly memory: number; readonly share: number };
}

/** Sorts by a key, then by memory, for example if pods without limits have equal shares. */
function byMost(key: keyof Ordered["order"]) {
  return (a: Ordered, b: Ordered) => b.order[key] - a.order[key] || b.order.memory - a.order.memory;
}

/** Returns nodes' sizes, or undefined if forbidden: the `view` cluster role has node metrics but not nodes. */
async function nodeSizes(ask: Ask, labelSelector: string | undefined) {
  try {
    const { items } = await listAll(ask, { where: "*", plural: "nodes", item: nodeSize, labelSelector });
    return new Map(items.map(({ metadata, status }) => [metadata.name, status.allocatable ?? undefined]));
  } catch (error) {
    if (error instanceof ServiceFault && error.status === 403) return undefined;
    throw error;
  }
}

/** Kubernetes quantities such as 250m, 128Mi and 1e3. */

const UNITS: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** Parses a quantity into cores or bytes. Returns undefined if it is invalid. */
export function amountOf(text: string | number | null | undefined): number | undefined {
  const [, digits, unit = ""] =
    /^([+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)([a-zA-Z]{0,2})$/.exec(String(text ?? "")) ?? [];
  const factor = UNITS[unit];
  return digits === undefined || factor === undefined ? undefined : Number(digits) * factor;
}

function coresText(cores: number): string {
  return `${Math.round(cores * 1000)}m`;
}

function bytesText(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)}Mi`;
}

/** Returns a share in whole percent, or undefined without a total. */
function percentOf(part: number, whole: number | undefined): number | undefined {
  return whole ? Math.round((part / whole) * 100) : undefined;
}

export const nodeTools = [
  kubernetesTool({
    name: "list_nodes",
    description:
      "Lists nodes, unhealthy ones first: not ready, under memory, disk or process pressure, or closed for new pods; capacity, version, zone. Use it if pods wait for a node or disappear from one.",
    ...TEAM_SNAPSHOT,
    selects: ["selector"],
    input_schema: z.strictObject({ selector, limit: z.int().min(1).max(100).optional() }),
    output_schema: resultSchema("nodes", "nodes:[any] unwell:number matching:number left_out:number note"),
    work: async ({ ask }, input) => {
      const { items, unread } = await listAll(ask, {
        where: "*",
        plural: "nodes",
        item: node,
        labelSelector: input.selector,
        needs: "permission to list nodes, which the cluster role view does not grant",
      });
      const all = items.map(briefOf).sort((a, b) => Number(Boolean(b.problems)) - Number(Boolean(a.problems)));
      const { shown, left_out } = firstOf(all, input.limit ?? 30);
      const unwell = all.filter(({ problems }) => problems).length;
      return { nodes: shown, unwell, matching: all.length, left_out, note: unread };
    },
  }),
];

const node = z.object({
  metadata: z.object({ name: z.string(), labels: z.record(z.string(), z.string()).nullish(), creationTimestamp: text }),
  spec: z.object({
    unschedulable: z.boolean().nullish(),
    taints: z.array(z.object({ key: text, effect: text })).nullish(),
  }),
  status: z.object({
    conditions,
    allocatable: z.record(z.string(), z.string()).nullish(),
    nodeInfo: z.object({ kubeletVersion: text }).nullish(),
  }),
});

/** Summarizes a node with its failing conditions. Ready should be true, all others false. */
function briefOf({ metadata, spec, status }: z.infer<typeof node>) {
  const failing = status.conditions?.filter(({ type, status: is }) =>
    type === "Ready" ? is !== "True" : is !== "False",
  );
  const { cpu, memory, pods } = status.allocatable ?? {};
  return {
    name: metadata.name,
    problems: failing?.length ? failing.map(conditionOf) : undefined,
    closed: spec.unschedulable || undefined,
    taints: spec.taints?.slice(0, 10).map(({ key, effect }) => `${key}:${effect}`),
    allocatable: { cpu, memory, pods },
    version: status.nodeInfo?.kubeletVersion,
    zone: metadata.labels?.["topology.kubernetes.io/zone"],
    created: metadata.creationTimestamp,
  };
}
