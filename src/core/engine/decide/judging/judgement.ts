import { followPath } from "../../../base/path.ts";
import { defined, isObject, type Json, type JsonObject } from "../../../base/values.ts";
import { pathsIn } from "../../../document/fill.ts";
import { nodePath } from "../../../document/inner/place.ts";
import type { Evaluator, EvidenceEvaluator } from "../../../document/workflow/evaluator.ts";
import { EXECUTOR } from "../../../skill/skill.ts";
import { alike } from "../../../skill/tool-names.ts";
import type { RecordedCall, ToolFacts } from "../../event/call.ts";
import type { EventBody } from "../../event/event.ts";
import type { EvalResult, EvidenceCounts } from "../../event/node-result.ts";
import { type CitedResult, citedRefs, sumEvidence } from "../../evidence/check.ts";
import { type EarlierClaim, heldIn } from "../../evidence/claims.ts";
import { answerQuestion } from "../../evidence/question.ts";
import { weigh } from "../../evidence/weigh.ts";
import { holds, judgedAt } from "../../finding/claims.ts";
import { plainPath } from "../../finding/missing.ts";
import { lastVisitsOf } from "../../fold/last-visits.ts";
import { ask } from "../../fold/limits.ts";
import type { Program } from "../../fold/program.ts";
import type { SingleStep } from "../../fold/step.ts";
import type { Visit } from "../../fold/visit.ts";
import { CODE } from "../../tools/code.ts";
import { TOOL_MAKER } from "../../tools/tool-maker.ts";
import { toolOf } from "../inner/reading.ts";
import { leave } from "../leave.ts";
import { readAnswer } from "../route.ts";
import { modelsFor, type Scene, toolsHere } from "../scene.ts";
import { evalError, evalResult, evaluateByCode, failureLines, parseVerdict } from "./evaluate.ts";
import { defaultFeedback, type JudgedCalls, judgePrompt, reflectPrompt } from "./judge-prompt.ts";

/** Runs the evaluators in order. Judges need a model, the others only code. */
export function evaluate(scene: Scene, answered: JsonObject): SingleStep {
  const { visit, node } = scene;
  let data = answered;
  const evals: EvalResult[] = [];
  const counts: EvidenceCounts[] = [];
  const complaints: string[] = [];
  const { same } = toolsHere(scene);
  for (const [index, evaluator] of (node.eval ?? []).entries()) {
    if (evaluator.kind === "evidence") {
      const found = visit.examined.get(index);
      if (!found) return examineStep(scene, data, [index, evaluator]);
      const weighed = weigh(evaluator, data, found);
      data = weighed.data;
      evals.push(evalResult(evaluator, weighed.pass, weighed.reasoning));
      counts.push(weighed.counts);
      complaints.push(...weighed.complaints);
      continue;
    }
    if (evaluator.kind === "judge" && mayCorrect(visit, complaints)) break;
    const isJudge = evaluator.kind === "judge";
    const judged = isJudge ? judgement(visit, index, evaluator) : evaluateByCode(evaluator, data, visit.calls, same);
    if (!judged) return askJudge(scene, data, [index, evaluator as Judge]);
    evals.push(judged);
  }
  if (mayCorrect(visit, complaints)) {
    const reason = [CHECKED, ...complaints.map((line) => `- ${line}`), CORRECT].join("\n");
    return reject(visit, reason, complaints, true);
  }
  const evidence = counts.length === 0 ? undefined : sumEvidence(counts);
  if (evals.every((result) => result.pass)) {
    const judged = { ...(node.eval ? { evals } : {}), ...defined("evidence", evidence) };
    return leave(scene, { status: "success", data, toolCalls: visit.calls, ...judged });
  }
  return leaveOrRetry(scene, {
    data,
    answered,
    error: evalError(evals),
    failures: [...failureLines(evals), ...complaints.map((line) => `- ${line}`)],
    evals,
    ...defined("evidence", evidence),
  });
}

/** Evaluates the first answer if its claims were returned to the model and the model gave no valid answer since. */
export function evaluateFirst(scene: Scene): SingleStep | undefined {
  const { visit, node } = scene;
  return visit.recheck && evaluate(scene, readAnswer(node, visit.recheck.text).data);
}

function mayCorrect({ recheck }: Visit, complaints: readonly string[]): boolean {
  return complaints.length > 0 && recheck === undefined;
}

const CHECKED = "Code compared your answer with the results that it cites. This was not found there:";
const CORRECT =
  "Give the whole answer once more. Quote one record of a result word for word, correct each fact, or leave out what no result shows. This is the only correction.";

/** Returns an answer to the model, which answers once more in the same attempt. `claims`: its form is valid. */
export function reject(
  { key, attempt, replies, node }: Visit,
  reason: string,
  problems: readonly string[],
  claims?: true,
): SingleStep {
  const body: EventBody = {
    type: "reply:rejected",
    node,
    reason,
    problems: [...problems],
    ...defined("claims", claims),
  };
  return { kind: "decide", key: `${key}/${attempt}/${replies}/rejected`, bodies: [body] };
}

function checkKey({ key, attempt, recheck }: Visit): string {
  return `${key}/${attempt}${recheck ? "/again" : ""}`;
}

/** Checks evidence: at once, or in an `examine` step if a cited result is stored as blobs. */
function examineStep(
  scene: Scene,
  data: JsonObject,
  [index, evaluator]: readonly [number, EvidenceEvaluator],
): SingleStep {
  const { visit, node } = scene;
  const key = `${checkKey(visit)}/evidence/${index}`;
  const isJudged = (node.eval ?? []).slice(index).some(({ kind }) => kind === "judge");
  const { texts, refutes } = evaluator.rule;
  const earlier = texts || refutes ? earlierClaims(scene) : [];
  const writes = writesSent(scene);
  const results = [...citedRefs(evaluator.rule, data, earlier)].flatMap((ref) => citedResult(scene, ref, writes) ?? []);
  const question = {
    node: visit.node,
    evaluator,
    data,
    results,
    input: citedInput(scene),
    earlier,
    mostOfExcerpt: isJudged ? MOST_OF_EXCERPT : 0,
  };
  if (results.some(({ blobs }) => blobs.length > 0)) return { kind: "examine", key, node: visit.node, question };
  return { kind: "decide", key, bodies: [answerQuestion(question, new Map())] };
}

const MOST_OF_EXCERPT = 4096;

/**
 * Returns the part of a run's input that is evidence. What a model wrote is not: fields that an inner run was given from the
 * results of nodes other than steps, and the words of an earlier run in `input.run`.
 */
function citedInput({ program, state }: Pick<Scene, "program" | "state">): JsonObject {
  const { inside, context } = state;
  const { parent: outer } = program;
  if (!inside || !outer) return withQuotesOfEarlier(context.input);
  const { with: given = {}, map } = outer.node(inside.node);
  const known = inside.parent.context.input;
  const shown = citedInput({ program: outer, state: inside.parent });
  const isShown = (path: string) => {
    const [root = "", name = "", ...rest] = path.split(/[.[]/);
    if (root === "input") return rest.length + name.length === 0 ? shown === known : shown[name] === known[name];
    return root === "run" || root === "skills" || isFromSteps(outer, path.split("."));
  };
  const kept = Object.entries(context.input).filter(([name]) => {
    const value = (given as JsonObject)[name] ?? (given as JsonObject)[`${name}?`] ?? null;
    return (name === map?.as ? [map.over] : pathsIn(value)).map(plainPath).every(isShown);
  });
  return kept.length === Object.keys(context.input).length ? context.input : Object.fromEntries(kept);
}

/** Checks whether a path leads to the results of steps, also in a map or call. */
function isFromSteps(program: Program, [node = "", ...path]: readonly string[]): boolean {
  if (!Object.hasOwn(program.workflow.nodes, node)) return false;
  const { steps, map, call } = program.node(node);
  if (steps) return true;
  if (!map && call === undefined) return false;
  const results = path.indexOf("results");
  return results !== -1 && results <= 2 && isFromSteps(program.inner(node), path.slice(results + 1));
}

/** Leaves of the earlier run that `--from-run` gave only its id and the quotes that were found. */
function withQuotesOfEarlier(input: JsonObject): JsonObject {
  const { run } = input;
  if (!isObject(run) || !isObject(run.results) || !("finding" in run)) return input;
  const found = followPath("finding.claims[*].quotes[*]", run as JsonObject);
  return { ...input, run: { id: run.id as Json, quotes: "missing" in found ? [] : found } };
}

/** Returns the claims of the last visits of other nodes and of those inside them, with the quotes of those that hold. */
function earlierClaims({ state, visit, program }: Scene): EarlierClaim[] {
  return lastVisitsOf(state).flatMap((last) => {
    const [node = ""] = last.path.split(".", 1);
    if (last.path === visit.node) return [];
    return judgedAt(program.record, last).map((claim) => ({
      node,
      text: claim.text,
      cites: holds(claim) ? heldIn(claim.cites) : [],
    }));
  });
}

/** Returns the facts about a call's tool. Calls of another run bring them along. */
function factsOf(scene: Scene, call: RecordedCall): ToolFacts | undefined {
  return call.facts ?? toolOf(scene, call);
}

function writesSent(scene: Scene) {
  return [...scene.state.run.calls.values()].flatMap((call) => {
    const tool = call.planned ? undefined : factsOf(scene, call);
    return tool?.effect === "write" ? [{ ref: call.ref, skill: tool.skill, input: call.input }] : [];
  });
}

/** Returns a cited result, with what writes through the same skill had sent before it. */
function citedResult(scene: Scene, ref: string, writes: ReturnType<typeof writesSent>): CitedResult | undefined {
  const call = scene.state.run.calls.get(ref);
  if (!call) return undefined;
  const tool = factsOf(scene, call);
  const isBefore = (other: string) => Number(other.slice(1)) < Number(ref.slice(1));
  const sent = writes
    .filter(({ ref: other, skill }) => skill === tool?.skill && isBefore(other))
    .map(({ input }) => input);
  const isTeam = tool?.origin === "team";
  const isWrite = tool?.effect === "write" && tool.skill !== EXECUTOR;
  // A tool that the run defined may have been removed since.
  const isOwnCode = tool?.skill === CODE || alike(call.tool).startsWith(`${alike(TOOL_MAKER)}_`);
  const blobs = (call.outcome && "blobs" in call.outcome && call.outcome.blobs) || [];
  return { call, isTeam, isWrite, isOwnCode, sent, ...defined("echoes", tool?.echoes), blobs };
}

type Judge = Extract<Evaluator, { kind: "judge" }>;

/** Returns a judge's result once it has given a verdict or failed twice. */
function judgement(visit: Visit, index: number, evaluator: Judge): EvalResult | undefined {
  const answers = visit.judged.get(index) ?? [];
  const [verdict] = answers.flatMap((text = "") => parseVerdict(text, evaluator.pass_when) ?? []);
  if (verdict) return evalResult(evaluator, verdict.pass, verdict.reasoning);
  return answers.length < 2 ? undefined : evalResult(evaluator, false, "judge parse failure");
}

function askJudge(scene: Scene, data: JsonObject, [index, evaluator]: readonly [number, Judge]): SingleStep {
  const { program, state, visit, node } = scene;
  const { rubric, pass_when, model: own } = evaluator;
  const models = own ?? node.judge_model ?? program.workflow.judge_model ?? state.run.settings.judge_model;
  const tries = visit.judged.get(index)?.length ?? 0;
  const key = `${checkKey(visit)}/judge/${index}/${tries}`;
  const prompt = judgePrompt(rubric, data, shownToJudge(scene, index), pass_when ?? "yes");
  return ask(program, state, { key, purpose: "judge", node: visit.node, models, prompt });
}

/** Returns the node's calls. After an evidence check, the judge sees excerpts of the cited calls instead. */
function shownToJudge({ state, visit, node }: Scene, index: number): JudgedCalls {
  if (!(node.eval ?? []).slice(0, index).some(({ kind }) => kind === "evidence")) return { all: visit.calls };
  const excerpts = new Map([...visit.examined.values()].flatMap((found) => Object.entries(found.excerpts)));
  const cited = [...excerpts].flatMap(([ref, excerpt]) => {
    const call = state.run.calls.get(ref);
    return call ? [{ ...call, excerpt }] : [];
  });
  return { cited, others: visit.calls.filter(({ ref }) => ref === undefined || !excerpts.has(ref)) };
}

interface Shortfall {
  readonly data: JsonObject;
  /** The data as the model gave it. */
  readonly answered?: JsonObject;
  readonly error: string;
  readonly failures: readonly string[];
  readonly evals?: EvalResult[];
  readonly evidence?: EvidenceCounts;
}

/** For the steps of a node: a resume repeats those after the last write, which may give other data. */
function resumption(scene: Scene) {
  const { visit, node } = scene;
  if (!node.steps) return {};
  const tools = toolsHere(scene);
  const last = visit.calls.findLastIndex(({ tool, input, error }) => {
    const found = tools.find(tool, input);
    return error === undefined && found?.effect === "write" && found.contained !== true;
  });
  return { unfinished: true as const, repeats_from: last + 1 };
}

/** Starts another attempt after failed evaluators or invalid output, if one is left. Otherwise the node fails. */
export function leaveOrRetry(scene: Scene, shortfall: Shortfall): SingleStep {
  const { program, state, visit, node } = scene;
  const { data, answered = data, error, failures, evals, evidence } = shortfall;
  if (!node.retry || visit.attempt >= node.retry.max) {
    const judged = { ...defined("evals", evals), ...defined("evidence", evidence) };
    const result = { status: "failed", data: { ...data, error }, toolCalls: visit.calls, ...judged } as const;
    return leave(scene, result, evals ? { cause: "evals", ...resumption(scene) } : {});
  }
  const guide = node.retry.instruction;
  if (isObject(guide) && visit.reflection === undefined) {
    const instruction = program.source(visit.node, "instruction");
    const prompt = reflectPrompt({
      ask: "reflect" in guide ? guide.reflect : undefined,
      instruction,
      data: answered,
      calls: visit.calls,
      failures,
    });
    return ask(program, state, {
      key: `${visit.key}/${visit.attempt}/reflect`,
      purpose: "reflect",
      node: visit.node,
      models: modelsFor(program, state, visit.node),
      prompt,
    });
  }
  const opening = visit.reflection ?? (typeof guide === "string" ? guide : undefined);
  const preamble = defaultFeedback(failures, opening);
  const attempt = visit.attempt + 1;
  const warning = `node ${nodePath(state.inside?.at, visit.node)}: the diagnosis of a failed attempt came back empty; the default feedback was used`;
  const bodies: EventBody[] = [{ type: "node:retry", node: visit.node, attempt, reason: error, preamble }];
  if (visit.reflection === null && !state.run.warned.has(warning))
    bodies.unshift({ type: "warning", message: warning });
  return { kind: "decide", key: `${visit.key}/${attempt}`, bodies };
}
