import type { FinishedRun } from "../../app/runs/drive.ts";
import { plainLine, plainText } from "../../core/base/inert.ts";
import { formatTime } from "../../core/base/preview.ts";
import { isObject, type JsonObject } from "../../core/base/values.ts";
import type { WorkflowNode } from "../../core/document/workflow/node.ts";
import { callFailure, type NodeResult } from "../../core/engine/event/node-result.ts";
import { resumeCommand } from "../../core/engine/result/resume-command.ts";
import { doctorCommand, withOptions } from "../../core/engine/result/signal-command.ts";
import { unroutedText } from "../../core/engine/result/unrouted.ts";
import { ageText } from "../../core/engine/state/unseen.ts";
import { type Account, accountOf, paidWords } from "../../reports/model/account.ts";
import { viewReport } from "../../reports/model/plan.ts";
import { leftOutSkills, type Report } from "../../reports/model/report.ts";
import { statusOf, type VisitStatus } from "../../reports/model/visit.ts";
import { describeStandings } from "./plan-view.ts";
import { amount, describeData, duration, oneLine, type Paint } from "./terminal.ts";
import { wrapLines } from "./wrap.ts";

const MOST_NODES = 12;
const MOST_PLANNED = 6;
/** Maximum number of lines for one node's result. */
const MOST_LINES = 200;

interface VerdictOptions {
  readonly paint: Paint;
  readonly width: number;
  /** The program's name as the user calls it. */
  readonly program: string;
  /** Report files that were written. */
  readonly written?: readonly string[];
  /** Maximum number of planned operations to list. Defaults to the first few. */
  readonly mostPlanned?: number;
  /** The command that the user just ran. Never suggested as the next one. */
  readonly typed?: string;
}

/** Describes a finished run for the terminal: each node's result, the missing skills, and the next command. */
export function describeVerdict(
  { record, events, result, state, trusted = [] }: Omit<FinishedRun, "blobs">,
  { paint, width, program, written = [], mostPlanned = MOST_PLANNED, typed }: VerdictOptions,
): string {
  const { usage } = result;
  const account = accountOf({ record, events, result, trusted });
  const { state: stands, standing, answeredBy, visits } = account;
  const statuses = new Map(visits.map((visit) => [visit.node, statusOf(visit)]));
  const order = [...state.results.keys()].slice(-MOST_NODES);
  const sections = order.map((node) =>
    describeNode(account.nameOf(node), result.results[node], {
      status: statuses.get(node) ?? "active",
      around: record.workflow.nodes[node],
      paint,
      width,
    }),
  );
  const hidden = state.results.size - order.length;
  const paid = usage.costUsd === null ? "cost unknown" : `$${usage.costUsd.toFixed(4)}`;
  const cost = answeredBy === undefined ? paid : paidWords(answeredBy, undefined);
  const spent = [
    duration(usage.durationMs),
    amount(state.entered, "node visit"),
    amount(usage.modelCalls, "model call"),
    `${usage.inputTokens + usage.outputTokens} tokens`,
    cost,
  ].join(", ");
  const left = leftOutSkills(result);
  const digest = events.at(-1)?.seal;
  const next = nextCommand(account);
  return [
    "",
    ...(hidden > 0 ? [paint("dim", `(${amount(hidden, "earlier node")} not shown)`), ""] : []),
    ...sections.flatMap((lines) => [...lines, ""]),
    `${statusMark(stands, paint)} ${standing === result.status ? "" : `${standing} · `}${paint("dim", spent)}`,
    ...describeSkipped(result),
    ...describeFailure(account, paint),
    ...describeAwaited(account, { paint, program, width }),
    ...describeFinding(account, paint).map((line) => wrapLines(line, width)),
    ...describeUnrouted(account, paint),
    ...describeDropped(result, paint).map((line) => wrapLines(line, width)),
    ...describeShort(account, paint),
    ...describeFailedCalls(account, paint),
    ...describeRedactions(result, paint).map((line) => wrapLines(line, width)),
    ...(left.length > 0
      ? [
          paint("yellow", "skills left out:"),
          ...left.map(({ skill, reason }) => `  ${plainLine(skill)}: ${plainLine(reason)}`),
        ]
      : []),
    ...describeStandings(viewReport(account), paint, mostPlanned),
    ...(digest === undefined ? [] : [paint("dim", `record: ${digest}`)]),
    ...(written.length > 0 ? [`written: ${written.join(", ")}`] : []),
    ...(next === undefined || next === typed ? [] : [`${paint("dim", "next:")} ${program} ${plainLine(next)}`]),
    "",
  ].join("\n");
}

/** Describes the earlier run with the same key that caused this one to be skipped. */
function describeSkipped({ skipped }: FinishedRun["result"]): string[] {
  if (!skipped) return [];
  const { run, at, verdict } = skipped;
  const found = verdict === undefined ? "" : `, and found: ${plainLine(verdict)}`;
  const ago = ageText(Date.now() - Date.parse(at));
  return [
    `  run ${plainLine(run)} of the same key ended ${ago} ago (${plainLine(at)})${found}`,
    "  --no-cool-down runs nevertheless",
  ];
}

/** Describes the first failure, then the error that ended the run, which may only follow from it. */
function describeFailure({ failure }: Account, paint: Paint): string[] {
  if (!failure) return [];
  const { headline, hint, end, next } = failure;
  return [
    `  ${paint("bold", plainLine(headline))}`,
    ...(hint === undefined ? [] : [`  ${paint("dim", plainLine(hint))}`]),
    ...(end === undefined ? [] : [`  then ${plainLine(end)}`]),
    ...next.filter(({ command }) => command === undefined).map(({ text }) => `  ${paint("yellow", text)}`),
  ];
}

/** Lists each question with the commands that answer it, which are never wrapped: people copy them. */
function describeAwaited(
  { awaited, result }: Account,
  { paint, program, width = Number.POSITIVE_INFINITY }: Pick<VerdictOptions, "paint" | "program"> & { width?: number },
): string[] {
  const rows = awaited.slice(0, MOST_AWAITED).flatMap(({ name, node, ask, since, until, digest, approve, deny }) => {
    const when = [`since ${formatTime(since)}`, until === undefined ? "" : `until ${formatTime(until)}`];
    const about = [node === name ? "" : node, ...when].filter((part) => part !== "").join(" · ");
    return [
      wrapLines(`  ${paint("bold", plainLine(name))} ${paint("dim", `asks · ${plainLine(about)}`)}`, width),
      ...plainText(ask)
        .split("\n")
        .map((line) => wrapLines(`    ${line}`, width)),
      ...(digest === undefined ? [] : [`    ${paint("dim", "about the plan with the digest")} ${digest}`]),
      `    ${paint("green", "yes:")} ${program} ${plainLine(approve)}`,
      `    ${paint("red", "no:")}  ${program} ${plainLine(deny)}`,
    ];
  });
  const more = awaited.length - MOST_AWAITED;
  return more > 0
    ? [...rows, `  ${amount(more, "more question")}: ${program} runs show ${plainLine(result.run)}`]
    : rows;
}

const MOST_AWAITED = 6;

function describeFinding({ finding, failure }: Account, paint: Paint): string[] {
  const { headline, verdict, severity, impact, cause, action, isUnshown } = finding;
  const where = cause?.file === undefined ? "" : ` (${cause.file}${cause.line === undefined ? "" : `:${cause.line}`})`;
  const rows: [string, string | undefined][] = [
    ["verdict", verdict],
    ["severity", severity],
    ["impact", impact],
    ["cause", cause && `${cause.text}${where}`],
    ["confidence", cause?.confidence],
    ["first step", action],
  ];
  const told = rows.flatMap(([term, text]) => {
    return text === undefined
      ? []
      : [`  ${term}: ${term === "verdict" ? paint("bold", plainLine(text)) : oneLine(text, MOST_FINDING)}`];
  });
  const isSaid = failure !== undefined || cause === undefined;
  if (headline === undefined || (isSaid && !isUnshown)) return told;
  return [`  ${paint(isUnshown ? ["yellow", "bold"] : "bold", oneLine(headline, MOST_FINDING))}`, ...told];
}

/** Each claim that was dropped from an answer, with the reason. */
function describeDropped({ evidence }: FinishedRun["result"], paint: Paint): string[] {
  const { dropped_claims = [] } = evidence ?? {};
  if (dropped_claims.length === 0) return [];
  const rows = dropped_claims
    .slice(0, MOST_LINES)
    .map(({ claim, reason }) => `  ${plainLine(claim)} — ${plainLine(reason)}`);
  const more = dropped_claims.length - rows.length;
  return [
    paint("yellow", `${amount(dropped_claims.length, "claim")} dropped, not shown by evidence:`),
    ...rows,
    ...(more > 0 ? [paint("dim", `  (${amount(more, "more claim")})`)] : []),
  ];
}

const MOST_FINDING = 600;

/** Lists why nodes are degraded, except for missing skills, which have their own section. */
function describeShort({ result, nameOf }: Account, paint: Paint): string[] {
  const short = result.degraded.filter(({ skill }) => skill === undefined);
  const rows = short.slice(0, MOST_NODES).map(({ node, reason }) => {
    return `  ${paint("yellow", "▲")} ${plainLine(nameOf(node))}: ${oneLine(reason, MOST_FINDING)}`;
  });
  const left = short.length - rows.length;
  return [...rows, ...(left > 0 ? [paint("dim", `  (${amount(left, "more node")})`)] : [])];
}

/** Warns about values redacted because of the checkout's `.env`. Its author could choose values that hide findings. */
function describeRedactions({ redactions = {} }: FinishedRun["result"], paint: Paint): string[] {
  const named = Object.entries(redactions).map(([name, count]) => `${plainLine(name)} (${count})`);
  const mark = paint("yellow", "▲");
  return named.length === 0 ? [] : [`  ${mark} Redacted as values of the checkout's .env: ${named.join(", ")}`];
}

/** Names the node where the run ended although edges lead on, and why none of them applied. */
function describeUnrouted({ result: { unrouted }, nameOf }: Account, paint: Paint): string[] {
  if (!unrouted) return [];
  const { node, edges } = unrouted;
  const rows = edges
    .slice(0, MOST_NODES)
    .map(({ to, reason }) => `    to ${plainLine(to)}: ${oneLine(reason, MOST_FINDING)}`);
  return [paint("yellow", `  ▲ ${unroutedText(plainLine(nameOf(node)), edges.length)}`), ...rows];
}

/** Lists the failed calls, except those that a degraded node already reports. */
function describeFailedCalls({ every, result }: Account, paint: Paint): string[] {
  const reported = new Set(result.degraded.map(({ ref }) => ref));
  const calls = every.flatMap((visit) => visit.calls.map((call) => ({ visit, call })));
  const rows = calls.flatMap(({ visit: { name }, call: { ref, tool, outcome } }) => {
    const why = outcome && callFailure(outcome);
    if (why === undefined || reported.has(ref)) return [];
    return [`  ${paint("yellow", "✗")} ${plainLine(name)}: ${plainLine(tool)}: ${oneLine(why, MOST_FINDING)}`];
  });
  const lines = [...new Set(rows)];
  const left = lines.length - MOST_NODES;
  if (lines.length === 0) return [];
  const more = left > 0 ? [paint("dim", `  (${amount(left, "more call")})`)] : [];
  return [paint("yellow", `${amount(rows.length, "failed call")}:`), ...lines.slice(0, MOST_NODES), ...more];
}

/** Describes the open approvals or the failure, and the next command. This is all that `--quiet` prints. */
export function describeShortfall(
  report: Report,
  { paint, program }: Pick<VerdictOptions, "paint" | "program">,
): string {
  const account = accountOf(report);
  const { failure, state, awaited } = account;
  if (awaited.length > 0)
    return `${[statusMark(state, paint), ...describeAwaited(account, { paint, program })].join("\n")}\n`;
  if (!failure) return "";
  return [
    `${statusMark(state, paint)} ${plainLine(failure.message)}`,
    ...(failure.hint ? [`  ${paint("dim", plainLine(failure.hint))}`] : []),
    ...(failure.end === undefined ? [] : [`  then ${plainLine(failure.end)}`]),
    `${paint("dim", "next:")} ${program} ${plainLine(nextCommand(account) ?? "")}`,
    "",
  ].join("\n");
}

interface NodeView {
  readonly status: VisitStatus;
  /** The node's settings in the workflow. */
  readonly around: Pick<WorkflowNode, "map" | "call"> | undefined;
  readonly paint: Paint;
  readonly width: number;
}

function describeNode(name: string, result: NodeResult | undefined, view: NodeView): string[] {
  if (!result) return [];
  const { status, paint } = view;
  const mark = {
    success: paint("green", "✔"),
    degraded: paint("yellow", "▲"),
    failed: paint("red", "✘"),
    skipped: paint("yellow", "↷"),
    stopped: paint("yellow", "■"),
    active: paint("yellow", "■"),
  }[status];
  const evals = (result.evals ?? []).map(({ name: evaluator, pass }) =>
    pass ? paint("green", plainLine(evaluator)) : paint("red", `${plainLine(evaluator)} failed`),
  );
  const checked = evals.length > 0 ? paint("dim", " · checked: ") + evals.join(paint("dim", ", ")) : "";
  const lines = describeResult(result.data, view);
  const hidden = lines.length - MOST_LINES;
  return [
    `${mark} ${paint("bold", plainLine(name))}${checked}`,
    ...lines.slice(0, MOST_LINES),
    ...(hidden > 0 ? [paint("dim", `  (${amount(hidden, "line")} more)`)] : []),
  ];
}

function describeResult(data: JsonObject, { around, paint, width }: NodeView): string[] {
  const { items, results, left: _left, failed: _failed, ...rest } = data;
  if (around?.map && Array.isArray(items)) {
    return [...describeItems(items.filter(isObject), data, paint, width), ...describeData(rest, paint, width)];
  }
  if (around?.call !== undefined && isObject(results)) {
    const last = Object.values(results).at(-1);
    return describeData({ ...rest, ...(isObject(last) ? last : {}) } as JsonObject, paint, width);
  }
  return describeData(data, paint, width);
}

const ITEM_MARKS = { success: ["green", "✔"], failed: ["red", "✘"], skipped: ["yellow", "↷"] } as const;
const MOST_ITEMS = 12;

/** Lists the items of a map, failed ones first. */
function describeItems(
  items: readonly Readonly<Record<string, unknown>>[],
  { left }: JsonObject,
  paint: Paint,
  width: number,
): string[] {
  const counts = ["success", "failed", "skipped", "stopped"].flatMap((status) => {
    const count = items.filter((item) => item.status === status).length;
    return count === 0 ? [] : [`${count} ${status === "success" ? "succeeded" : status}`];
  });
  const later = typeof left === "number" && left > 0 ? [`${left} left for the next run`] : [];
  const told = [
    ...items.filter(({ status }) => status === "failed"),
    ...items.filter(({ status }) => status !== "failed"),
  ];
  const rows = told.slice(0, MOST_ITEMS).map(({ key, status, data, skipped_reason }) => {
    const [colour, mark] = ITEM_MARKS[status as keyof typeof ITEM_MARKS] ?? ["yellow", "■"];
    const label = oneLine(String(key), 60);
    const gist = skipped_reason === undefined ? gistOfItem(data) : String(skipped_reason);
    return `  ${paint(colour, mark)} ${label}${gist === "" ? "" : `: ${oneLine(gist, width - label.length - 8)}`}`;
  });
  const more = told.length - rows.length;
  return [
    `  ${amount(items.length, "item")}: ${[...counts, ...later].join(", ") || "none to look at"}`,
    ...rows,
    ...(more > 0 ? [paint("dim", `  (${amount(more, "more item")})`)] : []),
  ];
}

/** Returns an item's error, its verdict, or the result of its last node. */
function gistOfItem(data: unknown): string {
  if (!isObject(data)) return "";
  const said = data.error ?? data.verdict;
  if (said !== undefined) return String(said);
  const last = isObject(data.results) ? Object.values(data.results).at(-1) : undefined;
  if (!isObject(last)) return "";
  const texts = Object.values(last).filter((value) => typeof value !== "object");
  return texts.length > 0 ? texts.join(", ") : JSON.stringify(last);
}

export function statusMark(status: string, paint: Paint): string {
  if (status === "degraded") return paint(["yellow", "bold"], "▲ degraded");
  if (status === "succeeded") return paint(["green", "bold"], "✔ succeeded");
  if (status === "waiting") return paint(["yellow", "bold"], "◆ waiting");
  if (status === "skipped") return paint("yellow", "↷ skipped");
  return status === "failed" ? paint(["red", "bold"], "✘ failed") : paint(["yellow", "bold"], `■ ${status}`);
}

/** Returns the next command to suggest. None for a waiting run: its approvals list their own commands. */
function nextCommand(report: Report): string | undefined {
  const { run } = report.record;
  if (report.result.status === "waiting") return undefined;
  const failure = report.result.error?.code;
  const isToApply = report.record.kind === "run" && report.result.plan.some(({ applied }) => !applied);
  if (failure === undefined && isToApply) return withOptions(`apply ${run}`, report);
  if (failure === undefined || failure === "run.no_work" || failure === "replay.changed") return `runs show ${run}`;
  const isNew = report.result.error?.node === undefined;
  return failure === "skills.missing" && isNew ? doctorCommand(report.record) : resumeCommand(report);
}
