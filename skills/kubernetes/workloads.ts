import { each, firstOf, pick, resultSchema, TEAM_SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { conditions, name, namespace, number, selector, text } from "./fields.ts";
import { kubernetesTool, listAll, oneNamespace, pathOf } from "./service.ts";

const KINDS = ["deployments", "statefulsets", "daemonsets"] as const;

export const workloadTools = [
  kubernetesTool({
    name: "list_workloads",
    description:
      "Lists deployments, or stateful or daemon sets, those not fully available first: desired, ready and updated pods, images, why a rollout is stuck.",
    ...TEAM_SNAPSHOT,
    selects: ["kind", "namespace", "selector"],
    input_schema: z.strictObject({
      kind: z.enum(KINDS).optional().describe("Default deployments."),
      namespace,
      selector,
      limit: z.int().min(1).max(100).optional(),
    }),
    output_schema: resultSchema("workloads", "workloads:[any] matching:number left_out:number note"),
    work: async ({ ask, own }, input) => {
      const where = input.namespace ?? own.namespace;
      const kind = input.kind ?? "deployments";
      const { items, unread } = await listAll(ask, {
        version: "apps/v1",
        where,
        plural: kind,
        item: workload,
        labelSelector: input.selector,
      });
      const all = items.map(briefOf).sort((a, b) => Number(b.lacking) - Number(a.lacking));
      const { shown, ...counts } = firstOf(all, input.limit ?? 30);
      return {
        workloads: shown.map(({ lacking, ...one }) => ({ ...one, lacking: lacking || undefined })),
        ...counts,
        note: unread ?? (all.length === 0 ? `No ${kind} in ${where} match.` : undefined),
      };
    },
  }),
  kubernetesTool({
    name: "rollout_history",
    description: "Lists a deployment's revisions, newest first: creation time, images, pods, recorded cause.",
    ...TEAM_SNAPSHOT,
    echoes: ["deployment"],
    input_schema: z.strictObject({ deployment: name, namespace }),
    output_schema: resultSchema("revisions", "deployment revisions:[any] left_out:number note"),
    work: async ({ ask, own }, input) => {
      const where = oneNamespace(input.namespace ?? own.namespace);
      const { spec: wanted } = await ask({
        path: pathOf("apps/v1", where, "deployments", input.deployment),
        needs: `permission to get deployments in ${where}`,
        instead: "list_workloads lists the names.",
        answer: z.object({ spec: z.object({ selector: z.object({ matchLabels: labels }).nullish() }) }),
      });
      // A namespace has too many replica sets to read all: each deployment keeps ten.
      const { items, unread } = await listAll(ask, {
        version: "apps/v1",
        where,
        plural: "replicasets",
        item: workload,
        labelSelector: labelsOf(wanted.selector?.matchLabels),
      });
      const mine = items.filter(({ metadata }) =>
        metadata.ownerReferences?.some((owner) => owner.kind === "Deployment" && owner.name === input.deployment),
      );
      const revisions = mine
        .map(({ metadata, spec, status }) => ({
          revision: Number(metadata.annotations?.["deployment.kubernetes.io/revision"] ?? 0),
          created: metadata.creationTimestamp,
          cause: metadata.annotations?.["kubernetes.io/change-cause"],
          images: imagesOf(spec),
          pods: spec.replicas ?? 0,
          ready: status?.readyReplicas ?? 0,
          replica_set: metadata.name,
        }))
        .sort((a, b) => b.revision - a.revision);
      const { shown, left_out } = firstOf(revisions, 20);
      const none = `${input.deployment} in ${where} has no revision yet.`;
      return {
        deployment: `${where}/${input.deployment}`,
        revisions: shown,
        left_out,
        note: unread ?? (mine.length === 0 ? none : undefined),
      };
    },
  }),
];

const labels = z.record(z.string(), z.string()).nullish();

/** Writes labels as a selector, because servers filter by it. */
function labelsOf(of: z.infer<typeof labels>): string | undefined {
  const pairs = Object.entries(of ?? {}).map(([key, value]) => `${key}=${value}`);
  return pairs.length > 0 ? pairs.join(",") : undefined;
}

const workload = z.object({
  metadata: z.object({
    name: z.string(),
    ...each(text, "namespace creationTimestamp"),
    generation: number,
    annotations: z.record(z.string(), z.string()).nullish(),
    ownerReferences: z.array(z.object({ kind: text, name: text })).nullish(),
  }),
  spec: z.object({
    replicas: number,
    paused: z.boolean().nullish(),
    template: z
      .object({ spec: z.object({ containers: z.array(z.object({ image: text })).nullish() }).nullish() })
      .nullish(),
  }),
  status: z
    .object({
      ...each(number, "observedGeneration readyReplicas updatedReplicas availableReplicas desiredNumberScheduled"),
      ...each(number, "numberReady updatedNumberScheduled numberAvailable"),
      conditions,
    })
    .nullish(),
});
type Workload = z.infer<typeof workload>;

/** Summarizes a workload. A daemon set counts nodes instead of replicas. */
function briefOf({ metadata, spec, status }: Workload) {
  const wanted = status?.desiredNumberScheduled ?? spec.replicas ?? 1;
  const available = status?.numberAvailable ?? status?.availableReplicas ?? 0;
  const updated = status?.updatedNumberScheduled ?? status?.updatedReplicas ?? 0;
  const failing = status?.conditions?.filter(({ type, status: is }) =>
    type === "ReplicaFailure" ? is === "True" : is === "False",
  );
  return {
    name: metadata.name,
    namespace: metadata.namespace,
    wanted,
    ready: status?.numberReady ?? status?.readyReplicas ?? 0,
    available,
    updated,
    lacking: available < wanted || updated < wanted,
    paused: spec.paused || undefined,
    is_observed: (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0) ? undefined : false,
    images: imagesOf(spec),
    revision: metadata.annotations?.["deployment.kubernetes.io/revision"],
    problems: failing?.length ? failing.map((one) => pick(one, "type reason message since:lastUpdateTime")) : undefined,
  };
}

function imagesOf({ template }: Workload["spec"]) {
  return template?.spec?.containers?.map(({ image }) => image);
}
