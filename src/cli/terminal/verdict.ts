import type { FinishedRun } from "../../app/runs/drive.ts";
import { plainLine } from "../../core/base/inert.ts";
import { firstOf } from "../../core/base/preview.ts";
import { groupBy, type JsonObject } from "../../core/base/values.ts";
import { nodePath } from "../../core/document/inner/place.ts";
import { callFailure } from "../../core/engine/event/node-result.ts";
import { doctorCommand, resumeCommand, showCommand, withOptions } from "../../core/engine/result/commands.ts";
import { ageText } from "../../core/engine/state/unseen.ts";
import { type Account, accountOf, paidWords } from "../../reports/model/account.ts";
import { failedFirst, gistOfItem, itemCounts, itemWord } from "../../reports/model/items.ts";
import { openCount, viewReport } from "../../reports/model/plan.ts";
import type { Report } from "../../reports/model/report.ts";
import {
  awaitedSection,
  droppedClaims,
  evidenceTitle,
  failureSection,
  findingFacts,
  leftOutList,
  nextSteps,
  unroutedSection,
} from "../../reports/model/tree/run.ts";
import {
  type Block,
  badge,
  type Fact,
  facts,
  type Item,
  list,
  strong,
  text,
  words,
} from "../../reports/model/tree/tree.ts";
import { statusWord, switchesIn, type Visit } from "../../reports/model/visit.ts";
import { isCurrent } from "../../reports/model/visits.ts";
import { describeStandings } from "./plan-view.ts";
import { describeBlocks, type Screen } from "./sections.ts";
import { amount, describeData, duration, type Format, oneLine, type Paint } from "./terminal.ts";

const MOST_NODES = 12;
const MOST_PLANNED = 6;
/** Maximum number of lines for one node's result after a run, and in `runs show`. */
const MOST_LINES = 12;
const MOST_SHOWN = 200;

interface VerdictOptions extends Screen {
  readonly width: number;
  /** Report files that were written. */
  readonly written?: readonly string[];
  /** Shows every result and planned operation. Otherwise the output fits a screen, as long as the finding does. */
  readonly isWhole?: boolean;
  /** The command that the user just ran. Never suggested as the next one. */
  readonly typed?: string;
}

/** Describes a finished run for the terminal: each node's result, what the run found, and the next command. */
export function describeVerdict(finished: Omit<FinishedRun, "blobs">, options: VerdictOptions): string {
  const { paint, program, written = [], isWhole = false, typed } = options;
  const { result, events } = finished;
  const account = accountOf(finished);
  const digest = events.at(-1)?.seal;
  const next = nextCommand(account);
  return [
    "",
    ...describeNodes(account, finished.state, options),
    describeSpent(account, finished.state.entered, paint),
    ...switchesIn(account.every).map((line) => `  ${paint("yellow", "!")} ${plainLine(line)}`),
    ...(account.record.kind === "dry-run" ? [`  ${plainLine(finished.state.end?.reason ?? "")}`] : []),
    ...describeSkipped(result),
    ...describeBlocks(findings(account, isWhole), options),
    ...describeBlocks(shortfalls(account), options),
    ...describeStandings(viewReport(account), paint, isWhole ? {} : { most: MOST_PLANNED, width: options.width }),
    ...(digest === undefined ? [] : [paint("dim", `record: ${digest}`)]),
    ...(written.length > 0 ? [`written: ${written.join(", ")}`] : []),
    ...(next === undefined || next === typed ? [] : [`${paint("dim", "next:")} ${program} ${plainLine(next)}`]),
    "",
  ].join("\n");
}

/** Describes the last visit of each node, in the order of their last results. */
function describeNodes(account: Account, { results }: FinishedRun["state"], options: VerdictOptions): string[] {
  const { visits, result } = account;
  const last = new Map(visits.map((visit) => [visit.node, visit]));
  const order = [...results.keys()].slice(-MOST_NODES);
  const hidden = results.size - order.length;
  const sections = order.flatMap((node) => {
    const visit = last.get(node);
    return visit === undefined ? [] : [describeNode({ ...visit, result: result.results[node] }, account, options)];
  });
  return [
    ...(hidden > 0 ? [options.paint("dim", `(${amount(hidden, "earlier node")} not shown)`), ""] : []),
    ...sections.flatMap((lines) => (lines.length > 1 ? [...lines, ""] : lines)),
    ...(sections.at(-1)?.length === 1 ? [""] : []),
  ];
}

function describeSpent({ state, standing, result, answeredBy }: Account, entered: number, paint: Paint): string {
  const { usage, status } = result;
  const paid = usage.costUsd === null ? "cost unknown" : `$${usage.costUsd.toFixed(4)}`;
  const spent = [
    duration(usage.durationMs),
    amount(entered, "node visit"),
    amount(usage.modelCalls, "model call"),
    `${usage.inputTokens + usage.outputTokens} tokens`,
    answeredBy === undefined ? paid : paidWords(answeredBy, undefined),
  ].join(", ");
  return `${statusMark(state, paint)} ${standing === status ? "" : `${standing} · `}${paint("dim", spent)}`;
}

/** Describes the earlier run with the same key that caused this one to be skipped. */
function describeSkipped({ skipped }: FinishedRun["result"]): string[] {
  if (!skipped) return [];
  const { run, at, verdict } = skipped;
  const found = verdict === undefined ? "" : `. Verdict: ${plainLine(verdict)}`;
  const ago = ageText(Date.now() - Date.parse(at));
  return [
    `  run ${plainLine(run)} with the same key ended ${ago} ago (${plainLine(at)})${found}`,
    "  use --no-cool-down to run anyway",
  ];
}

function findings(account: Account, isWhole: boolean): Block[] {
  const { finding, failure, evidence } = account;
  const { headline, cause, isUnshown } = finding;
  const isSaid = failure !== undefined || cause === undefined;
  const isTitled = headline !== undefined && (isUnshown || !isSaid);
  const title = isTitled ? [text([isUnshown ? badge(headline, "degraded") : strong(headline)])] : [];
  const steps = nextSteps({ next: failure?.next.filter(({ command }) => command === undefined) ?? [] });
  return [
    ...(failure ? [failureSection(failure), ...list(steps)] : []),
    ...awaitedSection(account).flatMap(({ parts }) => parts),
    ...title,
    ...facts(isWhole ? findingFacts(account) : shortFacts(account)),
    ...facts(evidence.claims.length === 0 ? [] : [["Evidence", words`${evidenceTitle(evidence)}`]]),
    ...unroutedSection(account),
  ];
}

/** Lists what the run found on few lines, without the reasons of what was ruled out. Reports and `runs show` have them. */
function shortFacts({ finding }: Account): Fact[] {
  const { ruled_out } = finding;
  const facts = findingFacts({ finding: { ...finding, ruled_out: [] } });
  const excluded = ruled_out.map((one) => one.text).join("; ");
  return ruled_out.length === 0 ? facts : [...facts, ["Ruled out", words`${excluded}`]];
}

function shortfalls(account: Account): Block[] {
  const { result, nameOf } = account;
  const short = result.degraded.filter(({ skill }) => skill === undefined);
  const redacted = Object.entries(result.redactions ?? {}).map(([name, count]) => `${name} (${count})`);
  return [
    ...droppedClaims(account),
    ...list(short.map(({ node, reason }): Item => ({ words: words`${nameOf(node)}: ${reason}`, tone: "degraded" }))),
    ...failedCalls(account),
    ...(redacted.length === 0
      ? []
      : [text(words`Redacted values from the checkout's .env: ${redacted.join(", ")}`, "degraded")]),
    ...list(leftOutList(account), { title: "Skills not used" }),
  ];
}

/** Number of places of equal failed calls that are named. */
const MOST_PLACES = 3;

/** Lists the failed calls of the visits that count, except those that a degraded node already reports. Names the places in inner runs. */
function failedCalls({ every, result }: Account): Block[] {
  const reported = new Set(result.degraded.map(({ ref }) => ref));
  const failed = every.filter(isCurrent).flatMap(({ at, node, name, calls }) => {
    const place = at === undefined ? name : nodePath(at, node);
    return calls.flatMap(({ ref, tool, outcome }) => {
      const why = outcome && callFailure(outcome);
      if (why === undefined || reported.has(ref)) return [];
      return [{ place, key: JSON.stringify([name, tool, why]), words: `${tool}: ${why}` }];
    });
  });
  const items = [...groupBy(failed, ({ key }) => key).values()].map((equal): Item => {
    const places = [...new Set(equal.map(({ place }) => place))];
    const more = places.length > MOST_PLACES ? ` and ${places.length - MOST_PLACES} more` : "";
    const where = `${places.slice(0, MOST_PLACES).join(", ")}${more}`;
    return { words: words`${where}: ${equal[0]?.words ?? ""}`, tone: "failed" };
  });
  return list(items, { title: amount(failed.length, "failed call") });
}

/** Describes the open approvals or the failure, and the next command. This is all that `--quiet` prints. */
export function describeShortfall(report: Report, screen: Screen): string {
  const account = accountOf(report);
  const { failure, state } = account;
  const { paint, program } = screen;
  const mark = statusMark(state, paint);
  const [asked] = awaitedSection(account);
  const plain = { paint, program };
  if (asked) return `${[mark, ...describeBlocks(asked.parts, plain)].join("\n")}\n`;
  if (!failure) return "";
  return [
    `${mark} ${plainLine(failure.message)}`,
    ...describeBlocks(failureSection(failure).parts, plain),
    `${paint("dim", "next:")} ${program} ${plainLine(nextCommand(account) ?? "")}`,
    "",
  ].join("\n");
}

/** Describes a visit. If the workflow has a `report`, results of successful nodes are left to it and to `runs show`. */
function describeNode(visit: Visit, { record }: Account, options: VerdictOptions): string[] {
  const { paint, width, program, isWhole } = options;
  const { name, result } = visit;
  if (!result) return [];
  const evals = (result.evals ?? []).map(({ name: evaluator, pass }) =>
    pass ? paint("green", plainLine(evaluator)) : paint("red", `${plainLine(evaluator)} failed`),
  );
  const checked = evals.length > 0 ? paint("dim", " · checked: ") + evals.join(paint("dim", ", ")) : "";
  const lines = [...describeItems(visit, paint, width), ...describeData(ownData(visit), paint, width)];
  const isTold = record.workflow.report !== undefined && result.status === "success";
  const most = isWhole ? MOST_SHOWN : isTold ? 0 : MOST_LINES;
  const hidden = most === 0 ? 0 : lines.length - most;
  const rest = () => `${amount(hidden, "more line")}: ${program} ${showCommand(record, visit.node)}`;
  return [
    `${paint(...markOf(statusWord(visit)))} ${paint("bold", plainLine(name))}${checked}`,
    ...lines.slice(0, most),
    ...(hidden > 0 ? [paint("dim", `  (${plainLine(rest())})`)] : []),
  ];
}

/** Returns the data of a result, without the reason of a stop, which the run states. For a map without its items, for a call with the data of its last node. */
function ownData({ result, inner, isStopped }: Visit): JsonObject {
  const { error: _reason, ...reached } = result?.data ?? {};
  const data = isStopped ? reached : (result?.data ?? {});
  if (inner.length === 0) return data;
  const { items: _items, results: _results, left: _left, failed: _failed, ...rest } = data;
  return { ...rest, ...(inner[0]?.key === undefined ? inner[0]?.visits.at(-1)?.result?.data : {}) };
}

const MOST_ITEMS = 12;

function describeItems({ inner, left }: Visit, paint: Paint, width: number): string[] {
  if (inner.length === 0 || inner[0]?.key === undefined) return [];
  const rows = failedFirst(inner).map((run) => {
    const label = oneLine(run.key ?? "", 60);
    const gist = gistOfItem(run);
    return `  ${paint(...markOf(itemWord(run)))} ${label}${gist === "" ? "" : `: ${oneLine(gist, width - label.length - 8)}`}`;
  });
  const shown = firstOf(rows, MOST_ITEMS, (more) => paint("dim", `  (${amount(more, "more item")})`));
  return [`  ${itemCounts(inner, left)}`, ...shown];
}

const MARKS: Readonly<Record<string, readonly [Format, string]>> = {
  succeeded: ["green", "✔"],
  degraded: ["yellow", "▲"],
  failed: ["red", "✘"],
  waiting: ["yellow", "◆"],
  skipped: ["yellow", "↷"],
  queued: ["yellow", "◌"],
};

export function markOf(status: string): readonly [Format, string] {
  return MARKS[status] ?? ["yellow", "■"];
}

/** Returns the status of a run or a node with its mark, such as `✔ succeeded`. */
export function statusMark(status: string, paint: Paint): string {
  const [format, mark] = markOf(status);
  return paint("bold", paint(format, `${mark} ${status}`));
}

/** Returns the next command to suggest. None for a waiting run: its approvals list their own commands. */
function nextCommand(report: Account): string | undefined {
  const { run } = report.record;
  const { cause, node } = report.failure ?? {};
  if (cause === "in_doubt" && node !== undefined) return showCommand(report.record, node);
  if (report.result.status === "waiting") return undefined;
  const failure = report.result.error?.code;
  if (failure === undefined && openCount(viewReport(report)) > 0) return withOptions(`apply ${run}`, report);
  if (failure === undefined || failure === "run.no_work" || failure === "replay.changed")
    return showCommand(report.record);
  const isNew = report.result.error?.node === undefined;
  return failure === "skills.missing" && isNew ? doctorCommand(report.record) : resumeCommand(report);
}
