import { defined, type Json, textAt } from "../../core/base/values.ts";
import { callFailure } from "../../core/engine/event/node-result.ts";
import { canonicalJson } from "../../core/engine/event/operation.ts";
import { HELD, linkOf, openCount, standingWords, viewReport } from "./plan.ts";
import type { Report } from "./report.ts";
import { complaintOf, statusOf, type Visit } from "./visit.ts";
import { isCurrent, lastVisits } from "./visits.ts";

/** A write that the run did or did not make, or a node that did not do its work. */
export interface Deed {
  readonly text: string;
  /** Why it was not done, or what it waits for. A write that already existed also has a reason. */
  readonly why?: string;
  /** Link to the written object, as its tool returned it. */
  readonly link?: string;
  /** Anchor on a report page: a call, an operation or a visit. */
  readonly at?: string;
}

export interface Deeds {
  readonly done: readonly Deed[];
  /** Planned writes that wait for approval. */
  readonly waiting: readonly Deed[];
  readonly undone: readonly Deed[];
}

export function deedsOf(report: Report, visits: readonly Visit[], every: readonly Visit[]): Deeds {
  const calls = writesIn(report, every);
  const planned = operationsIn(report);
  return {
    done: [...calls.done, ...planned.done],
    waiting: planned.waiting,
    undone: [...calls.undone, ...planned.undone, ...deniedSteps(every), ...idleVisits(report, visits)],
  };
}

/**
 * Lists the writes that calls made. A failed one that succeeded later, with the same input, is done. Of visits that were
 * taken back, only the writes that were or may have been carried out count.
 */
function writesIn({ record }: Report, visits: readonly Visit[]): Pick<Deeds, "done" | "undone"> {
  const writers = new Set(
    record.skills.flatMap(({ tools }) => tools.flatMap(({ exposed, effect }) => (effect === "write" ? exposed : []))),
  );
  const done: Deed[] = [];
  const undone = new Map<string, Deed[]>();
  for (const visit of visits) {
    for (const { tool, input, outcome, planned, ref, mayHaveActed } of visit.calls) {
      if (!writers.has(tool) || planned !== undefined) continue;
      const text = `${tool}${gistOf(input)}`;
      const key = canonicalJson([tool, input]);
      const why = outcome ? callFailure(outcome) : "no result: it may have been carried out";
      if (why !== undefined) {
        if (!isCurrent(visit) && outcome && !mayHaveActed) continue;
        undone.set(key, [...(undone.get(key) ?? []), { text, why, at: ref }]);
        continue;
      }
      undone.delete(key);
      const link = outcome && "output" in outcome ? linkOf(outcome.output) : undefined;
      done.push({ text, at: ref, ...defined("link", link) });
    }
  }
  return { done, undone: [...undone.values()].flat() };
}

/** Returns the field of an input that best describes the write. */
function gistOf(input: Json): string {
  const keys = ["title", "name", "subject", "text", "message", "body", "path", "key", "id"];
  const said = keys.map((key) => textAt(input, key)).find((text) => text !== undefined);
  return said === undefined ? "" : `: “${said.replace(/\s+/g, " ").trim()}”`;
}

function operationsIn(report: Report): Deeds {
  const plan = viewReport(report);
  const isOpen = openCount(plan) > 0;
  const done: Deed[] = [];
  const waiting: Deed[] = [];
  const undone: Deed[] = [];
  for (const { operation, now } of plan.operations) {
    const at = operation.id;
    const text = operation.summary;
    if (now.standing === "applied") {
      const why = now.existing ? "it already existed" : undefined;
      done.push({ text, at, ...defined("why", why), ...defined("link", linkOf(now.output)) });
    } else if (now.standing === "planned") {
      const hold = operation.held === undefined ? "planned" : HELD;
      const why = isOpen ? `${hold}; \`skillflow apply ${plan.run}\` carries it out` : hold;
      waiting.push({ text, at, why });
    } else undone.push({ text, at, why: now.error ?? standingWords(now.standing) });
  }
  return { done, waiting, undone };
}

/** Returns the nodes with write steps that were skipped, because writes are denied. Items of a map count once. */
function deniedSteps(every: readonly Visit[]): Deed[] {
  const denied = lastVisits(every).flatMap(({ name, denied, anchor }): [string, Deed][] => {
    if (denied.length === 0) return [];
    const why = `writes are denied: ${denied.length === 1 ? "step" : "steps"} ${denied.join(", ")}`;
    return [[`${name}\n${why}`, { text: name, why, at: anchor }]];
  });
  return [...new Map(denied.reverse()).values()].reverse();
}

/** Returns the visited nodes that did not do their work. A node whose `requires` skipped it was not to do any. */
function idleVisits(report: Report, visits: readonly Visit[]): Deed[] {
  return lastVisits(visits).flatMap((visit): Deed[] => {
    const at = visit.anchor;
    const status = statusOf(visit);
    if (status === "failed" || status === "stopped")
      return [{ text: visit.name, why: `${status}: ${complaintOf(visit.result)}`, at }];
    if (visit.asked && !visit.word) return [{ text: visit.name, why: "waiting for approval", at }];
    if (visit.word?.approved === false) return [{ text: visit.name, why: `denied by ${visit.word.by}`, at }];
    if (status === "active") return [{ text: visit.name, why: "not finished", at }];
    const lost = lostWords(report, visit.node, report.record.workflow.nodes[visit.node]?.skills);
    return lost === undefined ? [] : [{ text: visit.name, why: lost, at }];
  });
}

/** Describes a node's missing skills. Returns undefined if it has at least one, or lists none. */
function lostWords({ result }: Report, node: string, listed: readonly string[] = []): string | undefined {
  const lost = result.degraded.filter((degraded) => {
    return degraded.node === node && listed.includes(degraded.skill ?? "") && !degraded.partial;
  });
  if (lost.length === 0 || lost.length < new Set(listed).size) return undefined;
  const reasons = lost.map(({ skill, reason }) => `${skill} (${reason})`);
  return `${lost.length === 1 ? "its skill is not" : "none of its skills is"} configured: ${reasons.join(", ")}`;
}
