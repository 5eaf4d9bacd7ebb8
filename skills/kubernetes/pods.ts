import { clip, each, firstOf, resultSchema, TEAM_SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { conditionOf, conditions, name, namespace, number, selector, text } from "./fields.ts";
import { kubernetesTool, listAll, oneNamespace, pathOf } from "./service.ts";

export const podTools = [
  kubernetesTool({
    name: "list_pods",
    description:
      "Lists pods, unhealthy ones first: phase, readiness, restarts, why one waits or ended (CrashLoopBackOff, OOMKilled), node, images. Call this first. For the cause: list_events, get_logs.",
    ...TEAM_SNAPSHOT,
    selects: ["namespace", "selector", "only_unwell"],
    input_schema: z.strictObject({
      namespace,
      selector,
      only_unwell: z.boolean().optional(),
      limit: z.int().min(1).max(100).optional(),
    }),
    output_schema: resultSchema(
      "pods unwell",
      "pods:[any] phases:any unwell:number matching:number left_out:number note",
    ),
    work: async ({ ask, own }, input) => {
      const where = input.namespace ?? own.namespace;
      const { items, unread } = await listAll(ask, { where, plural: "pods", item: pod, labelSelector: input.selector });
      const all = items
        .map(briefOf)
        .sort((a, b) => Number(b.unwell ?? false) - Number(a.unwell ?? false) || b.restarts - a.restarts);
      const unwell = all.filter((one) => one.unwell);
      const matching = input.only_unwell ? unwell : all;
      const { shown, ...counts } = firstOf(matching, input.limit ?? 30);
      return {
        pods: shown,
        phases: countsOf(items.map(({ status }) => status.phase ?? "Unknown")),
        unwell: unwell.length,
        ...counts,
        note:
          unread ??
          (all.length === 0 ? `No pod in ${where} matches. Check the namespace and the selector.` : undefined),
      };
    },
  }),
  kubernetesTool({
    name: "get_pod",
    description:
      "Reads one pod: conditions, and each container's state, last termination, restarts, image, requests and limits.",
    ...TEAM_SNAPSHOT,
    echoes: ["name", "namespace"],
    input_schema: z.strictObject({ pod: name, namespace }),
    output_schema: resultSchema("name containers", "name namespace conditions:[any] containers:[any]"),
    work: async ({ ask, own }, input) => {
      const where = oneNamespace(input.namespace ?? own.namespace);
      const told = await ask({
        path: pathOf("v1", where, "pods", input.pod),
        needs: `permission to get pods in ${where}`,
        instead: "list_pods lists the names. Pods of a workload get new names with every rollout.",
        answer: pod,
      });
      const { status, spec, metadata } = told;
      const specs = [...(spec.initContainers ?? []), ...(spec.containers ?? [])];
      const states = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
      return {
        ...briefOf(told),
        labels: metadata.labels,
        owner: metadata.ownerReferences?.map((owner) => `${owner.kind}/${owner.name}`).join(", "),
        message: status.message,
        conditions: status.conditions?.map(conditionOf),
        containers: specs.map(({ name: container, image, resources }) => {
          const state = states.find((each) => each.name === container);
          return {
            name: container,
            image,
            ready: state?.ready,
            restarts: state?.restartCount,
            state: stateOf(state?.state),
            last_state: stateOf(state?.lastState),
            requests: resources?.requests,
            limits: resources?.limits,
          };
        }),
      };
    },
  }),
];

const ended = z.object({ exitCode: number, reason: text, message: text, signal: number, finishedAt: text }).nullish();
const state = z
  .object({
    waiting: z.object({ reason: text, message: text }).nullish(),
    running: z.object({ startedAt: text }).nullish(),
    terminated: ended,
  })
  .nullish();
const containerStatus = z.object({
  name: text,
  ready: z.boolean().nullish(),
  restartCount: number,
  state,
  lastState: state,
});
const quantities = z.record(z.string(), z.union([z.string(), z.number()])).nullish();
const container = z.object({
  ...each(text, "name image restartPolicy"),
  resources: z.object({ requests: quantities, limits: quantities }).nullish(),
});
const pod = z.object({
  metadata: z.object({
    name: z.string(),
    ...each(text, "namespace creationTimestamp deletionTimestamp"),
    labels: z.record(z.string(), z.string()).nullish(),
    ownerReferences: z.array(z.object({ kind: text, name: text })).nullish(),
  }),
  spec: z.object({
    nodeName: text,
    containers: z.array(container).nullish(),
    initContainers: z.array(container).nullish(),
  }),
  status: z.object({
    ...each(text, "phase reason message"),
    conditions,
    containerStatuses: z.array(containerStatus).nullish(),
    initContainerStatuses: z.array(containerStatus).nullish(),
  }),
});
type Pod = z.infer<typeof pod>;

function briefOf({ metadata, spec, status }: Pod) {
  const inits = status.initContainerStatuses ?? [];
  const states = status.containerStatuses ?? [];
  const every = [...inits, ...states];
  // Sidecars are init containers that keep running, and count like other containers.
  const sidecars = new Set(spec.initContainers?.flatMap((one) => (one.restartPolicy === "Always" ? one.name : [])));
  const lasting = [...inits.filter(({ name }) => sidecars.has(name)), ...states];
  const ready = lasting.filter((each) => each.ready).length;
  const total = (spec.containers?.length ?? states.length) + sidecars.size;
  // A pod of a lost node, or with an unmet readiness gate, is not ready although its containers are.
  const isUnready = status.conditions?.some(({ type, status: is }) => type === "Ready" && is !== "True") ?? false;
  const isDone = status.phase === "Succeeded";
  const restarts = every.reduce((sum, { restartCount }) => sum + (restartCount ?? 0), 0);
  const why = reasonOf(status, every);
  return {
    name: metadata.name,
    namespace: metadata.namespace,
    phase: metadata.deletionTimestamp ? "Terminating" : status.phase,
    ready: `${ready}/${total}`,
    restarts,
    unwell: (!isDone && (ready < total || isUnready || status.phase !== "Running")) || undefined,
    why,
    node: spec.nodeName,
    created: metadata.creationTimestamp,
    images: spec.containers?.map(({ image }) => image),
  };
}

/** Returns the main reasons: what a container waits for, how it ended, or why the pod is not scheduled. */
function reasonOf(status: Pod["status"], containers: readonly z.infer<typeof containerStatus>[]): string | undefined {
  const waiting = containers.find(({ state: is }) => is?.waiting && is.waiting.reason !== "PodInitializing")?.state
    ?.waiting;
  const last = containers.find(({ lastState }) => lastState?.terminated)?.lastState?.terminated;
  const now = containers.find(({ state: is }) => is?.terminated && is.terminated.exitCode !== 0)?.state?.terminated;
  const unmet = status.conditions?.find(({ status: is, message }) => is === "False" && message);
  const parts = [
    status.reason,
    waiting && [waiting.reason, waiting.message].filter(Boolean).join(": "),
    now && endOf(now),
    last && `last time ${endOf(last)}`,
    !waiting && !now && unmet ? unmet.message : undefined,
  ].filter((part) => part);
  return parts.length > 0 ? clip(parts.join("; "), 500) : undefined;
}

function endOf({ reason, exitCode, finishedAt }: NonNullable<z.infer<typeof ended>>): string {
  return `${reason ?? "ended"} (exit ${exitCode ?? "unknown"}${finishedAt ? ` at ${finishedAt}` : ""})`;
}

function stateOf(of: z.infer<typeof state>): string | undefined {
  if (of?.waiting) return clip(`waiting: ${[of.waiting.reason, of.waiting.message].filter(Boolean).join(": ")}`, 500);
  if (of?.running) return `running since ${of.running.startedAt}`;
  return of?.terminated ? endOf(of.terminated) : undefined;
}

function countsOf(values: readonly string[]) {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}
