import type { Json } from "skillflow";
import type { LoopbackRequest } from "skillflow/testing";
import * as z from "zod";
import { type Answer, type Asked, type RestService, type Route, type Script, startRest, swollen } from "./rest.ts";

/** A cluster's API as it is published: what that does not describe is refused, answers are its examples. */

export const TOKEN = "eyJhbGciOiJSUzI1NiJ9.k8scanary0123456789.signature";

export function startKubernetes(script?: Script): Promise<RestService> {
  return startRest({ routes: ROUTES, refuse, fault: (message: string) => statusOf(400, message) }, script);
}

/** Everything as large as it gets. */
export function flood({ operation, example }: Asked): Answer {
  if (operation === "log") return { text: `2026-01-31T08:00:00Z ${'x é" '.repeat(400)}\n`.repeat(500) };
  return { body: swollen(example, operation === "events" ? ["message"] : []) };
}

function statusOf(code: number, message: string): Json {
  return { kind: "Status", apiVersion: "v1", status: "Failure", message, code };
}

function refuse({ headers }: LoopbackRequest): Answer | undefined {
  const isKnown = headers.authorization === `Bearer ${TOKEN}`;
  return isKnown ? undefined : { status: 401, body: statusOf(401, "Unauthorized") };
}

const digits = z.string().regex(/^\d+$/);
const list = z.strictObject({
  labelSelector: z.string().optional(),
  fieldSelector: z.string().optional(),
  limit: digits,
});
const items = (...found: Json[]): Json => ({
  kind: "List",
  apiVersion: "v1",
  metadata: { resourceVersion: "1" },
  items: found,
});
const NAMESPACE = "(/namespaces/[a-z0-9-]+)?";
const route = (id: string, path: string, answer: Json, query?: z.ZodType): Route => {
  return { id, method: "GET", path: new RegExp(`^${path}$`), ...(query ? { query } : {}), answer: () => answer };
};

const CRASHING: Json = {
  metadata: {
    name: "checkout-7d9f-abcde",
    namespace: "shop",
    creationTimestamp: "2026-01-31T07:58:00Z",
    labels: { app: "checkout" },
    ownerReferences: [{ kind: "ReplicaSet", name: "checkout-7d9f", uid: "u" }],
  },
  spec: {
    nodeName: "node-1",
    containers: [
      {
        name: "app",
        image: "checkout:1.14.0",
        env: [{ name: "PASSWORD", value: "of-the-pod" }],
        resources: { limits: { memory: "256Mi" }, requests: { cpu: "100m" } },
      },
    ],
  },
  status: {
    phase: "Running",
    conditions: [
      {
        type: "Ready",
        status: "False",
        reason: "ContainersNotReady",
        message: "containers with unready status: [app]",
      },
    ],
    containerStatuses: [
      {
        name: "app",
        ready: false,
        restartCount: 6,
        state: { waiting: { reason: "CrashLoopBackOff", message: "back-off 5m0s restarting failed container" } },
        lastState: { terminated: { exitCode: 137, reason: "OOMKilled", finishedAt: "2026-01-31T08:05:00Z" } },
      },
    ],
  },
};

const WELL: Json = {
  metadata: { name: "cart-1", namespace: "shop", creationTimestamp: "2026-01-30T07:58:00Z" },
  spec: { nodeName: "node-1", containers: [{ name: "app", image: "cart:3" }] },
  status: {
    phase: "Running",
    containerStatuses: [
      { name: "app", ready: true, restartCount: 0, state: { running: { startedAt: "2026-01-30T07:58:10Z" } } },
    ],
  },
};

const EVENT: Json = {
  metadata: { name: "e", namespace: "shop", creationTimestamp: "2026-01-31T08:00:00Z" },
  involvedObject: { kind: "Pod", name: "checkout-7d9f-abcde" },
  type: "Warning",
  reason: "BackOff",
  message: "Back-off restarting failed container app",
  count: 12,
  firstTimestamp: "2026-01-31T08:00:00Z",
  lastTimestamp: "2026-01-31T08:06:00Z",
  eventTime: null,
};

const DEPLOYMENT: Json = {
  metadata: {
    name: "checkout",
    namespace: "shop",
    generation: 5,
    annotations: { "deployment.kubernetes.io/revision": "5" },
  },
  spec: { replicas: 3, template: { spec: { containers: [{ name: "app", image: "checkout:1.14.0" }] } } },
  status: {
    observedGeneration: 5,
    readyReplicas: 2,
    updatedReplicas: 1,
    availableReplicas: 2,
    conditions: [
      { type: "Available", status: "True", reason: "MinimumReplicasAvailable" },
      {
        type: "Progressing",
        status: "False",
        reason: "ProgressDeadlineExceeded",
        message: "has timed out progressing",
        lastUpdateTime: "2026-01-31T08:08:00Z",
      },
    ],
  },
};

const replicaSet = (revision: string, image: string, created: string, replicas: number): Json => ({
  metadata: {
    name: `checkout-${revision}`,
    namespace: "shop",
    creationTimestamp: created,
    annotations: { "deployment.kubernetes.io/revision": revision, "kubernetes.io/change-cause": `release ${image}` },
    ownerReferences: [{ kind: "Deployment", name: "checkout" }],
  },
  spec: { replicas, template: { spec: { containers: [{ name: "app", image }] } } },
  status: { readyReplicas: 0 },
});

const NODE: Json = {
  metadata: {
    name: "node-1",
    labels: { "topology.kubernetes.io/zone": "eu-1a" },
    creationTimestamp: "2025-01-01T00:00:00Z",
  },
  spec: { unschedulable: true, taints: [{ key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" }] },
  status: {
    conditions: [
      { type: "MemoryPressure", status: "True", reason: "KubeletHasInsufficientMemory", message: "too little memory" },
      { type: "Ready", status: "True", reason: "KubeletReady" },
    ],
    allocatable: { cpu: "3920m", memory: "15Gi", pods: "110" },
    nodeInfo: { kubeletVersion: "v1.34.1" },
  },
};

export const LOG = "2026-01-31T08:04:58Z starting\n2026-01-31T08:04:59Z ERROR out of connections\n";

const ROUTES: readonly Route[] = [
  route("pods", `/api/v1${NAMESPACE}/pods`, items(WELL, CRASHING), list),
  route("pod", "/api/v1/namespaces/[a-z0-9-]+/pods/[a-z0-9.-]+", CRASHING),
  route(
    "log",
    "/api/v1/namespaces/[a-z0-9-]+/pods/[a-z0-9.-]+/log",
    LOG,
    z.strictObject({
      container: z.string().optional(),
      previous: z.enum(["true", "false"]).optional(),
      sinceSeconds: digits.optional(),
      tailLines: digits,
      limitBytes: digits,
      timestamps: z.literal("true"),
    }),
  ),
  route("events", `/api/v1${NAMESPACE}/events`, items(EVENT), list),
  route("workloads", `/apis/apps/v1${NAMESPACE}/(deployments|statefulsets|daemonsets)`, items(DEPLOYMENT), list),
  route(
    "replicasets",
    "/apis/apps/v1/namespaces/[a-z0-9-]+/replicasets",
    items(
      replicaSet("4", "checkout:1.13.1", "2026-01-20T08:00:00Z", 2),
      replicaSet("5", "checkout:1.14.0", "2026-01-31T07:57:00Z", 1),
    ),
    list,
  ),
  route("nodes", "/api/v1/nodes", items(NODE), list),
];
