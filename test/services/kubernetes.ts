import type { Json } from "skillflow";
import type { LoopbackRequest } from "skillflow/testing";
import * as z from "zod";
import { type Answer, type Asked, type RestService, type Route, type Script, startRest, swollen } from "./rest.ts";
import type { Vendor } from "./vendor.ts";

/** A cluster's API as published: unknown requests are refused, answers are its examples. */

export const TOKEN = "eyJhbGciOiJSUzI1NiJ9.k8scanary0123456789.signature";

export function startKubernetes(script?: Script): Promise<RestService> {
  const log: Script = ({ operation }) => (operation === "log" ? { text: LOG } : undefined);
  const answer: Script = (asked) => script?.(asked) ?? log(asked);
  return startRest({ routes: ROUTES, refuse, fault: (message: string) => statusOf(400, message) }, answer);
}

/** Answers of maximum size. */
export function flood({ operation, example }: Asked): Answer {
  if (operation === "log") return { text: `2026-01-31T08:00:00Z ${'x é" '.repeat(400)}\n`.repeat(500) };
  if (operation === "kinds") return { body: example };
  return { body: swollen(example, operation === "events" ? ["message"] : []) };
}

function statusOf(code: number, message: string): Json {
  return { kind: "Status", apiVersion: "v1", status: "Failure", message, code };
}

function refuse({ headers }: LoopbackRequest, operation: string): Answer | undefined {
  if (headers.authorization !== `Bearer ${TOKEN}`) return { status: 401, body: statusOf(401, "Unauthorized") };
  const form = FORMS[operation] ?? /^(application\/json|text\/plain, application\/json)$/;
  if (form.test(headers.accept ?? "")) return undefined;
  return { status: 406, body: statusOf(406, `${operation} is not asked for as ${headers.accept}`) };
}

/** Operations that must be requested in another format than JSON, or for secrets without any content. */
const FORMS: Readonly<Record<string, RegExp>> = {
  kinds: /^application\/json;g=apidiscovery\.k8s\.io;v=v2;as=APIGroupDiscoveryList,/,
  table: /^application\/json;as=Table;g=meta\.k8s\.io;v=v1$/,
  releases: /^application\/json;as=PartialObjectMetadataList;g=meta\.k8s\.io;v=v1$/,
  secret: /^application\/json;as=PartialObjectMetadata;g=meta\.k8s\.io;v=v1$/,
};

/** Labels of a selector that the list of replica sets takes. */
const labelled = z.literal("app=checkout");

const digits = z.string().regex(/^\d+$/);
const list = z.strictObject({
  labelSelector: z.string().optional(),
  fieldSelector: z.string().optional(),
  limit: digits,
  continue: z.string().min(1).optional(),
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
      { name: "proxy", image: "envoy:1", resources: {} },
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
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: "checkout" } },
    template: { spec: { containers: [{ name: "app", image: "checkout:1.14.0" }] } },
  },
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

const USAGE: Json = items(
  {
    metadata: { name: "cart-1", namespace: "shop" },
    timestamp: "2026-01-31T08:06:10Z",
    window: "20s",
    containers: [{ name: "app", usage: { cpu: "12n", memory: "900Mi" } }],
  },
  {
    metadata: { name: "checkout-7d9f-abcde", namespace: "shop" },
    timestamp: "2026-01-31T08:06:10Z",
    window: "20s",
    containers: [
      { name: "app", usage: { cpu: "248105u", memory: "251904Ki" } },
      { name: "proxy", usage: { cpu: "3m", memory: "20Mi" } },
    ],
  },
);

const NODE_USAGE: Json = items({
  metadata: { name: "node-1" },
  timestamp: "2026-01-31T08:06:10Z",
  window: "20s",
  usage: { cpu: "3528000000n", memory: "15099494Ki" },
});

const VERBS = ["get", "list", "watch"];
const kind = (name: string, resource: string, shortNames: string[] = [], verbs = VERBS): Json => ({
  resource,
  responseKind: { group: "", version: "", kind: name },
  scope: name === "Namespace" ? "Cluster" : "Namespaced",
  singularResource: name.toLowerCase(),
  shortNames,
  verbs,
});
const group = (name: string | undefined, version: string, resources: Json[], freshness = "Current"): Json => ({
  metadata: { ...(name ? { name } : {}), creationTimestamp: null },
  versions: [{ version, freshness, resources }],
});
const discovered = (...found: Json[]): Json => ({
  kind: "APIGroupDiscoveryList",
  apiVersion: "apidiscovery.k8s.io/v2",
  metadata: {},
  items: found,
});
const CORE = discovered(
  group(undefined, "v1", [
    kind("ConfigMap", "configmaps", ["cm"]),
    kind("Secret", "secrets"),
    kind("Event", "events", ["ev"]),
    kind("Binding", "bindings", [], ["create"]),
    kind("Namespace", "namespaces", ["ns"]),
  ]),
);
const GROUPS = discovered(
  group("batch", "v1", [kind("Job", "jobs")]),
  group("events.k8s.io", "v1", [kind("Event", "events", ["ev"])]),
  group("argoproj.io", "v1alpha1", [kind("Application", "applications", ["app", "apps"])]),
  group("metrics.k8s.io", "v1beta1", [], "Stale"),
);

const column = (name: string, priority = 0): Json => ({ name, type: "string", format: "", description: "", priority });
const APPLICATIONS: Json = {
  kind: "Table",
  apiVersion: "meta.k8s.io/v1",
  metadata: { resourceVersion: "1" },
  columnDefinitions: [column("Name"), column("Sync Status"), column("Health Status"), column("Project", 1)],
  rows: [
    {
      cells: ["checkout", "OutOfSync", "Degraded", "shop"],
      object: { kind: "PartialObjectMetadata", metadata: { name: "checkout", namespace: "argocd", labels: {} } },
    },
  ],
};

const APPLICATION: Json = {
  apiVersion: "argoproj.io/v1alpha1",
  kind: "Application",
  metadata: {
    name: "checkout",
    namespace: "argocd",
    annotations: {
      "kubectl.kubernetes.io/last-applied-configuration": '{"spec":{"password":"of-the-app"}}',
      "kapp.k14s.io/original": '{"spec":{"data":"of-the-app"}}',
      "kopf.zalando.org/last-handled-configuration": '{"spec":{"data":"of-the-app"}}',
      "banzaicloud.com/last-applied": '{"spec":{"data":"of-the-app"}}',
      team: "shop",
    },
    managedFields: [{ manager: "argocd" }],
  },
  spec: {
    source: {
      repoURL: "https://deploy:of-the-app@git.example/shop.git",
      targetRevision: "v1.14.0",
      helm: {
        values: "db:\n  password: of-the-app\n",
        parameters: [
          { name: "image.tag", value: "1.14.0" },
          { name: "db.password", value: "of-the-app" },
        ],
      },
    },
  },
  status: {
    sync: { status: "OutOfSync", revision: "4f2c1e0" },
    health: { status: "Degraded" },
    operationState: { phase: "Failed", message: "one or more objects failed to apply: token=of-the-app" },
  },
};

const JOB: Json = {
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name: "migrate", namespace: "shop" },
  spec: {
    backoffLimit: 3,
    selector: { matchExpressions: [{ key: "tier", operator: "In", values: ["db"] }] },
    template: {
      spec: {
        containers: [
          {
            name: "migrate",
            image: "checkout:1.14.0",
            command: ["sh", "-c", "migrate --verbose --db-password of-the-app --api-token 'of-the-app'"],
            args: ["--steps", "3", "--db-password", "of-the-app"],
            env: [
              { name: "STEPS", value: "of-the-app" },
              { name: "KEY", valueFrom: { secretKeyRef: { name: "db", key: "key" } } },
            ],
          },
        ],
      },
    },
  },
  status: { failed: 4, conditions: [{ type: "Failed", status: "True", reason: "BackoffLimitExceeded" }] },
};

const CONFIG_MAP: Json = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "checkout", namespace: "shop" },
  data: { "app.yml": "key: of-the-app" },
};

const secret = (release: string, version: number, status: string, at: number): Json => ({
  metadata: {
    name: `sh.helm.release.v1.${release}.v${version}`,
    namespace: "shop",
    creationTimestamp: "2026-01-31T07:57:00Z",
    labels: { name: release, owner: "helm", status, version: String(version), modifiedAt: String(at) },
  },
});

const NAMESPACED = "/namespaces/[a-z0-9-]+";
const selectors = z.strictObject({ labelSelector: z.string().optional() });

const ROUTES: readonly Route[] = [
  route("kinds", "/api", CORE),
  route("kinds", "/apis", GROUPS),
  route("podMetrics", `/apis/metrics.k8s.io/v1beta1${NAMESPACE}/pods`, USAGE, selectors),
  route("nodeMetrics", "/apis/metrics.k8s.io/v1beta1/nodes", NODE_USAGE, selectors),
  route("table", `/apis/argoproj.io/v1alpha1${NAMESPACE}/applications`, APPLICATIONS, list),
  route("object", `/apis/argoproj.io/v1alpha1${NAMESPACED}/applications/[a-z0-9.-]+`, APPLICATION),
  route("object", `/apis/batch/v1${NAMESPACED}/jobs/[a-z0-9.-]+`, JOB),
  route("object", `/api/v1${NAMESPACED}/configmaps/[a-z0-9.-]+`, CONFIG_MAP),
  route("secret", `/api/v1${NAMESPACED}/secrets/[a-z0-9.-]+`, secret("checkout", 5, "failed", 1_769_846_220)),
  route(
    "releases",
    `/api/v1${NAMESPACE}/secrets`,
    items(
      secret("cart", 3, "deployed", 1_769_700_000),
      secret("checkout", 4, "superseded", 1_768_900_000),
      secret("checkout", 5, "failed", 1_769_846_220),
    ),
    list.extend({ labelSelector: z.string().regex(/^owner=helm(,name=[a-z0-9.-]+)?$/) }),
  ),
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
    list.extend({ labelSelector: labelled }),
  ),
  route("deployment", "/apis/apps/v1/namespaces/[a-z0-9-]+/deployments/[a-z0-9.-]+", DEPLOYMENT),
  route("nodes", "/api/v1/nodes", items(NODE), list),
];

const POD = { namespace: "shop", pod: "checkout-7d9f-abcde" };

export const vendor: Vendor = {
  start: () => startKubernetes(),
  env: (url) => ({ KUBERNETES_URL: url, KUBERNETES_TOKEN: TOKEN }),
  secrets: [TOKEN],
  asked: ["list_pods", { namespace: "shop" }],
  questions: {
    "What is unhealthy?": {
      asks: [
        ["list_pods", { namespace: "*" }],
        ["list_workloads", { namespace: "shop" }],
        ["list_nodes", {}],
      ],
      tells: ["CrashLoopBackOff", "has timed out progressing", "MemoryPressure"],
    },
    "Why?": {
      asks: [
        ["list_events", { namespace: "shop", object: POD.pod }],
        ["get_pod", POD],
        ["get_logs", { ...POD, previous: true }],
        ["top_pods", { namespace: "shop" }],
      ],
      tells: ["Back-off restarting", "OOMKilled", '"memory_percent":96', "137", "out of connections"],
    },
    "What changed?": {
      asks: [["rollout_history", { deployment: "checkout", namespace: "shop" }]],
      tells: ["checkout:1.13.1", "checkout:1.14.0", "2026-01-31T07:57"],
    },
  },
  inputs: {
    kubernetes_list_events: { namespace: "shop", object: null },
    kubernetes_list_pods: { namespace: "shop", selector: null },
  },
};
