import { markdownCode, markdownLine, markdownText } from "../core/base/inert.ts";
import { cutText, formatCost, formatDuration, formatTime, plural, shortText } from "../core/base/preview.ts";
import { isObject, type Json, type JsonObject } from "../core/base/values.ts";
import { unroutedText } from "../core/engine/result/unrouted.ts";
import { type Account, accountOf, paidWords } from "./model/account.ts";
import type { Report } from "./model/report.ts";
import { durationOf, statusOf, type Visit } from "./model/visit.ts";

/** Drafts a blameless post-mortem from the record of a run. Contains nothing that is not in the record. */
export function postmortemMarkdown(report: Report): string {
  const account = accountOf(report);
  const sections = [
    `# Post-mortem: ${line(account.headline, 240)}`,
    about(account),
    titled("Summary", summary(account)),
    titled("Impact", impact(account)),
    titled("Timeline (UTC)", timeline(account)),
    titled("Root cause", cause(account)),
    titled("What went well", bullets(well(account))),
    titled("What went badly", bullets(badly(account))),
    titled("Action items", actions(account)),
    titled("Evidence", evidence(account)),
  ];
  return `${sections.join("\n\n")}\n`;
}

const UNKNOWN = "_The record does not say._";

function titled(title: string, body: string): string {
  return `## ${title}\n\n${body === "" ? UNKNOWN : body}`;
}

function bullets(items: readonly string[]): string {
  return items.map((item) => `- ${item}`).join("\n");
}

function about({ record, result, standing, finding }: Account): string {
  const facts = [
    ["Severity", finding.severity === undefined ? UNKNOWN : line(finding.severity, 200)],
    ["Verdict", finding.verdict === undefined ? UNKNOWN : line(finding.verdict, 200)],
    [
      "Investigated",
      `${formatTime(record.at)}, by ${line(record.workflow.name, 160)}, run ${code(result.run)}: ${standing}`,
    ],
    ["Status", "draft; written from the run's record, without blame, for people to complete"],
  ];
  return facts.map(([term, fact]) => `- **${term}:** ${fact}`).join("\n");
}

function summary({ finding, failure }: Account): string {
  const told = [
    finding.headline === undefined ? "" : paragraph(finding.headline),
    finding.cause === undefined ? "" : paragraph(finding.cause.text),
    failure === undefined ? "" : `The investigation itself did not end well: ${line(failure.headline, 600)}`,
  ];
  return told.filter((part) => part !== "").join("\n\n");
}

function impact({ finding }: Account): string {
  return finding.impact === undefined ? "" : paragraph(finding.impact);
}

interface Moment {
  /** Milliseconds since 1970. Undefined if the text contains no time. */
  readonly time: number | undefined;
  readonly at: string;
  readonly what: string;
}

/** Combines the timelines in results with the times in quotes of claims. */
function timeline({ visits, evidence: { claims } }: Account): string {
  const told = lastVisits(visits).flatMap(({ result }) => Object.values(result?.data ?? {}).flatMap(momentsIn));
  const quoted = claims.flatMap(({ text, supported, cites }) => {
    const cite = supported ? cites.find(({ quote, problem }) => problem === undefined && ISO.test(quote)) : undefined;
    const at = cite && ISO.exec(cite.quote)?.[0];
    return at === undefined || cite === undefined ? [] : [momentAt(at, `${text} (${cite.ref})`)];
  });
  const known = new Map([...told, ...quoted].map((moment) => [`${moment.at} ${moment.what}`, moment]));
  const moments = [...known.values()].sort((a, b) => (a.time ?? Infinity) - (b.time ?? Infinity));
  if (moments.length === 0) return "";
  const rows = moments.map(({ at, what }) => `| ${line(at, 60)} | ${line(what, 600)} |`);
  return ["| When | What |", "|---|---|", ...rows].join("\n");
}

const ISO = /\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)/;

function momentsIn(value: Json): Moment[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: Json): Moment[] => {
    if (!isObject(item)) return [];
    const members = item as JsonObject;
    const at = textOf(members, ["at", "time", "when", "timestamp"]);
    const what = textOf(members, ["what", "event", "summary", "text", "description"]);
    return at === undefined || what === undefined ? [] : [momentAt(at, what)];
  });
}

function textOf(members: JsonObject, names: readonly string[]): string | undefined {
  const value = names.map((name) => members[name]).find((each) => typeof each === "string" && each !== "");
  return typeof value === "string" ? value : undefined;
}

function momentAt(text: string, what: string): Moment {
  const time = ISO.test(text) ? Date.parse(ISO.exec(text)?.[0] ?? "") : Number.NaN;
  return Number.isNaN(time)
    ? { time: undefined, at: text, what }
    : { time, at: formatTime(new Date(time).toISOString()), what };
}

function cause({ finding }: Account): string {
  const found = finding.cause;
  if (!found) return "";
  const where = [
    found.file === undefined
      ? ""
      : `- Where: ${code(`${found.file}${found.line === undefined ? "" : `:${found.line}`}`)}`,
    found.commit === undefined ? "" : `- Commit: ${code(found.commit)}`,
    found.confidence === undefined ? "" : `- Confidence: ${line(found.confidence, 200)}`,
  ].filter((part) => part !== "");
  return [paragraph(found.text), where.join("\n")].filter((part) => part !== "").join("\n\n");
}

function well({ evidence: { claims, supported }, visits, result, deeds }: Account): string[] {
  const evals = lastVisits(visits).flatMap((visit) => visit.result?.evals ?? []);
  const passed = evals.filter(({ pass }) => pass).length;
  return [
    ...(result.status === "succeeded"
      ? [`The investigation came to its end within ${formatDuration(result.usage.durationMs)}.`]
      : []),
    ...(claims.length > 0 ? [`${supported} of ${plural(claims.length, "claim")} are shown by quoted results.`] : []),
    ...(evals.length > 0 ? [`${passed} of ${plural(evals.length, "eval")} passed.`] : []),
    ...deeds.done.map(({ text }) => `Done: ${line(text, 300)}`),
  ];
}

function badly({ every, visits, evidence: { claims, supported }, failure, result }: Account): string[] {
  const retried = every.filter(({ retries }) => retries.length > 0);
  const lost = claims.length - supported;
  const gaps = lastVisits(visits).flatMap(({ result: came }) => {
    return ["gaps", "missing_evidence"].flatMap((name) => {
      const list = came?.data[name];
      return Array.isArray(list) ? list.filter((item): item is string => typeof item === "string") : [];
    });
  });
  return [
    ...(failure
      ? [`${line(failure.headline, 600)}${failure.end === undefined ? "" : `; then ${line(failure.end, 400)}`}`]
      : []),
    ...result.degraded.map(
      ({ node, skill, reason }) =>
        `${code(node)} ${skill === undefined ? "was degraded" : `had no ${code(skill)}`}: ${line(reason, 300)}`,
    ),
    ...(result.unrouted
      ? [`The run ${line(unroutedText(result.unrouted.node, result.unrouted.edges.length), 300)}.`]
      : []),
    ...visits.filter((visit) => statusOf(visit) === "skipped").map(({ name }) => `${line(name, 160)} was skipped.`),
    ...(lost > 0 ? [`${plural(lost, "claim")} had no support.`] : []),
    ...(result.evidence?.dropped_claims ?? []).map(
      ({ claim, reason }) => `Dropped: ${line(claim, 300)} — ${line(reason, 300)}`,
    ),
    ...retried.map(({ name, retries }) => `${line(name, 160)} needed ${plural(retries.length + 1, "attempt")}.`),
    ...[...new Set(gaps)].map((gap) => `Not known: ${line(gap, 400)}`),
  ];
}

function actions({ finding, deeds, awaited, result, failure }: Account): string {
  const items = [
    ...(finding.action === undefined ? [] : [line(finding.action, 600)]),
    ...awaited.map(
      ({ name, ask, approve }) => `Answer ${line(name, 160)}: ${line(ask, 300)} (${code(`skillflow ${approve}`)})`,
    ),
    ...deeds.waiting.map(
      ({ text, at }) =>
        `Review ${at === undefined ? "" : code(at)}: ${line(text, 300)} (${code(`skillflow apply ${result.run}`)})`,
    ),
    ...deeds.undone.map(
      ({ text, why }) => `Decide: ${line(text, 300)}${why === undefined ? "" : ` — ${line(why, 300)}`}`,
    ),
    ...(failure?.next ?? []).map(
      ({ text, command }) => `${line(text, 200)}${command === undefined ? "" : `: ${code(`skillflow ${command}`)}`}`,
    ),
  ];
  return items.map((item) => `- [ ] ${item}`).join("\n");
}

function evidence({ evidence: { claims }, visits, every, result, record, answeredBy, recordingCost }: Account): string {
  const tools = new Map(every.flatMap(({ calls, name }) => calls.map(({ ref, tool }) => [ref, `${tool} in ${name}`])));
  const rows = claims.flatMap(({ text, supported, cites }) => {
    if (!supported) return [];
    const shown = cites.flatMap(({ ref, quote, problem }) => {
      return problem === undefined
        ? [`  - ${code(ref)} (${line(tools.get(ref) ?? "", 160)}): ${code(shortText(quote, 240))}`]
        : [];
    });
    return [[`- ${line(text, 600)}`, ...shown].join("\n")];
  });
  const page = `Each reference is a place of the run's page: ${code(`skillflow report ${result.run} --report html=report.html`)}, then ${code("report.html#r1")}.`;
  const paid =
    answeredBy === undefined ? `cost ${formatCost(result.usage.costUsd)}` : paidWords(answeredBy, recordingCost);
  const facts = `Run ${code(result.run)} of ${code(record.workflow.id)}, ${plural(every.length, "visit")}, ${formatDuration(visits.reduce((sum, visit) => sum + durationOf(visit), 0))} of work, ${paid}.`;
  return [...(rows.length === 0 ? [] : [rows.join("\n")]), page, facts].join("\n\n");
}

function lastVisits(visits: readonly Visit[]): Visit[] {
  return [...new Map(visits.map((visit) => [visit.node, visit])).values()];
}

function line(text: string, most: number): string {
  return markdownLine(shortText(text, most));
}

function paragraph(text: string): string {
  return markdownText(cutText(text, 3000));
}

function code(text: string): string {
  return markdownCode(shortText(text, 240));
}
