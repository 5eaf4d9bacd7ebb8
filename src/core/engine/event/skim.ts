import * as z from "zod";
import { defined, type Fitting, isObject, type Json, type JsonObject, lazy } from "../../base/values.ts";
import { workflowSchema } from "../../document/workflow/workflow.ts";
import { degradedSchema, RUN_STATUSES, runErrorSchema } from "./end.ts";
import { callFailure, type EvidenceCounts, type NodeResult, type ToolCall } from "./node-result.ts";
import { type RunRecord, runRecordSchema, type SkillRecord, skillRecordSchema } from "./record.ts";
import { usageSchema } from "./reply.ts";
import { settingsSchema } from "./settings.ts";

/** As much of a run as its line in a list tells; no more than that is checked of what a store gives for it. */
export interface SkimmedRun {
  readonly record: RunOutline;
  readonly events: readonly Skimmed[];
}

export interface RunOutline extends Pick<RunRecord, "run" | "kind" | "at"> {
  readonly workflow: Pick<RunRecord["workflow"], "id" | "name"> & {
    readonly nodes: NodeOutlines;
    readonly edges: readonly { readonly from: string; readonly when?: string | undefined }[];
  };
  readonly input: { readonly dryRun?: unknown };
  readonly inner?: { readonly [path: string]: { readonly workflow: { readonly nodes: NodeOutlines } } } | undefined;
  readonly skills: readonly (Pick<SkillRecord, "id" | "available" | "reason" | "cause"> & {
    readonly tools: readonly Pick<SkillRecord["tools"][number], "exposed" | "effect">[];
  })[];
  readonly settings: Pick<RunRecord["settings"], "model">;
}

type NodeOutlines = {
  readonly [id: string]: {
    readonly skills?: readonly string[] | undefined;
    readonly map?: unknown;
    readonly approval?: unknown;
  };
};

/** As much of a node's result as tells whether it did what it is for. */
export interface Outcome {
  readonly status: NodeResult["status"];
  readonly data: JsonObject;
  readonly toolCalls: readonly Pick<ToolCall, "ref" | "tool" | "error" | "output">[];
  readonly evidence?: Pick<EvidenceCounts, "claims" | "supported"> | undefined;
}

type Outcomes = { readonly [node: string]: Outcome };

/** By hand: results are large, and of a list of runs much more than this is never looked at. */
const outcomesSchema = lazy(() => z.custom<Outcomes>(areOutcomes).transform(outcomesIn));

function areOutcomes(results: unknown): boolean {
  return (
    isObject(results) &&
    Object.values(results).every((result) => {
      return isObject(result) && isObject(result.data) && Array.isArray(result.toolCalls);
    })
  );
}

function outcomesIn(results: Outcomes): Outcomes {
  return Object.fromEntries(Object.entries(results).map(([node, result]) => [node, outcomeIn(result)]));
}

function outcomeIn({ status, data, toolCalls, evidence }: Outcome): Outcome {
  return {
    status,
    ...defined("evidence", evidence),
    data: {
      ...defined("error", data.error),
      ...defined("fail_soft", data.fail_soft),
      ...defined("left", data.left),
      ...defined("approved", data.approved),
      ...(Array.isArray(data.items) ? { items: data.items.map(itemIn) } : {}),
    },
    toolCalls: toolCalls.map((call) => ({
      ...defined("ref", call.ref),
      tool: call.tool,
      ...defined("error", callFailure(call)),
    })),
  };
}

/** Of a map's item: how it ended. */
function itemIn(item: Json): Json {
  if (!isObject(item)) return null;
  const { key = null, status = null, data } = item;
  return { key, status, data: isObject(data) ? defined("error", data.error) : {} } as JsonObject;
}

const moment = lazy(() => ({ time: z.string(), epoch: z.int(), at: z.string().optional() }));

const tellingSchema = lazy(() =>
  z.discriminatedUnion("type", [
    z.object({ type: z.literal("node:enter"), ...moment(), node: z.string() }),
    z.object({ type: z.literal("route"), ...moment() }),
    z.object({ type: z.literal("model:reply"), ...moment(), usage: usageSchema().nullable() }),
    z.object({
      type: z.literal("workflow:end"),
      ...moment(),
      status: z.enum(RUN_STATUSES),
      verdict: z.string().optional(),
      results: outcomesSchema(),
      degraded: degradedSchema().optional(),
      error: runErrorSchema().optional(),
    }),
    z.object({
      type: z.enum(["run:resume", "approval:given"]),
      ...moment(),
      settings: settingsSchema().pick({ model: true }).partial(),
      later: z.literal(true).optional(),
    }),
  ]),
);

const otherSchema = lazy(() => z.object({ type: z.string().transform(() => "other" as const), ...moment() }));

/** What a summary takes of an event; of most the time alone. */
export type Skimmed = Fitting<typeof tellingSchema> | Fitting<typeof otherSchema>;

const TELLING: ReadonlySet<unknown> = new Set<Fitting<typeof tellingSchema>["type"]>([
  "node:enter",
  "route",
  "model:reply",
  "workflow:end",
  "run:resume",
  "approval:given",
]);

export function isTelling(type: unknown): boolean {
  return TELLING.has(type);
}

/** Undefined for what is no event, as far as a summary needs to know. */
export function skimEvent(event: object): Skimmed | undefined {
  const schema = "type" in event && isTelling(event.type) ? tellingSchema() : otherSchema();
  return schema.safeParse(event).data;
}

/** Undefined for what is no run's record, as far as a summary needs to know. */
export function skimRecord(record: object): RunOutline | undefined {
  return outlineSchema().safeParse(record).data;
}

/** By hand: a workflow has many nodes, and a list many workflows. */
const nodesSchema = lazy(() =>
  z.custom<NodeOutlines>(
    (nodes) => isObject(nodes) && Object.values(nodes).every((node) => isObject(node) && areTexts(node.skills)),
  ),
);

function areTexts(skills: unknown): boolean {
  return skills === undefined || (Array.isArray(skills) && skills.every((skill) => typeof skill === "string"));
}

const toolsOutline = lazy(() => {
  const tools = z.array(z.object({ exposed: z.string(), effect: z.enum(["read", "write"]) }));
  return skillRecordSchema().pick({ id: true, available: true, reason: true, cause: true }).extend({ tools });
});

const edgesOutline = lazy(() => z.array(z.object({ from: z.string(), when: z.string().optional() })));

const outlineSchema = lazy(() =>
  z.object({
    ...runRecordSchema().pick({ schema: true, run: true, kind: true, at: true }).shape,
    workflow: z.object({
      ...workflowSchema().pick({ id: true, name: true }).shape,
      nodes: nodesSchema(),
      edges: edgesOutline(),
    }),
    input: z.object({ dryRun: z.unknown().optional() }),
    inner: z.record(z.string(), z.object({ workflow: z.object({ nodes: nodesSchema() }) })).optional(),
    skills: z.array(toolsOutline()),
    settings: settingsSchema().pick({ model: true }),
  }),
);
