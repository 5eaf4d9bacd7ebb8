import type { AppliedOperation } from "../../app/runs/apply.ts";
import { plainLine, revealText } from "../../core/base/inert.ts";
import { formatTime } from "../../core/base/preview.ts";
import { isObject, type Json } from "../../core/base/values.ts";
import type { ApplyStatus } from "../../core/engine/plan/outcome.ts";
import {
  countStandings,
  isRedacted,
  linkOf,
  type PlanView,
  REDACTED_WARNING,
  type Shown,
  type ShownOperation,
  STANDING_WORDS,
} from "../../reports/model/plan.ts";
import { amount, type Format, type Paint } from "./terminal.ts";

/** Summarizes a plan with the state of its first operations. */
export function describeStandings(plan: PlanView, paint: Paint, most = Number.POSITIVE_INFINITY): string[] {
  const { operations } = plan;
  if (operations.length === 0) return [];
  const shown = operations.slice(0, most);
  const rows = shown.flatMap(({ operation: { id, summary, held }, now }) => {
    const [sign, format] = SIGNS[now.standing];
    const how = now.standing === "planned" ? "" : `  ${paint(format, standingWords(now))}`;
    const why = held && now.standing === "planned" ? [`      ${paint("yellow", HELD_BECAUSE)}`] : [];
    return [`  ${paint(format, sign)} ${paint("bold", plainLine(id))}  ${plainLine(summary)}${how}`, ...why];
  });
  const left = operations.length - shown.length;
  return [
    `${paint("bold", amount(operations.length, "planned write"))}: ${countStandings(plan)}`,
    ...rows,
    ...(left > 0 ? [paint("dim", `  (${left} more)`)] : []),
  ];
}

const HELD_BECAUSE =
  "held: the text comes from a private source and the target is public; --allow-public lets a run write it";

const SIGNS: Readonly<Record<Shown, readonly [sign: string, format: Format]>> = {
  planned: ["○", "yellow"],
  applied: ["✔", "green"],
  failed: ["✘", "red"],
  in_doubt: ["?", "yellow"],
  skipped: ["○", "yellow"],
  refused: ["✘", "red"],
};

function standingWords({ standing, by, at, error }: ShownOperation["now"]): string {
  const who = by === undefined ? "" : ` by ${by}`;
  const when = at === undefined ? "" : `, ${formatTime(at)}`;
  return plainLine(`${STANDING_WORDS[standing]}${who}${when}${error === undefined ? "" : `: ${error}`}`);
}

/** Describes a plan for review on a terminal, in full, because only what is shown can be approved. */
export function describePlan({ run, digest: whole, operations }: PlanView, paint: Paint): string {
  const head = `${paint("bold", amount(operations.length, "planned write"))} of run ${plainLine(run)}`;
  const digest = paint("dim", `plan digest ${whole}`);
  return `${[head, digest, "", ...operations.flatMap((operation) => describeOperation(operation, paint))].join("\n")}\n`;
}

/** Describes the redacted operations, which are not sent as intended. Printed even with --quiet. */
export function describeLosses({ operations }: PlanView, paint: Paint): string {
  const lost = operations.filter(({ operation, now }) => now.standing !== "applied" && isRedacted(operation));
  return lost.map(({ operation: { id } }) => `${paint("yellow", "!")} ${id}: ${REDACTED_WARNING}\n`).join("");
}

function describeOperation({ operation, readAs, now }: ShownOperation, paint: Paint): string[] {
  const { id, node, visit, summary, audience, digest, sources, refers, held, filtered = [] } = operation;
  const dim = (text: string) => `      ${paint("dim", plainLine(text))}`;
  const marks = [
    ...(audience === "public" ? [paint("yellow", "public")] : []),
    ...(now.standing === "planned" ? [] : [paint(SIGNS[now.standing][1], standingWords(now))]),
    ...(operation.node_failed ? [paint("red", "its node failed")] : []),
    ...(held ? [paint("yellow", "held: private text to a public place")] : []),
  ];
  const read = sources.map(({ ref, tool: by }) => (by === undefined ? ref : `${ref} ${by}`)).join(", ");
  return [
    `  ${paint("bold", id)}  ${paint("cyan", plainLine(summary))}${marks.map((mark) => `  ${mark}`).join("")}`,
    ...(isRedacted(operation) && now.standing !== "applied"
      ? [`      ${paint("yellow", `! ${REDACTED_WARNING}`)}`]
      : []),
    dim(
      `planned by ${node}${visit > 1 ? `, visit ${visit}` : ""}${refers.length > 0 ? `, after ${refers.join(", ")}` : ""}`,
    ),
    readAs !== undefined
      ? dim(`had read what strangers write: the same as ${readAs}`)
      : dim(read === "" ? "had read nothing that strangers write" : `had read what strangers write: ${read}`),
    ...filtered.map(({ kind, count }) => dim(`taken out: ${amount(count, kind)}`)),
    ...inputLines(operation.input).map((line) => `      ${line}`),
    dim(`digest ${digest}`),
    "",
  ];
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

const MARKS: Readonly<Record<ApplyStatus, readonly [sign: string, format: Format, words: string]>> = {
  applied: ["✔", "green", "applied"],
  already_applied: ["✔", "green", "already applied"],
  skipped: ["○", "yellow", "skipped"],
  refused: ["✘", "red", "refused"],
  failed: ["✘", "red", "failed"],
  in_doubt: ["?", "yellow", "in doubt"],
  not_approved: ["○", "dim", "not approved"],
};

/** Describes the outcome of an operation. */
export function describeOutcome(
  { id, status, error, result, existing }: AppliedOperation,
  summary: string,
  paint: Paint,
): string {
  const [sign, format, words] = MARKS[status];
  const at = linkOf(result);
  const told = error ?? (at === undefined ? undefined : `${existing ? "it was there already: " : ""}${at}`);
  const more = told === undefined ? "" : `\n      ${plainLine(told)}`;
  return `${paint(format, sign)} ${paint("bold", id)} ${words}  ${paint("dim", plainLine(summary))}${more}\n`;
}
