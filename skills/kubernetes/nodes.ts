import { firstOf, resultSchema, TEAM_SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { selector, text } from "./fields.ts";
import { kubernetesTool, listOf, PAGE, pathOf, unreadNote } from "./service.ts";

export const nodeTools = [
  kubernetesTool({
    name: "list_nodes",
    description:
      "Lists nodes, unhealthy ones first: not ready, under memory, disk or process pressure, or closed for new pods; with capacity, version and zone. Use it if pods wait for a node or disappear from one.",
    ...TEAM_SNAPSHOT,
    selects: ["selector"],
    input_schema: z.strictObject({ selector, limit: z.int().min(1).max(100).optional().describe("Default 30.") }),
    output_schema: resultSchema("nodes", "nodes:[any] unwell:number matching:number left_out:number note"),
    work: async ({ ask }, input) => {
      const listed = await ask({
        path: pathOf("v1", "*", "nodes"),
        query: { labelSelector: input.selector, limit: PAGE },
        needs: "permission to list nodes, which the cluster role view does not grant",
        answer: listOf(node),
      });
      const all = listed.items.map(briefOf).sort((a, b) => Number(Boolean(b.problems)) - Number(Boolean(a.problems)));
      const { shown, left_out } = firstOf(all, input.limit ?? 30);
      const unwell = all.filter(({ problems }) => problems).length;
      return { nodes: shown, unwell, matching: all.length, left_out, note: unreadNote(listed) };
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
    conditions: z
      .array(z.object({ type: text, status: text, reason: text, message: text, lastTransitionTime: text }))
      .nullish(),
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
    problems: failing?.length
      ? failing.map(({ type, status: is, reason, message, lastTransitionTime }) => ({
          type,
          status: is,
          reason,
          message,
          since: lastTransitionTime,
        }))
      : undefined,
    closed: spec.unschedulable || undefined,
    taints: spec.taints?.slice(0, 10).map(({ key, effect }) => `${key}:${effect}`),
    allocatable: { cpu, memory, pods },
    version: status.nodeInfo?.kubeletVersion,
    zone: metadata.labels?.["topology.kubernetes.io/zone"],
    created: metadata.creationTimestamp,
  };
}
