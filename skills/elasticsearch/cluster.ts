import { type Ask, each, firstOf, lenient, pick, resultSchema, ServiceFault, TEAM_SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { elasticsearchTool, index, MONITOR } from "./service.ts";

export const clusterTools = [
  elasticsearchTool({
    name: "list_indices",
    description:
      "Lists indices, largest first: health, documents, size. Use it to find names before a search, and to see what fills the disks. Only indices that the key can see.",
    ...TEAM_SNAPSHOT,
    selects: ["index"],
    input_schema: z.strictObject({
      index: index.optional(),
      limit: z.int().min(1).max(200).optional().describe("Default 30."),
    }),
    output_schema: resultSchema("indices", "indices:[any] matching:number left_out:number note"),
    work: async (ask, input) => {
      const all = await ask({
        path: ["_cat", "indices", ...(input.index ? [input.index] : [])],
        query: {
          format: "json",
          bytes: "b",
          h: "index,health,status,docs.count,store.size,pri,rep",
          s: "store.size:desc",
        },
        needs: "the monitor privilege on these indices",
        instead: "No index has this name. Use a pattern, such as logs-*.",
        answer: z.array(z.record(z.string(), z.string().nullable())),
      });
      const { shown, ...counts } = firstOf(all, input.limit ?? 30);
      return {
        indices: shown.map((one) => ({
          name: one["index"],
          health: one["health"],
          status: one["status"] === "open" ? undefined : one["status"],
          documents: numberOf(one["docs.count"]),
          bytes: numberOf(one["store.size"]),
          shards: numberOf(one["pri"]),
          replicas: numberOf(one["rep"]),
        })),
        ...counts,
        note: all.length === 0 ? "No index matches, or the key cannot see those that do." : undefined,
      };
    },
  }),
  elasticsearchTool({
    name: "cluster_health",
    description:
      "Shows the state of the cluster: unassigned shards with the reason for the first, and heap, disk and load of each node, fullest first. Shows whether Elasticsearch itself fails.",
    ...TEAM_SNAPSHOT,
    input_schema: z.strictObject({}),
    output_schema: resultSchema(
      "status nodes",
      "status shards:any pending_tasks:number nodes:[any] more_nodes:number unassigned:any",
    ),
    work: async (ask) => {
      const health = await ask({ path: ["_cluster", "health"], needs: MONITOR, answer: healthAnswer });
      const nodes = await ask({
        path: ["_cat", "nodes"],
        query: {
          format: "json",
          h: "name,node.role,master,heap.percent,disk.used_percent,cpu,load_1m",
          s: "disk.used_percent:desc",
        },
        needs: MONITOR,
        answer: z.array(z.record(z.string(), z.string().nullable())),
      });
      const explained = health.unassigned_shards > 0 ? await firstUnassigned(ask) : undefined;
      const { shown, left_out } = firstOf(nodes, 30);
      return {
        status: health.status,
        shards: {
          ...pick(health, "active:active_shards unassigned:unassigned_shards relocating:relocating_shards"),
          ...pick(health, "initializing:initializing_shards"),
        },
        pending_tasks: health.number_of_pending_tasks,
        nodes: shown.map((node) => ({
          name: node["name"],
          roles: node["node.role"],
          is_master: node["master"] === "*" || undefined,
          heap_percent: numberOf(node["heap.percent"]),
          disk_percent: numberOf(node["disk.used_percent"]),
          cpu_percent: numberOf(node["cpu"]),
          load: numberOf(node["load_1m"]),
        })),
        more_nodes: left_out,
        unassigned: explained && {
          ...pick(explained, "index reason:unassigned_info?.reason since:unassigned_info?.at"),
          ...pick(explained, "why:allocate_explanation"),
          deciders: explained.node_allocation_decisions
            ?.slice(0, 3)
            .flatMap(({ deciders }) => (deciders ?? []).map(({ explanation }) => explanation)),
        },
      };
    },
  }),
];

const healthAnswer = z.object({
  status: z.string(),
  ...each(z.number(), "active_shards unassigned_shards relocating_shards initializing_shards number_of_pending_tasks"),
});

const text = lenient(z.string());
const allocation = z.object({
  index: text,
  unassigned_info: lenient(z.object({ reason: text, at: text })),
  allocate_explanation: text,
  node_allocation_decisions: lenient(
    z.array(z.object({ deciders: z.array(z.object({ explanation: text })).nullish() })),
  ),
});

/** Explains why the first unassigned shard has no node. Undefined if all shards were assigned in the meantime: a 400. */
async function firstUnassigned(ask: Ask): Promise<z.infer<typeof allocation> | undefined> {
  try {
    return await ask({ path: ["_cluster", "allocation", "explain"], needs: MONITOR, answer: allocation });
  } catch (error) {
    if (error instanceof ServiceFault && error.status === 400) return undefined;
    throw error;
  }
}

function numberOf(cell: string | null | undefined): number | undefined {
  const number = Number(cell ?? Number.NaN);
  return Number.isFinite(number) && cell !== "" ? number : undefined;
}
