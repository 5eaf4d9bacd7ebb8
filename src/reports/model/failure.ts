import { defined } from "../../core/base/values.ts";
import { nodePath } from "../../core/document/inner/place.ts";
import { modelText } from "../../core/document/model-list.ts";
import { parseModel } from "../../core/document/model-name.ts";
import type { RunError } from "../../core/engine/event/end.ts";
import type { FailureCause } from "../../core/engine/event/node-result.ts";
import { doctorCommand, resumeCommand, shellWord, showCommand } from "../../core/engine/result/commands.ts";
import type { Place, Report } from "./report.ts";
import { complaintOf, type Visit } from "./visit.ts";

/** First failure of a run. It leads the report, because later failures often only follow from it. */
export interface Failure {
  readonly code: string;
  /** Node name and message. */
  readonly headline: string;
  readonly message: string;
  readonly hint?: string;
  readonly node?: string;
  readonly visit?: Pick<Visit, "number" | "anchor">;
  readonly cause?: FailureCause;
  readonly place?: Place;
  /** Error that ended the run, if it differs from the first failure. */
  readonly end?: string;
  /** Suggested next steps. Commands omit the program's name. */
  readonly next: readonly Step[];
}

export interface Step {
  readonly text: string;
  readonly command?: string;
}

/** Returns the failure to report. Undefined if the run succeeded or waits for an approval. */
export function failureOf(report: Report, visits: readonly Visit[]): Failure | undefined {
  const { error, status } = report.result;
  if (!error || status === "waiting") return undefined;
  const first = status === "failed" ? firstFailed(visits) : undefined;
  const isFirst = first === undefined || isEndedBy(error, first, visits);
  const node = first?.node ?? error.node;
  const visit = first ?? visits.findLast((each) => each.node === error.node);
  const message = first && !isFirst ? complaintOf(first.result) : error.message;
  const code = first && !isFirst ? "node.failed" : error.code;
  const name =
    (visit && placedName(visit)) ?? (node === undefined ? undefined : report.record.workflow.nodes[node]?.name);
  const nameOf = (id: string) => report.record.workflow.nodes[id]?.name ?? id;
  const place = node === undefined || visit?.at !== undefined ? undefined : report.placeOf?.(node);
  const { hint } = error;
  return {
    code,
    message,
    headline: name === undefined ? message : `${name}: ${message}`,
    ...defined("hint", isFirst ? hint : undefined),
    ...defined("node", node === undefined ? undefined : nodePath(visit?.at, node)),
    ...defined("visit", visit && { number: visit.number, anchor: visit.anchor }),
    ...defined("cause", visit?.cause),
    ...defined("place", place),
    ...(isFirst ? {} : { end: error.node === undefined ? error.message : `${nameOf(error.node)}: ${error.message}` }),
    next: nextSteps(report, { code, node, visit }),
  };
}

/** Checks whether a visit's failure is what the run ended with: it was the last visit, or the same error, and routing did not fail. */
function isEndedBy(error: RunError, visit: Visit, visits: readonly Visit[]): boolean {
  const latest = visits.findLast(({ node }) => node === error.node);
  if (visit === latest && complaintOf(visit.result) === error.message) return true;
  if (visit !== visits.at(-1) || visit.node !== error.node || error.code === "route.unresolved") return false;
  const last = visit.turns.findLast((turn) => turn.kind === "asked");
  return last?.purpose !== "route" || last.answer.type !== "model:error";
}

/** Returns the first failed visit, preferring one in its inner runs. Ignores nodes that succeeded on another visit. */
function firstFailed(visits: readonly Visit[]): Visit | undefined {
  const recovered = new Set(visits.filter(({ result }) => result?.status === "success").map(({ node }) => node));
  const failed = visits.find(({ node, result }) => result?.status === "failed" && !recovered.has(node));
  const within = failed?.inner.find(({ status }) => status === "failed" || status === undefined);
  return (within && firstFailed(within.visits)) ?? failed;
}

/** Returns the visit's name after its map key, such as `fp-81: Look at the issue`. */
function placedName({ name, at }: Visit): string {
  const key = at === undefined ? undefined : /(?:^|\])[^[\]]*\[([^\]]*)\]$/.exec(at)?.[1];
  return key === undefined ? name : `${key}: ${name}`;
}

type Failed = { readonly code: string; readonly node: string | undefined; readonly visit: Visit | undefined };

function nextSteps(report: Report, { code, node, visit }: Failed): Step[] {
  const resume = (text: string): Step => ({ text, command: resumeCommand(report) });
  const again = resume("continue from there");
  const iteration = visit && visit.iteration > 1 ? `#${visit.iteration}` : "";
  const show = (at: string) => showCommand(report.record, `${nodePath(visit?.at, at)}${iteration}`);
  const look: Step[] = node === undefined ? [] : [{ text: "see its prompts and replies", command: show(node) }];
  if (code === "limit.reached") return [resume("raise the limit and continue")];
  if (code === "run.interrupted") return [again];
  if (code === "skills.missing" || code === "config.missing") {
    const doctor: Step = { text: "set what its skills need", command: doctorCommand(report.record) };
    return node === undefined ? [doctor] : [doctor, again];
  }
  if (code === "model.auth") return [resume("set the provider's key, then continue")];
  if (code === "model.unknown")
    return [{ text: "name a model that the provider has", command: `${resumeCommand(report)} --model PROVIDER:NAME` }];
  if (code.startsWith("model.")) return [resume("continue once the provider answers")];
  if (code === "replay.missing") return [{ text: "record it again with a live model" }];
  if (code === "replay.changed") {
    const recording = shellWord(parseModel(modelText(report.record.settings.model)).name);
    const command = `replay ${recording} --allow-changes`;
    return [{ text: "record it again with a live model, or accept the changes", command }];
  }
  if (code === "script.exhausted") return [{ text: "add the missing reply to the script" }, ...look];
  if (code === "route.unresolved")
    return [{ text: "make the conditions of its edges exclude each other" }, ...look, again];
  if (code === "run.no_work") return [{ text: "see why each node was skipped", command: showCommand(report.record) }];
  if (visit?.cause === "in_doubt") {
    const repeat = {
      text: "then repeat the node if nothing was carried out",
      command: `${resumeCommand(report)} --from ${shellWord(visit.node)}`,
    };
    return [{ text: ADVICE.in_doubt }, ...look, ...(visit.at === undefined ? [repeat] : [])];
  }
  return [...(visit?.cause ? [{ text: ADVICE[visit.cause] }] : []), ...look, again];
}

const ADVICE: Readonly<Record<FailureCause, string>> = {
  max_turns: "raise the node's max_turns, or reduce its task",
  timeout: "give the node more time: its `timeout`, or --node-timeout",
  limits: "raise the `limits` of the node that runs the workflow, or of its file",
  in_doubt: "check at the service whether the call was carried out: a resume does not repeat it by itself",
  evals: "check what its evaluators require, and whether its tools can show it",
};
