import { markdownCode, markdownLine, markdownText } from "../core/base/inert.ts";
import {
  cutText,
  formatCost,
  formatCount,
  formatDuration,
  formatTime,
  plural,
  previewJson,
  shortText,
} from "../core/base/preview.ts";
import { isObject, type Json, type JsonObject } from "../core/base/values.ts";
import { doctorCommand } from "../core/engine/result/signal-command.ts";
import { unroutedText } from "../core/engine/result/unrouted.ts";
import { type Account, accountOf, paidWords, type RunState } from "./model/account.ts";
import type { Deed } from "./model/deeds.ts";
import { itemCounts, itemWord } from "./model/items.ts";
import { countStandings, openCount, viewReport } from "./model/plan.ts";
import { endOf, leftOutSkills, type Report } from "./model/report.ts";
import { complaintOf, durationOf, statusOf, type Visit, type VisitStatus } from "./model/visit.ts";
import { conclusionsOf } from "./model/visits.ts";
import { planSection } from "./plan-markdown.ts";

/** Summarizes a run: findings and actions first, then missing skills, nodes and next steps. */
export function summaryMarkdown(report: Report): string {
  const account = accountOf(report);
  const sections = [
    heading(account),
    awaited(account),
    found(account),
    deeds(account),
    claims(account),
    leftOut(report),
    findings(account.visits),
    nodes(account.visits),
    plan(report),
    nextSteps(account),
    facts(account),
  ];
  return `${sections.filter((section) => section !== "").join("\n\n")}\n`;
}

const MOST_ROWS = 100;
const MARKS: Readonly<Record<RunState, string>> = {
  succeeded: "✅",
  degraded: "▲",
  failed: "❌",
  stopped: "🛑",
  interrupted: "⏸️",
  waiting: "◆",
  skipped: "⏭️",
  running: "⏳",
};
const NODE_MARKS: Readonly<Record<VisitStatus, string>> = {
  success: "✅\u00a0succeeded",
  degraded: "▲\u00a0degraded",
  failed: "❌\u00a0failed",
  skipped: "⏭️\u00a0skipped",
  active: "⏳\u00a0running",
  stopped: "⏸️\u00a0stopped",
};

function heading(account: Account): string {
  const { record, result, state, failure, standing, finding } = account;
  const node = failure?.node === undefined ? "" : ` at ${code(failure.node)}`;
  const title = `## ${MARKS[state]} ${line(record.workflow.name, 160)}: ${state}${node}`;
  const verdict = finding.verdict === undefined ? "" : `**Verdict:** ${line(finding.verdict, 200)}`;
  const went = state === "degraded" ? `Run: ${standing}` : "";
  const hint = failure?.hint === undefined ? "" : paragraph(failure.hint, 600);
  const what = failure
    ? paragraph(failure.headline, 1500)
    : finding.headline === undefined
      ? paragraph(endOf({ ...account, result })?.reason ?? "", 1500)
      : "";
  const { unrouted } = result;
  const stuck =
    unrouted === undefined
      ? ""
      : [
          `**▲ ${line(`The run ${unroutedText(account.nameOf(unrouted.node), unrouted.edges.length)}`, 300)}**`,
          ...unrouted.edges.slice(0, MOST_DEEDS).map(({ to, reason }) => `- to ${code(to)}: ${line(reason, 300)}`),
        ].join("\n");
  const then = failure?.end === undefined ? "" : `Then: ${line(failure.end, 600)}`;
  return [title, verdict, went, what, hint, then, stuck].filter((part) => part !== "").join("\n\n");
}

/** Lists pending approvals with the commands that answer them. */
function awaited({ awaited: all }: Account): string {
  if (all.length === 0) return "";
  const rows = all.slice(0, MOST_DEEDS).map(({ name, node, ask, until, approve, deny }) => {
    const late = until === undefined ? "" : ` until ${formatTime(until)}`;
    const answers = `  - yes: ${code(`skillflow ${approve}`)}\n  - no: ${code(`skillflow ${deny}`)}`;
    return `- **${line(name, 160)}** (${code(node)}${late}): ${paragraph(ask, 1500)}\n${answers}`;
  });
  return ["### Waits for a person's word", [...rows, ...more(all.length, MOST_DEEDS)].join("\n")].join("\n\n");
}

function found({ finding }: Account): string {
  const { headline, severity, impact, cause, action } = finding;
  const where = cause && [
    cause.file === undefined ? "" : code(`${cause.file}${cause.line === undefined ? "" : `:${cause.line}`}`),
    cause.commit === undefined ? "" : code(cause.commit),
  ];
  const rows = [
    severity === undefined ? "" : `- **Severity:** ${line(severity, 200)}`,
    impact === undefined ? "" : `- **Impact:** ${line(impact, 1500)}`,
    cause === undefined
      ? ""
      : `- **Cause:** ${[line(cause.text, 1500), ...(where ?? [])].filter((part) => part !== "").join(" · ")}`,
    cause?.confidence === undefined ? "" : `- **Confidence:** ${line(cause.confidence, 200)}`,
    action === undefined ? "" : `- **First step:** ${line(action, 1500)}`,
  ].filter((row) => row !== "");
  const lead = headline === undefined ? "" : `**${line(headline, 500)}**`;
  return [lead, rows.join("\n")].filter((part) => part !== "").join("\n\n");
}

function deeds({ deeds: { done, waiting, undone } }: Account): string {
  const row = (word: string) => (deed: Deed) => {
    const link = deed.link === undefined ? "" : ` ${code(deed.link)}`;
    const why = deed.why === undefined ? "" : ` — ${line(deed.why, 400)}`;
    return `- ${word}: ${line(deed.text, 200)}${link}${why}`;
  };
  const rows = [...done.map(row("Done")), ...waiting.map(row("Waits for you")), ...undone.map(row("Not done"))];
  if (rows.length === 0) return "";
  return [
    "### What was done, and what was not",
    [...rows.slice(0, MOST_DEEDS), ...more(rows.length, MOST_DEEDS)].join("\n"),
  ].join("\n\n");
}

const MOST_DEEDS = 30;

function claims({ evidence, result }: Account): string {
  const { claims: all, supported } = evidence;
  if (all.length === 0) return "";
  const dropped = (result.evidence?.dropped_claims ?? []).map(({ claim, reason }) => {
    return `- Dropped: ${line(claim, 600)} — ${line(reason, 400)}`;
  });
  const cited = all.flatMap(({ supported: holds, text, cites }) => {
    if (!holds) return [];
    const refs = [...new Set(cites.flatMap(({ ref, problem }) => (problem === undefined ? [ref] : [])))];
    return [`- ${line(text, 600)} — ${refs.map((ref) => code(ref)).join(", ")}`];
  });
  const title = `### Evidence: ${formatCount(supported)} of ${plural(all.length, "claim")} supported`;
  return [title, [...cited.slice(0, MOST_ROWS), ...more(cited.length), ...dropped].join("\n")]
    .filter((part) => part !== "")
    .join("\n\n");
}

function leftOut({ result, record }: Report): string {
  const missing = leftOutSkills(result);
  if (missing.length === 0) return "";
  const rows = missing.slice(0, MOST_ROWS).map(({ skill, reason, nodes }) => {
    const names = nodes.map((node) => record.workflow.nodes[node]?.name ?? node).join(", ");
    return `- ${code(skill)}: ${line(reason, 300)} (${line(names, 200)})`;
  });
  return [
    "### ⚠️ Left out",
    "The run went on without these skills:",
    [...rows, ...more(missing.length)].join("\n"),
  ].join("\n\n");
}

function findings(visits: readonly Visit[]): string {
  const sections = conclusionsOf(visits).map(
    (visit) =>
      `### ${line(visit.name, 160)}\n\n${visit.inner.length > 0 ? inside(visit) : members(visit.result?.data ?? {})}`,
  );
  return sections.join("\n\n");
}

/** Shows the result of a called workflow, or a map's items with failed ones first. */
function inside({ inner, left }: Visit): string {
  const [first] = inner;
  if (first && first.key === undefined) return members(first.visits.at(-1)?.result?.data ?? {});
  const ordered = [
    ...inner.filter(({ status }) => status === "failed"),
    ...inner.filter(({ status }) => status !== "failed"),
  ];
  const rows = ordered.slice(0, MOST_ITEMS).map((run) => {
    const { key = "", verdict, complaint, visits } = run;
    const gist = complaint || verdict || previewJson(visits.at(-1)?.result?.data ?? null, 160).replace(/\s+/g, " ");
    return `- ${code(key)} ${itemWord(run)}${gist === "null" ? "" : `: ${line(gist, 240)}`}`;
  });
  return [`${line(itemCounts(inner, left), 300)}`, [...rows, ...more(ordered.length, MOST_ITEMS)].join("\n")].join(
    "\n\n",
  );
}

const MOST_ITEMS = 30;

function members(data: JsonObject): string {
  const entries = Object.entries(data).slice(0, 30);
  return entries.map(([key, value]) => `**${label(key)}**${member(value)}`).join("\n\n");
}

function member(value: Json): string {
  if (!Array.isArray(value) || value.length === 0) return ` ${item(value)}`;
  const rows = value.slice(0, 30).map((entry) => `- ${item(entry)}`);
  return `\n\n${[...rows, ...more(value.length, 30)].join("\n")}`;
}

function item(value: Json): string {
  if (Array.isArray(value)) return value.length === 0 ? "none" : inline(value);
  return isObject(value) ? brief(value as JsonObject) : scalar(value);
}

/** Shows a claim with its evidence after a dash, and other objects as `key: value`. */
function brief(value: JsonObject): string {
  const { claim, evidence, ...rest } = value;
  if (typeof claim !== "string") return pairs(value);
  const sources = Array.isArray(evidence) ? evidence : evidence === undefined ? [] : [evidence];
  const cited = sources.length === 0 ? "**no evidence**" : sources.slice(0, 12).map(inline).join("; ");
  return [line(claim, 600), cited, pairs(rest)].filter((part) => part !== "").join(" — ");
}

function pairs(value: JsonObject): string {
  const entries = Object.entries(value).slice(0, 12);
  return entries.map(([key, part]) => `${label(key)}: ${inline(part)}`).join("; ");
}

function label(key: string): string {
  return line(key.replaceAll("_", " "), 80);
}

function inline(value: Json): string {
  if (value === null || typeof value !== "object") return scalar(value);
  if (isObject(value) && Object.values(value).every((part) => typeof part !== "object"))
    return pairs(value as JsonObject);
  return code(previewJson(value, 240).replace(/\s+/g, " "));
}

function scalar(value: Json): string {
  if (typeof value === "string") return value.trim() === "" ? "none" : paragraph(value, 1200);
  return value === null ? "none" : typeof value === "boolean" ? (value ? "yes" : "no") : line(String(value), 40);
}

function nodes(visits: readonly Visit[]): string {
  if (visits.length === 0) return "";
  const told = visits.flatMap(withInside);
  const rows = told.slice(0, MOST_ROWS).map((visit) => {
    const again = visit.iteration > 1 ? ` (visit ${visit.iteration})` : "";
    const key = visit.at === undefined ? "" : `${code(visit.at)} `;
    const isWaiting = visit.asked !== undefined && !visit.word && statusOf(visit) === "active";
    const cells = [
      `${key}${line(visit.name, 100)}${again}`,
      isWaiting ? "◆\u00a0waiting" : NODE_MARKS[statusOf(visit)],
      calls(visit),
      checks(visit),
      formatDuration(durationOf(visit)).replaceAll(" ", "\u00a0"),
      note(visit),
    ];
    return `| ${visit.anchor.replace("visit-", "").replaceAll("-", ".")} | ${cells.join(" | ")} |`;
  });
  const left = told.length - rows.length;
  const rest = left > 0 ? [`\n…and ${plural(left, "more visit")}, see the report.`] : [];
  return [
    "### Nodes",
    "",
    "| # | Node | Outcome | Calls | Evals | Time | |",
    "|--:|---|---|--:|---|--:|---|",
    ...rows,
    ...rest,
  ].join("\n");
}

/** Returns the visit, the visits of the workflow it called, and failed visits of map items. */
function withInside(visit: Visit): Visit[] {
  const { inner } = visit;
  const called = inner.filter(({ key }) => key === undefined).flatMap(({ visits }) => visits.flatMap(withInside));
  const failed = inner.filter(({ key, status }) => key !== undefined && status === "failed");
  const blamed = failed
    .slice(0, MOST_ITEMS)
    .flatMap(({ visits }) => visits.filter((each) => statusOf(each) === "failed"));
  return [visit, ...called, ...blamed];
}

function calls({ calls }: Visit): string {
  const failed = calls.filter((call) => call.outcome && "error" in call.outcome).length;
  if (calls.length === 0) return "";
  return failed === 0 ? formatCount(calls.length) : `${formatCount(calls.length)} (${formatCount(failed)} failed)`;
}

function checks({ result, retries }: Visit): string {
  const evals = result?.evals ?? [];
  const passed = evals.filter((check) => check.pass).length;
  const tries = retries.length > 0 ? `after ${retries.length} ${retries.length === 1 ? "retry" : "retries"}` : "";
  return [evals.length > 0 ? `${passed}/${evals.length} passed` : "", tries].filter((part) => part !== "").join(" ");
}

function note({ result, route, degraded, inner, left, word }: Visit): string {
  const complaint = complaintOf(result);
  if (complaint !== "") return line(complaint, 240);
  if (word)
    return line(
      `${word.approved ? "approved" : "denied"} by ${word.by}${word.note === undefined ? "" : `: ${word.note}`}`,
      240,
    );
  if (degraded.length === 0 && inner.some(({ key }) => key !== undefined)) return line(itemCounts(inner, left), 240);
  if (degraded.length > 0) return line(degraded.join("; "), 240);
  return route && route.reason !== "only path" ? `→ ${line(route.reason, 160)}` : "";
}

function plan(report: Report): string {
  const planned = viewReport(report);
  if (planned.operations.length === 0) return "";
  const title = `## Planned: ${plural(planned.operations.length, "write")}, ${countStandings(planned)}`;
  return `${title}\n\n${planSection(planned, MOST_PLAN)}`;
}

const MOST_PLAN = 30_000;

function nextSteps(account: Account): string {
  const { result, record, failure } = account;
  const { run, status, degraded } = result;
  const isToApply = openCount(viewReport(account)) > 0;
  const steps = [
    isToApply && status === "succeeded" ? `Review and apply what it planned: ${code(`skillflow apply ${run}`)}` : "",
    ...(failure?.next ?? []).map(({ text, command }) => {
      return command === undefined ? sentence(text) : `${sentence(text)}: ${code(`skillflow ${command}`)}`;
    }),
    degraded.some(({ skill }) => skill !== undefined)
      ? `See what the missing skills need: ${code(`skillflow ${doctorCommand(record)}`)}`
      : "",
    `Read the run: ${code(`skillflow runs show ${run}`)}`,
  ];
  return `### Next\n\n${steps
    .filter((step) => step !== "")
    .map((step) => `- ${step}`)
    .join("\n")}`;
}

function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function facts({ result, record, answeredBy, recordingCost }: Account): string {
  const { usage, run, exitCode } = result;
  const tokens = `${formatCount(usage.inputTokens)} tokens in, ${formatCount(usage.outputTokens)} out`;
  const told = [
    `run ${code(run)}`,
    `exit ${exitCode}`,
    plural(usage.modelCalls, "model call"),
    tokens,
    answeredBy === undefined ? `cost ${costOf(usage.costUsd)}` : paidWords(answeredBy, recordingCost),
    formatDuration(usage.durationMs),
    line(record.settings.model, 120),
  ];
  return `---\n\n${told.join(" · ")}`;
}

function costOf(usd: number | null): string {
  return usd === null ? "unknown" : code(formatCost(usd));
}

function more(count: number, shown = MOST_ROWS): string[] {
  return count > shown ? [`- …and ${formatCount(count - shown)} more`] : [];
}

function line(text: string, most: number): string {
  return markdownLine(shortText(text, most));
}

function paragraph(text: string, most: number): string {
  return markdownText(cutText(text, most));
}

function code(text: string): string {
  return markdownCode(shortText(text, 240));
}
