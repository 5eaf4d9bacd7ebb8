import type { AppliedOperation } from "../../app/runs/apply.ts";
import { plainLine, revealText } from "../../core/base/inert.ts";
import { isObject, type Json } from "../../core/base/values.ts";
import type { ApplyStatus } from "../../core/engine/plan/standing.ts";
import {
  countStandings,
  HELD,
  isRedacted,
  linkOf,
  type PlanView,
  REDACTED_WARNING,
  type Shown,
  type ShownOperation,
} from "../../reports/model/plan.ts";
import { operationSection, standingText } from "../../reports/model/tree/plan.ts";
import { type Block, span, strong, text } from "../../reports/model/tree/tree.ts";
import { describeBlocks } from "./sections.ts";
import { amount, colourDiff, type Format, oneLine, type Paint } from "./terminal.ts";

const SIGNS: Readonly<Record<Shown, readonly [sign: string, format: Format]>> = {
  planned: ["○", "yellow"],
  applied: ["✔", "green"],
  failed: ["✘", "red"],
  in_doubt: ["?", "yellow"],
  denied: ["✘", "red"],
  skipped: ["○", "yellow"],
  refused: ["✘", "red"],
};

/** Counts the operations and shows the first `most`, with their summaries cut to the `width` of a line. */
export function describeStandings(
  plan: PlanView,
  paint: Paint,
  room: { most?: number; width?: number } = {},
): string[] {
  const { most = Number.POSITIVE_INFINITY, width = Number.POSITIVE_INFINITY } = room;
  const { operations } = plan;
  if (operations.length === 0) return [];
  const rows = operations.slice(0, most).flatMap(({ operation: { id, summary, held }, now }) => {
    const [sign, format] = SIGNS[now.standing];
    const how = now.standing === "planned" ? "" : `  ${paint(format, plainLine(standingText(now)))}`;
    const why = held && now.standing === "planned" ? [`      ${paint("yellow", HELD)}`] : [];
    const link = now.standing === "applied" ? linkOf(now.output) : undefined;
    return [
      `  ${paint(format, sign)} ${paint("bold", plainLine(id))}  ${oneLine(summary, width - id.length - 6)}${how}`,
      ...why,
      ...(link === undefined ? [] : [`      ${plainLine(link)}`]),
    ];
  });
  const left = operations.length - most;
  return [
    `${paint("bold", amount(operations.length, "planned write"))}: ${countStandings(plan)}`,
    ...rows,
    ...(left > 0 ? [paint("dim", `  (${left} more)`)] : []),
  ];
}

/** Describes a plan for review on a terminal, in full, because only what is shown can be approved. */
export function describePlan({ run, digest, operations }: PlanView, paint: Paint): string {
  const head = `${paint("bold", amount(operations.length, "planned write"))} of run ${plainLine(run)}`;
  const shown = operations.flatMap((operation) => [...describeOperation(operation, paint), ""]);
  return `${[head, paint("dim", `plan digest ${digest}`), "", ...shown].join("\n")}\n`;
}

/** Describes the redacted operations, which are not sent as intended. Printed even with --quiet. */
export function describeLosses({ operations }: PlanView, paint: Paint): string {
  const lost = operations.filter(({ operation, now }) => now.standing !== "applied" && isRedacted(operation));
  return lost.map(({ operation: { id } }) => `${paint("yellow", "!")} ${id}: ${REDACTED_WARNING}\n`).join("");
}

/** Shows the input in a form of its own, in which no value can pass for another. */
function describeOperation(shown: ShownOperation, paint: Paint): string[] {
  const { id, title, parts } = operationSection(shown);
  const screen = { paint, program: "skillflow" };
  const written = (kind: Block["kind"]) =>
    describeBlocks(
      parts.filter((part) => part.kind === kind),
      screen,
      6,
    );
  const [head = ""] = describeBlocks([text([strong(id ?? ""), span("own", "  "), ...title])], screen);
  return [
    head,
    ...written("text"),
    ...inputLines(shown.operation.input).map((line) => `      ${line}`),
    ...diffLines(shown.operation.diff, paint).map((line) => `      ${line}`),
    ...written("facts").map((line) => paint("dim", line)),
  ];
}

function diffLines(diff: string | undefined, paint: Paint): string[] {
  if (diff === undefined) return [];
  const lines = revealText(diff).replace(/\n$/, "").split("\n");
  return ["diff:", ...lines.map((line) => `  │ ${/^[+-]/.test(line) ? colourDiff(line, paint) : line}`)];
}

/** Formats long strings as plain text and other values as JSON, without omissions. */
function inputLines(input: Json): string[] {
  if (!isObject(input)) return [revealText(JSON.stringify(input))];
  return Object.entries(input).flatMap(([name, value]) => {
    const label = revealText(name).replaceAll("\n", " ");
    if (typeof value !== "string" || isJsonLike(value)) return [`${label}: ${revealText(JSON.stringify(value))}`];
    const lines = revealText(value).split("\n");
    if (lines.length === 1) return [`${label}: ${lines[0]}`];
    return [`${label}:`, ...lines.map((line) => `  │ ${line}`)];
  });
}

/** Checks whether a string without its quotes would look like another value. */
function isJsonLike(text: string): boolean {
  return /^(?:\s*["{[]|(?:-?\d[\d.eE+-]*|true|false|null)?\s*$)/.test(text);
}

const STATUSES = ["applied", "already_applied", "failed", "refused", "skipped", "in_doubt", "not_approved"] as const;

const wordsOf = (status: ApplyStatus) => status.replace("_", " ");

/** Counts outcomes, such as `2 applied, 1 failed`. */
export function countOutcomes(outcomes: readonly AppliedOperation[]): string {
  const counts = STATUSES.flatMap((known) => {
    const { length } = outcomes.filter(({ status }) => status === known);
    return length === 0 ? [] : [`${length} ${wordsOf(known)}`];
  });
  return counts.join(", ");
}

function signOf(status: ApplyStatus): readonly [sign: string, format: Format] {
  if (status === "not_approved") return ["○", "dim"];
  return SIGNS[status === "already_applied" ? "applied" : status];
}

export function describeOutcome(
  { id, status, error, result, existing }: AppliedOperation,
  summary: string,
  paint: Paint,
): string {
  const [sign, format] = signOf(status);
  const at = linkOf(result);
  const told = error ?? (at === undefined ? undefined : `${existing ? "already existed: " : ""}${at}`);
  const more = told === undefined ? "" : `\n      ${plainLine(told)}`;
  return `${paint(format, sign)} ${paint("bold", id)} ${wordsOf(status)}  ${paint("dim", plainLine(summary))}${more}\n`;
}
