import { xmlText } from "../core/base/inert.ts";
import { cutText } from "../core/base/preview.ts";
import { nodePath, placeOf } from "../core/document/inner/place.ts";
import { modelText } from "../core/document/model-list.ts";
import { stateOf as foldedState } from "../core/engine/fold/fold.ts";
import { judgeRecheck, type RecheckedClaim } from "../core/engine/recheck/answer.ts";
import { stateOf } from "./model/account.ts";
import { itemWord } from "./model/items.ts";
import type { Report } from "./model/report.ts";
import { complaintOf, durationOf, type InnerRun, statusOf, switchesIn, type Visit } from "./model/visit.ts";
import { isCurrent, visitsOf } from "./model/visits.ts";

/** Creates JUnit XML with one suite, a case for each visit that counts and rechecked claim, and one for an error outside of the nodes. */
export function junitXml(report: Report): string {
  const { visits } = visitsOf(report);
  const { record, result } = report;
  const told = visits.filter(isCurrent).flatMap(casesOf);
  const claims = record.kind === "recheck" ? claimsOf(report) : [];
  const own = told.flatMap((each) => ("node" in each ? [each] : []));
  const failures = own.filter(isFailure).length + claims.filter(({ answer }) => answer === "not_held").length;
  const skipped = told.filter(isLeftOut).length + claims.filter(({ answer }) => answer === "inconclusive").length;
  const unfinished = own.filter(isUnfinished).length;
  const outside = outsideCase(report, failures + unfinished);
  const counts = {
    tests: told.length + claims.length + (outside === "" ? 0 : 1),
    failures,
    errors: unfinished + (outside === "" ? 0 : 1),
    skipped,
    time: seconds(result.usage.durationMs),
  };
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites${attributes({ name: "skillflow", ...counts })}>`,
    `  <testsuite${attributes({ name: record.workflow.id, ...counts, timestamp: record.at })}>`,
    ...properties(report),
    ...told.map((each) => ("node" in each ? visitCase(record.workflow.id, each) : itemCase(record.workflow.id, each))),
    ...claims.map((claim) => claimCase(record.workflow.id, claim)),
    ...(outside === "" ? [] : [outside]),
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

const LONGEST = 4000;

/** Checks whether a visit failed and the workflow did not continue from it. A handled failure is not an error. */
function isFailure(visit: Visit): boolean {
  return statusOf(visit) === "failed" && visit.route === undefined;
}

/** Returns a case for each visit, for each item of its map and for each visit of a called workflow. */
function casesOf(visit: Visit): (Visit | Item)[] {
  const inside = visit.inner.flatMap((run): (Visit | Item)[] => {
    return run.key === undefined
      ? run.visits.flatMap(casesOf)
      : [{ ...run, name: placeOf(visit.at, visit.node, run.key) }];
  });
  return [visit, ...inside];
}

interface Item extends InnerRun {
  readonly name: string;
}

function isWaiting(visit: Visit): boolean {
  return statusOf(visit) === "active" && visit.asked !== undefined && !visit.word;
}

/** Checks whether a case is reported as skipped: it was skipped, or it waits for an approval. */
function isLeftOut(each: Visit | Item): boolean {
  if ("node" in each) return statusOf(each) === "skipped" || isWaiting(each);
  return each.status === "skipped" || (each.status === undefined && each.visits.some(isWaiting));
}

/** Checks whether a visit has not ended. Waiting for an approval does not count. */
function isUnfinished(visit: Visit): boolean {
  const waits = isWaiting(visit) || visit.inner.some(({ visits }) => visits.some(isWaiting));
  return statusOf(visit) === "stopped" || (statusOf(visit) === "active" && !waits);
}

/** Creates an item's case, which is never a failure: the map's case reports those. */
function itemCase(workflow: string, item: Item): string {
  const { name, status, complaint, visits } = item;
  const time = seconds(visits.length === 0 ? 0 : durationOf(item));
  const open = `    <testcase${attributes({ name, classname: workflow, time })}>`;
  const isOut = isLeftOut(item);
  const skipped = isOut ? `      <skipped${attributes({ message: complaint || "waiting for approval" })}/>` : "";
  const lines = [
    ...(isOut || status === "success" ? [] : [`degraded: ${itemWord(item)}: ${complaint}`]),
    ...switchesIn(visits.flatMap(withInner)).map((text) => `model switch: ${text}`),
  ];
  return [open, skipped, systemOut(lines), "    </testcase>"].filter((part) => part !== "").join("\n");
}

function withInner(visit: Visit): Visit[] {
  return [visit, ...visit.inner.flatMap((run) => run.visits.flatMap(withInner))];
}

function systemOut(lines: readonly string[]): string {
  return lines.length === 0 ? "" : `      <system-out>${xmlText(cutText(lines.join("\n"), LONGEST))}</system-out>`;
}

type Claim = Pick<RecheckedClaim, "claim" | "answer" | "reason">;

/** Returns the claims of a recheck. A run without a kept claim is inconclusive, and its report must not look as if all held. */
function claimsOf(report: Report): readonly Claim[] {
  const { claims = [] } = judgeRecheck(report.record, foldedState(report))?.recheck ?? {};
  return claims.length > 0
    ? claims
    : [{ claim: "kept claims", answer: "inconclusive", reason: "the run has no kept claim" }];
}

const UNHELD = { not_held: "failure", inconclusive: "skipped" } as const;

function claimCase(workflow: string, { claim, answer, reason = answer }: Claim): string {
  const open = `    <testcase${attributes({ name: claim, classname: workflow, time: "0.000" })}>`;
  const outcome = answer === "held" ? [] : [`      <${UNHELD[answer]}${attributes({ message: reason })}/>`];
  return [open, ...outcome, "    </testcase>"].join("\n");
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

function visitCase(workflow: string, visit: Visit): string {
  const node = nodePath(visit.at, visit.node);
  const name = visit.iteration > 1 ? `${node} (visit ${visit.iteration})` : node;
  const open = `    <testcase${attributes({ name, classname: workflow, time: seconds(durationOf(visit)) })}>`;
  return [open, outcome(visit), output(visit), "    </testcase>"].filter((part) => part !== "").join("\n");
}

function outcome(visit: Visit): string {
  const message = complaintOf(visit.result);
  const status = statusOf(visit);
  if (status === "skipped") return `      <skipped${attributes({ message })}/>`;
  if (isWaiting(visit))
    return `      <skipped${attributes({ message: `waiting for approval: ${visit.asked?.ask}` })}/>`;
  if (status === "active" && !isUnfinished(visit)) return "";
  if (isUnfinished(visit))
    return `      <error${attributes({ message: message || "the node has not finished", type: "unfinished" })}/>`;
  if (!isFailure(visit)) return "";
  const evals = (visit.result?.evals ?? []).map(({ name, kind, pass, reasoning }) => {
    return `${pass ? "pass" : "FAIL"} ${name} (${kind})${reasoning ? `: ${reasoning}` : ""}`;
  });
  const [first = ""] = message.split("\n", 1);
  const text = xmlText(cutText([message, ...evals].join("\n"), LONGEST));
  return `      <failure${attributes({ message: first, type: "node.failed" })}>${text}</failure>`;
}

function output(visit: Visit): string {
  const { retries, remarks, degraded } = visit;
  const isHandled = statusOf(visit) === "failed" && !isFailure(visit) && degraded.length === 0;
  return systemOut([
    ...degraded.map((reason) => `degraded: ${reason}`),
    ...(isHandled ? [`failed, and was visited again: ${complaintOf(visit.result)}`] : []),
    ...retries.map(({ attempt, reason }) => `retry ${attempt}: ${reason}`),
    ...remarks.map(({ kind, text }) => `${kind}: ${text}`),
  ]);
}

/** Reports an error outside of the visits: a route, a limit, an interruption, or a run that did no work. */
function outsideCase({ result, record }: Report, told: number): string {
  const { error, status } = result;
  if (!error || status === "waiting" || (told > 0 && status === "failed" && error.code === "node.failed")) return "";
  const open = `    <testcase${attributes({ name: "run", classname: record.workflow.id, time: "0.000" })}>`;
  const text = [error.message, error.hint].filter((part) => part !== undefined).join("\n");
  const body = `      <error${attributes({ message: error.message, type: error.code })}>${xmlText(cutText(text, LONGEST))}</error>`;
  return [open, body, "    </testcase>"].join("\n");
}

function attributes(values: Readonly<Record<string, string | number>>): string {
  const pairs = Object.entries(values);
  return pairs.map(([name, value]) => ` ${name}="${xmlText(cutText(String(value), 1000))}"`).join("");
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}
