import type * as z from "zod";
import { checkOutputSchemas } from "../../document/check/output-schemas.ts";
import { checkWorkflow } from "../../document/check/workflow.ts";
import { parseCondition } from "../../document/condition.ts";
import type { Workflow } from "../../document/workflow/workflow.ts";
import type { KnownSkills } from "../../skill/skill-reference.ts";
import { type EventOf, eventSchema, type RunEvent } from "../event/event.ts";
import { type RunRecord, runRecordSchema, workflowAt } from "../event/record.ts";
import type { StoredRun } from "../ports.ts";
import { documentsOf } from "./memory.ts";

/** Checks that a run's file holds a valid run. Readers rely on this check alone. Line 1 is the record. */
export function faultOfRecording(record: unknown, events: readonly unknown[]) {
  const message = faultOfRecord(record);
  if (message !== undefined) return { line: 1, message };
  let epoch = 0;
  for (const [seq, event] of events.entries()) {
    const fault = faultOfEvent(event, { record: record as RunRecord, seq, epoch });
    if (fault !== undefined) return { line: seq + 2, message: fault };
    ({ epoch } = event as RunEvent);
  }
  return undefined;
}

const ANY_SKILL: KnownSkills = { has: () => true, [Symbol.iterator]: () => [].values() };

function faultOfShape(schema: z.ZodType, value: unknown): string | undefined {
  const [issue] = schema.safeParse(value).error?.issues ?? [];
  const place = issue?.path.join(".") ?? "";
  return issue && `${place === "" ? "" : `${place}: `}${issue.message}`;
}

function faultOfRecord(record: unknown): string | undefined {
  const misshapen = faultOfShape(runRecordSchema(), record);
  if (misshapen !== undefined) return misshapen;
  const { workflow, at, inner = {} } = record as RunRecord;
  if (Number.isNaN(Date.parse(at))) return "at is not a time";
  const all = documentsOf({ workflow, inner });
  const found = all.flatMap((each) => [...checkWorkflow(each, ANY_SKILL), ...checkOutputSchemas(each, "")]);
  const missing = lacking(workflow, "", inner);
  // Older versions accepted more conditions, so any condition that can be parsed is valid in a record.
  const conditions = all.flatMap(({ edges }) => edges.flatMap((edge) => (edge.if === undefined ? [] : [edge.if])));
  const unreadable = conditions.map(parseCondition).find((rule) => typeof rule === "string");
  const error = found.find(({ severity, path }) => severity === "error" && path.at(-1) !== "if");
  return error?.message ?? (unreadable === undefined ? missing : `a condition ${unreadable}`);
}

/** Describes the first node whose workflow is missing from the record. */
function lacking(workflow: Workflow, path: string, inner: NonNullable<RunRecord["inner"]>): string | undefined {
  for (const [id, node] of Object.entries(workflow.nodes)) {
    if (!node.map && node.call === undefined) continue;
    const own = path === "" ? id : `${path}/${id}`;
    const document = Object.hasOwn(inner, own) ? inner[own] : undefined;
    const problem = document ? lacking(document.workflow, own, inner) : `there is no workflow for ${own}`;
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function faultOfEvent(
  given: unknown,
  { record, seq, epoch }: Pick<RunEvent, "seq" | "epoch"> & { readonly record: RunRecord },
): string | undefined {
  const misshapen = faultOfShape(eventSchema(), given);
  if (misshapen !== undefined) return misshapen;
  const event = given as RunEvent;
  if (event.seq !== seq) return `seq is ${event.seq}, not ${seq}`;
  if (event.epoch < epoch) return `epoch decreases to ${event.epoch}`;
  if (Number.isNaN(Date.parse(event.time))) return "time is not a date";
  const workflow = workflowAt(record, event.at) ?? NOTHING;
  const named = nodesOf(event).find((node) => !Object.hasOwn(workflow.nodes, node));
  if (named !== undefined) return `there is no node ${named}`;
  if (event.type === "workflow:end") return faultOfEnd(event);
  if (event.type !== "route") return undefined;
  const edge = workflow.edges[event.edge];
  return edge?.from === event.from && edge.to === event.to ? undefined : `edge ${event.edge} connects other nodes`;
}

/** Checks that the status does not contradict the error, which decides the exit code. */
function faultOfEnd({ status, error }: EventOf<"workflow:end">): string | undefined {
  const isDone = status === "succeeded" || status === "skipped";
  if (isDone !== (error === undefined)) return `status ${status} ${isDone ? "must not have" : "must have"} an error`;
  return (status === "waiting") === (error?.code === "run.waiting")
    ? undefined
    : `status ${status} does not match the error`;
}

const NOTHING = { nodes: {}, edges: [] };

function nodesOf(event: RunEvent): readonly string[] {
  if (event.type === "workflow:end") return Object.keys(event.results);
  if (event.type === "route") return [event.from, event.to];
  const named = event.type === "run:resume" ? event.from : "node" in event ? event.node : undefined;
  return named === undefined ? [] : [named];
}

/** Checks whether a run was recorded without digests, so that changes go unnoticed. Ignores runs without events. */
export function isUnchained({ events: [first] }: StoredRun): boolean {
  return first !== undefined && first.record === undefined;
}

export function unchainedWarnings(run: StoredRun): string[] {
  return isUnchained(run) ? [`run ${run.record.run} is unchained: changes to its record cannot be detected`] : [];
}
