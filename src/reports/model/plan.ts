import { logJson, revealText } from "../../core/base/inert.ts";
import { defined, isObject, type Json, type JsonObject } from "../../core/base/values.ts";
import type { RunEvent } from "../../core/engine/event/event.ts";
import { type Operation, recordedPlanDigest } from "../../core/engine/event/operation.ts";
import { describeReferences } from "../../core/engine/plan/reference.ts";
import { type Application, applicationsOf, type Standing, UNTOUCHED } from "../../core/engine/plan/standing.ts";
import type { Report } from "./report.ts";

export interface PlanView {
  readonly run: string;
  readonly kind: Report["record"]["kind"];
  readonly workflow: string;
  readonly digest: string;
  readonly operations: readonly ShownOperation[];
}

export interface ShownOperation {
  /** The operation. References in its summary are the results, or words: `⟨link after apply: op-3⟩`. */
  readonly operation: Operation;
  /** Id of the first operation with the same sources. Set only for long lists of sources, to avoid repeating them. */
  readonly readAs: string | undefined;
  readonly now: Omit<Application, "standing"> & { readonly standing: Shown };
}

/** Status of an operation. `skipped` means that the `apply` that just ended did not start it. */
export type Shown = Standing | "skipped";

interface Planned {
  readonly record: Report["record"];
  readonly operations: readonly Operation[];
  readonly events: readonly RunEvent[];
  /** Outcomes of an `apply` that just ended. Skipped and withdrawn operations have no events. */
  readonly outcomes?: readonly { readonly id: string; readonly status: string; readonly error?: string }[];
}

export function viewPlan({ record, operations, events, outcomes = [] }: Planned): PlanView {
  const applications = applicationsOf(events);
  const idle = new Map(
    outcomes.flatMap(({ id, status, error }): [string, ShownOperation["now"]][] =>
      status === "skipped" || status === "refused" ? [[id, { standing: status, ...defined("error", error) }]] : [],
    ),
  );
  const readers = new Map<string, string>();
  const shown = operations.map((operation): ShownOperation => {
    const { id, sources, applied } = operation;
    const read = JSON.stringify(sources);
    const readAs = sources.length > FEW_SOURCES ? readers.get(read) : undefined;
    if (readAs === undefined) readers.set(read, id);
    const now = idle.get(id) ?? applications.get(id) ?? (applied ? { standing: "applied" } : UNTOUCHED);
    const summary = describeReferences(operation.summary, (earlier) => applications.get(earlier)?.output);
    return { operation: { ...operation, summary }, readAs, now };
  });
  const { run, kind, workflow } = record;
  return { run, kind, workflow: workflow.name, digest: recordedPlanDigest(record, operations), operations: shown };
}

const FEW_SOURCES = 3;

export function viewReport({ record, result, events }: Report): PlanView {
  return viewPlan({ record, operations: result.plan, events });
}

const SHOWN: readonly Shown[] = ["planned", "applied", "failed", "refused", "in_doubt", "denied", "skipped"];

export const standingWords = (standing: Shown) => standing.replace("_", " ");

/** Counts the operations by status, such as `2 applied, 1 in doubt`. */
export function countStandings({ operations }: PlanView): string {
  const counted = SHOWN.flatMap((standing) => {
    const { length } = operations.filter(({ now }) => now.standing === standing);
    return length > 0 ? [`${length} ${standingWords(standing)}`] : [];
  });
  const isUntouched = operations.length > 0 && operations.every(({ now }) => now.standing === "planned");
  return isUntouched ? "none carried out yet" : counted.join(", ");
}

/** Returns the number of operations that can still be applied. Replays and dry runs have none. */
export function openCount({ kind, operations }: PlanView): number {
  if (kind !== "run") return 0;
  return operations.filter(({ now }) => now.standing !== "applied" && now.standing !== "denied").length;
}

/** Checks whether a secret was redacted from the input, which is sent with the mark instead of the secret. */
export function isRedacted({ input }: Operation): boolean {
  return JSON.stringify(input).includes("[redacted:");
}

export const REDACTED_WARNING = "A secret in this input was redacted: the redaction mark is sent instead.";

export const HELD =
  "queued for review: the text comes from a private source and the target is public; --allow-public lets a run write it";

/** Returns the link to the written object from a tool's output. */
export function linkOf(output: Json | undefined): string | undefined {
  if (!isObject(output)) return undefined;
  const name = LINKS.find((key) => typeof output[key] === "string");
  return name === undefined ? undefined : String(output[name]);
}

const LINKS = ["url", "html_url", "permalink", "link"];

/** Formats a complete input for review: multi-line strings as text, everything else as JSON. Reveals invisible characters. */
export function reviewInput(input: Json) {
  const members = isObject(input) ? Object.entries(input as JsonObject) : [];
  const texts = members.flatMap(([name, value]) => {
    return typeof value === "string" && value.includes("\n") ? [{ name, text: revealText(value) }] : [];
  });
  const rest = members.filter(([name]) => !texts.some((text) => text.name === name));
  const json = (value: Json) => logJson(JSON.stringify(value, undefined, 2));
  if (texts.length === 0) return { json: json(input), texts };
  return { json: rest.length === 0 ? undefined : json(Object.fromEntries(rest)), texts };
}
