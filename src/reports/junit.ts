import { xmlText } from "../core/base/inert.ts";
import { cutText } from "../core/base/preview.ts";
import { nodePath, placeOf } from "../core/document/inner/place.ts";
import { modelText } from "../core/document/model-list.ts";
import { stateOf as foldedState } from "../core/engine/fold/fold.ts";
import { judgeRecheck } from "../core/engine/recheck/answer.ts";
import { stateOf } from "./model/account.ts";
import { itemWord } from "./model/items.ts";
import type { Report } from "./model/report.ts";
import { complaintOf, durationOf, type InnerRun, statusOf, switchesIn, type Visit } from "./model/visit.ts";
import { isCurrent, visitsOf } from "./model/visits.ts";

interface Case {
  readonly name: string;
  readonly ms: number;
  /** Undefined if the case passed. */
  readonly outcome?: Outcome | undefined;
  readonly output?: readonly string[];
}

interface Outcome {
  readonly kind: "failure" | "error" | "skipped";
  readonly message: string;
  readonly type?: string;
  readonly text?: string;
}

/** Creates JUnit XML with one suite, a case for each visit that counts and rechecked claim, and one for an error outside of the nodes. */
export function junitXml(report: Report): string {
  const { record, result } = report;
  const visits = visitsOf(report).visits.filter(isCurrent).flatMap(casesOf);
  const inside = [...visits, ...(record.kind === "recheck" ? claimCases(report) : [])];
  const isTold = inside.some(({ outcome }) => outcome && outcome.kind !== "skipped");
  const cases = [...inside, ...outsideCases(report, isTold)];
  const count = (kind: Outcome["kind"]) => cases.filter(({ outcome }) => outcome?.kind === kind).length;
  const counts = {
    tests: cases.length,
    failures: count("failure"),
    errors: count("error"),
    skipped: count("skipped"),
    time: seconds(result.usage.durationMs),
  };
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites${attributes({ name: "skillflow", ...counts })}>`,
    `  <testsuite${attributes({ name: record.workflow.id, ...counts, timestamp: record.at })}>`,
    ...properties(report),
    ...cases.flatMap((each) => caseXml(record.workflow.id, each)),
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

function caseXml(classname: string, { name, ms, outcome, output = [] }: Case): string[] {
  return [
    `    <testcase${attributes({ name, classname, time: seconds(ms) })}>`,
    ...(outcome ? [outcomeXml(outcome)] : []),
    ...(output.length === 0 ? [] : [`      <system-out>${longText(output.join("\n"))}</system-out>`]),
    "    </testcase>",
  ];
}

function outcomeXml({ kind, text, ...about }: Outcome): string {
  const open = `      <${kind}${attributes(about)}`;
  return text === undefined ? `${open}/>` : `${open}>${longText(text)}</${kind}>`;
}

const LONGEST = 4000;
const longText = (text: string) => xmlText(cutText(text, LONGEST));

/** Returns a case for each visit, for each item of its map and for each visit of a called workflow. */
function casesOf(visit: Visit): Case[] {
  const inside = visit.inner.flatMap((run) =>
    run.key === undefined ? run.visits.flatMap(casesOf) : [itemCase(placeOf(visit.at, visit.node, run.key), run)],
  );
  return [visitCase(visit), ...inside];
}

function visitCase(visit: Visit): Case {
  const { at, node, iteration, retries, remarks, degraded } = visit;
  const path = nodePath(at, node);
  const outcome = outcomeOf(visit);
  const isHandled = statusOf(visit) === "failed" && !outcome && degraded.length === 0;
  return {
    name: iteration > 1 ? `${path} (visit ${iteration})` : path,
    ms: durationOf(visit),
    outcome,
    output: [
      ...degraded.map((reason) => `degraded: ${reason}`),
      ...(isHandled ? [`failed, and was visited again: ${complaintOf(visit.result)}`] : []),
      ...retries.map(({ attempt, reason }) => `retry ${attempt}: ${reason}`),
      ...remarks.map(({ kind, text }) => `${kind}: ${text}`),
    ],
  };
}

/** Returns what went wrong in a visit. A failure that the workflow handled, by continuing from it, is none. */
function outcomeOf(visit: Visit): Outcome | undefined {
  const message = complaintOf(visit.result);
  const status = statusOf(visit);
  if (status === "skipped") return { kind: "skipped", message };
  if (isWaiting(visit)) return { kind: "skipped", message: `waiting for approval: ${visit.asked?.ask}` };
  if (status === "stopped" || (status === "active" && !visit.inner.some(({ visits }) => visits.some(isWaiting))))
    return { kind: "error", message: message || "the node has not finished", type: "unfinished" };
  if (status !== "failed" || visit.route !== undefined) return undefined;
  const evals = (visit.result?.evals ?? []).map(({ name, kind, pass, reasoning }) => {
    return `${pass ? "pass" : "FAIL"} ${name} (${kind})${reasoning ? `: ${reasoning}` : ""}`;
  });
  const [first = ""] = message.split("\n", 1);
  return { kind: "failure", message: first, type: "node.failed", text: [message, ...evals].join("\n") };
}

function isWaiting(visit: Visit): boolean {
  return statusOf(visit) === "active" && visit.asked !== undefined && !visit.word;
}

/** Creates an item's case, which is never a failure: the map's case reports those. */
function itemCase(name: string, item: InnerRun): Case {
  const { status, complaint, visits } = item;
  const isLeftOut = status === "skipped" || (status === undefined && visits.some(isWaiting));
  return {
    name,
    ms: visits.length === 0 ? 0 : durationOf(item),
    outcome: isLeftOut ? { kind: "skipped", message: complaint || "waiting for approval" } : undefined,
    output: [
      ...(isLeftOut || status === "success" ? [] : [`degraded: ${itemWord(item)}: ${complaint}`]),
      ...switchesIn(visits.flatMap(withInner)).map((text) => `model switch: ${text}`),
    ],
  };
}

function withInner(visit: Visit): Visit[] {
  return [visit, ...visit.inner.flatMap((run) => run.visits.flatMap(withInner))];
}

const UNHELD = { not_held: "failure", inconclusive: "skipped" } as const;

/** Returns the claims of a recheck. A run without a kept claim is inconclusive, and its report must not look as if all held. */
function claimCases(report: Report): Case[] {
  const { claims = [] } = judgeRecheck(report.record, foldedState(report))?.recheck ?? {};
  const none: Outcome = { kind: "skipped", message: "the run has no kept claim" };
  if (claims.length === 0) return [{ name: "kept claims", ms: 0, outcome: none }];
  return claims.map(({ claim: name, answer, reason: message = answer }) => {
    return { name, ms: 0, outcome: answer === "held" ? undefined : { kind: UNHELD[answer], message } };
  });
}

/** Reports an error outside of the visits: a route, a limit, an interruption, or a run that did no work. */
function outsideCases({ result: { error, status } }: Report, isTold: boolean): Case[] {
  if (!error || status === "waiting" || (isTold && status === "failed" && error.code === "node.failed")) return [];
  const { message, code: type, hint } = error;
  const text = hint === undefined ? message : `${message}\n${hint}`;
  return [{ name: "run", ms: 0, outcome: { kind: "error", message, type, text } }];
}

function properties({ result, record }: Report): string[] {
  const facts = {
    run: result.run,
    status: result.status,
    state: stateOf(result),
    ...(result.verdict === undefined ? {} : { verdict: result.verdict }),
    ...(result.unrouted === undefined ? {} : { unrouted: result.unrouted.node }),
    exitCode: result.exitCode,
    model: modelText(record.settings.model),
    costUsd: result.usage.costUsd ?? "unknown",
    ...Object.fromEntries(
      result.degraded.map(({ skill, node, reason }) => [["degraded", node, skill].filter(Boolean).join("."), reason]),
    ),
  };
  const rows = Object.entries(facts).map(([name, value]) => `      <property${attributes({ name, value })}/>`);
  return ["    <properties>", ...rows, "    </properties>"];
}

function attributes(values: Readonly<Record<string, string | number>>): string {
  const pairs = Object.entries(values);
  return pairs.map(([name, value]) => ` ${name}="${xmlText(cutText(String(value), 1000))}"`).join("");
}

const seconds = (ms: number) => (ms / 1000).toFixed(3);
