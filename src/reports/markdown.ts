import { formatCost, formatCount, formatDuration, plural, previewJson, shortText } from "../core/base/preview.ts";
import { isObject, type Json, type JsonObject } from "../core/base/values.ts";
import { modelText } from "../core/document/model-list.ts";
import { holds } from "../core/engine/finding/claims.ts";
import { doctorCommand, showCommand } from "../core/engine/result/commands.ts";
import { markdownOf } from "./markdown-writer.ts";
import { type Account, accountOf, paidWords, type RunState } from "./model/account.ts";
import { failedFirst, gistOfItem, itemCounts, itemWord } from "./model/items.ts";
import { countStandings, openCount, viewReport } from "./model/plan.ts";
import { endOf, type Report } from "./model/report.ts";
import {
  awaitedSection,
  claimWords,
  deedLists,
  droppedClaims,
  evidenceTitle,
  failureSection,
  findingFacts,
  leftOutList,
  nextSteps,
  unroutedSection,
} from "./model/tree/run.ts";
import {
  type Block,
  code,
  command,
  facts,
  type Item,
  joinWords,
  list,
  section,
  span,
  strong,
  text,
  type Words,
  words,
} from "./model/tree/tree.ts";
import { complaintOf, durationOf, statusOf, statusWord, switchesIn, type Visit } from "./model/visit.ts";
import { conclusionsOf } from "./model/visits.ts";
import { answerText } from "./model/waiting.ts";
import { planSection } from "./plan-markdown.ts";

/** Summarizes a run: findings and actions first, then missing skills, nodes and next steps. */
export function summaryMarkdown(report: Report): string {
  const account = accountOf(report);
  const { finding, failure, evidence } = account;
  const lead = finding.headline === undefined ? [] : [text([strong(finding.headline)])];
  const parts = [
    heading(account),
    markdownOf([
      ...(failure ? [failureSection(failure)] : []),
      ...unroutedSection(account),
      ...awaitedSection(account),
      ...lead,
      ...facts(findingFacts(account)),
      ...titled("What was done, and what was not", deedLists(account.deeds)),
      ...titled(`Evidence: ${evidenceTitle(evidence)}`, [...claimRows(evidence), ...droppedClaims(account)]),
      ...titled("⚠️ Left out", list(leftOutList(account))),
      ...findings(account.visits),
      ...nodes(account.visits),
    ]),
    plan(report),
    markdownOf(titled("Next", list(next(account)))),
    spent(account),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

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
function titled(title: string, parts: readonly Block[]): Block[] {
  return parts.length === 0 ? [] : [section([span("own", title)], parts)];
}

function heading(account: Account): string {
  const { record, state, failure, standing, finding } = account;
  const node = failure?.node === undefined ? [] : words` at ${code(failure.node)}`;
  const title = words`${span("own", MARKS[state])} ${shortText(record.workflow.name, 160)}: ${state}${node}`;
  const reason = failure || finding.headline !== undefined ? undefined : endOf(account)?.reason;
  const about = [
    ...(state === "degraded" ? [text(words`Run: ${standing}`)] : []),
    ...(reason === undefined ? [] : [text([span("verse", reason)])]),
  ];
  return markdownOf([section(title, []), ...about], 2);
}

/** Claims that hold, with the references of the results that contain their quotes. */
function claimRows({ claims }: Account["evidence"]): Block[] {
  const rows = claims.filter(holds).map((claim) => {
    const refs = new Set(claim.cites.flatMap(({ ref, problem }) => (problem === undefined ? [ref] : [])));
    const spans = [...refs].map((ref) => [span("ref", ref)]);
    return { words: claimWords(claim), why: joinWords(spans, ", ") };
  });
  return list(rows);
}

function findings(visits: readonly Visit[]): Block[] {
  return conclusionsOf(visits).map((visit) => {
    return section(words`${visit.name}`, visit.inner.length > 0 ? inside(visit) : members(visit.result?.data ?? {}));
  });
}

/** Shows the result of a called workflow, or a map's items with failed ones first. */
function inside({ inner, left }: Visit): Block[] {
  const [first] = inner;
  if (first && first.key === undefined) return members(first.visits.at(-1)?.result?.data ?? {});
  const items = failedFirst(inner).map((run) => {
    const gist = gistOfItem(run);
    const told = gist === "" ? [] : words`: ${shortText(gist, 240)}`;
    return { words: words`${code(run.key ?? "")} ${itemWord(run)}${told}` };
  });
  return [text(words`${itemCounts(inner, left)}`), ...list(items)];
}

const MOST_ITEMS = 30;

function members(data: JsonObject): Block[] {
  return Object.entries(data)
    .slice(0, MOST_ITEMS)
    .flatMap(([key, value]): Block[] => {
      const name = strong(label(key));
      if (!Array.isArray(value) || value.length === 0) return [text(words`${name} ${valueWords(value)}`)];
      return [text([name]), ...list(value.map((entry: Json) => ({ words: valueWords(entry) })))];
    });
}

/** Shows a claim with its evidence after a dash, and other objects as `key: value`. */
function valueWords(value: Json): Words {
  if (value === null || value === "" || (Array.isArray(value) && value.length === 0)) return words`none`;
  if (typeof value === "boolean") return value ? words`yes` : words`no`;
  if (typeof value !== "object") return [span("verse", String(value))];
  if (Array.isArray(value) || Object.values(value).length > 12) return [code(inlineJson(value))];
  const { claim, evidence, ...rest } = value as JsonObject;
  if (typeof claim !== "string") return pairs(value as JsonObject);
  const sources = Array.isArray(evidence) ? evidence : evidence === undefined ? [] : [evidence];
  const cited = sources.length === 0 ? words`**no evidence**` : joinWords(sources.slice(0, 12).map(inlineWords), "; ");
  const others = Object.keys(rest).length === 0 ? [] : words` — ${pairs(rest)}`;
  return words`${claim} — ${cited}${others}`;
}

function pairs(value: JsonObject): Words {
  const rows = Object.entries(value).map(([key, part]) => words`${label(key)}: ${inlineWords(part)}`);
  return joinWords(rows, "; ");
}

function inlineWords(value: Json): Words {
  const { ref, quote } = isObject(value) ? (value as JsonObject) : {};
  const isCite =
    isObject(value) && Object.keys(value).length === 2 && typeof ref === "string" && typeof quote === "string";
  if (isCite) return words`${span("ref", ref)} ${span("quote", quote)}`;
  if (typeof value !== "object" || value === null) return valueWords(value);
  const isFlat = isObject(value) && Object.values(value).every((part) => typeof part !== "object");
  return isFlat ? pairs(value as JsonObject) : [code(inlineJson(value))];
}

const label = (key: string) => key.replaceAll("_", " ");
const inlineJson = (value: Json) => previewJson(value, 240).replace(/\s+/g, " ");

function nodes(visits: readonly Visit[]): Block[] {
  if (visits.length === 0) return [];
  const rows = visits.flatMap(withInside).map((visit) => {
    const again = visit.iteration > 1 ? words` (visit ${visit.iteration})` : [];
    const key = visit.at === undefined ? [] : words`${code(visit.at)} `;
    const status = statusWord(visit);
    return [
      words`${visit.anchor.replace("visit-", "").replaceAll("-", ".")}`,
      words`${key}${shortText(visit.name, 100)}${again}`,
      [span("own", `${MARKS[status]}\u00a0${status}`)],
      words`${calls(visit)}`,
      words`${checks(visit)}`,
      [span("own", formatDuration(durationOf(visit)).replaceAll(" ", "\u00a0"))],
      note(visit),
    ];
  });
  const columns = ["#", "Node", "Outcome", "Calls", "Evals", "Time", "Note"];
  return titled("Nodes", [{ kind: "table", columns, rows }]);
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

function note({ result, route, degraded, inner, left, word, isTakenBack }: Visit): Words {
  if (isTakenBack) return words`taken back by \`resume --from\``;
  const complaint = complaintOf(result);
  if (complaint !== "") return words`${complaint}`;
  if (word) return words`${answerText(word)}`;
  if (degraded.length > 0) return words`${degraded.join("; ")}`;
  if (inner.some(({ key }) => key !== undefined)) return words`${itemCounts(inner, left)}`;
  return route && route.reason !== "only path" ? words`→ ${shortText(route.reason, 160)}` : [];
}

function plan(report: Report): string {
  const planned = viewReport(report);
  if (planned.operations.length === 0) return "";
  const title = `## Planned: ${plural(planned.operations.length, "write")}, ${countStandings(planned)}`;
  return `${title}\n\n${planSection(planned, MOST_PLAN)}`;
}

const MOST_PLAN = 30_000;

function next(account: Account): Item[] {
  const { result, record, failure } = account;
  const { run, status, degraded } = result;
  const isToApply = openCount(viewReport(account)) > 0 && status === "succeeded";
  const lacksSkills = degraded.some(({ skill }) => skill !== undefined);
  return [
    ...(isToApply ? [{ words: words`Review and apply what it planned: ${command(`apply ${run}`)}` }] : []),
    ...nextSteps({ next: failure?.next ?? [] }),
    ...(lacksSkills ? [{ words: words`See what the missing skills need: ${command(doctorCommand(record))}` }] : []),
    { words: words`Read the run: ${command(showCommand(record))}` },
  ];
}

function spent({ result, record, answeredBy, recordingCost, every }: Account): string {
  const { usage, run, exitCode } = result;
  const cost = answeredBy === undefined ? `cost ${formatCost(usage.costUsd)}` : paidWords(answeredBy, recordingCost);
  const footer = joinWords([
    words`run ${code(run)}`,
    words`exit ${exitCode}`,
    words`${plural(usage.modelCalls, "model call")}`,
    words`${formatCount(usage.inputTokens)} tokens in, ${formatCount(usage.outputTokens)} out`,
    words`${cost}`,
    words`${formatDuration(usage.durationMs)}`,
    words`${shortText(modelText(record.settings.model), 120)}`,
  ]);
  const rows = switchesIn(every).map((each) => ({ words: words`${each}` }));
  return `---\n\n${markdownOf([text(footer), ...list(rows)])}`;
}
