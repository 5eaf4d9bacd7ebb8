import type { EvalResult, EventBody, NodeResult } from "../event.ts";
import { isObject, type JsonObject } from "../values.ts";
import type { Evaluator } from "../workflow.ts";
import { evalError, evalResult, evaluateByCode, failureLines, parseVerdict, type Verdict } from "./evaluate.ts";
import { defaultFeedback, judgePrompt, reflectPrompt } from "./judge-prompt.ts";
import { leave } from "./leave.ts";
import { modelHere, type Scene, toolsHere } from "./scene.ts";
import type { Visit } from "./state.ts";
import { ask, type Step } from "./step.ts";

/** Whether an attempt's answer will do, and what follows if it will not. */

/** Every evaluator, in order (N28); judges are asked, the rest is judged here. */
export function evaluate(scene: Scene, data: JsonObject): Step {
  const { visit, node } = scene;
  const evals: EvalResult[] = [];
  const { same } = toolsHere(scene);
  for (const [index, evaluator] of (node.eval ?? []).entries()) {
    const judged = evaluateByCode(evaluator, data, visit.calls, same) ?? judgement(visit, index, evaluator);
    if (!judged) return askJudge(scene, data, index);
    evals.push(judged);
  }
  if (evals.every((result) => result.pass)) {
    const result: NodeResult = { status: "success", data, toolCalls: visit.calls, ...(node.eval ? { evals } : {}) };
    return leave(visit, result);
  }
  return leaveOrRetry(scene, {
    data,
    error: evalError(evals),
    failures: failureLines(evals),
    evals,
  });
}

/** The result of a judge once it has spoken, or failed twice (N25). */
function judgement(visit: Visit, index: number, evaluator: Evaluator): EvalResult | undefined {
  const answers = visit.judged.get(index) ?? [];
  const verdict = answers.map((text) => readVerdict(evaluator, text)).find((found) => found !== undefined);
  if (verdict) return evalResult(evaluator, verdict.pass, verdict.reasoning);
  return answers.length < 2 ? undefined : evalResult(evaluator, false, "judge parse failure");
}

function readVerdict(evaluator: Evaluator, text: string | undefined): Verdict | undefined {
  return evaluator.kind === "judge" && text !== undefined ? parseVerdict(text, evaluator.pass_when) : undefined;
}

function askJudge({ program, state, visit, node }: Scene, data: JsonObject, index: number): Step {
  const evaluator = node.eval?.[index];
  const { rubric, pass_when, model: own } = evaluator?.kind === "judge" ? evaluator : { rubric: "" };
  const model = own ?? node.judge_model ?? program.workflow.judge_model ?? state.settings.judge_model;
  const tries = visit.judged.get(index)?.length ?? 0;
  const key = `${visit.key}/${visit.attempt}/judge/${index}/${tries}`;
  const prompt = judgePrompt(rubric, data, visit.calls, pass_when ?? "yes");
  return ask(state, { key, purpose: "judge", node: visit.node, model, prompt });
}

interface Shortfall {
  readonly data: JsonObject;
  readonly error: string;
  readonly failures: readonly string[];
  readonly evals?: EvalResult[];
}

/** Failed evals and misfit output start another attempt while one is left (N33). */
export function leaveOrRetry(scene: Scene, shortfall: Shortfall): Step {
  const { program, state, visit, node } = scene;
  const { data, error, failures, evals } = shortfall;
  if (!node.retry || visit.attempt >= node.retry.max) {
    return leave(visit, {
      status: "failed",
      data: { ...data, error },
      toolCalls: visit.calls,
      ...(evals ? { evals } : {}),
    });
  }
  const guide = node.retry.instruction;
  if (isObject(guide) && visit.reflection === undefined) {
    const instruction = program.instruction(visit.node);
    const prompt = reflectPrompt({
      ask: "reflect" in guide ? guide.reflect : undefined,
      instruction,
      data,
      calls: visit.calls,
      failures,
    });
    return ask(state, {
      key: `${visit.key}/${visit.attempt}/reflect`,
      purpose: "reflect",
      node: visit.node,
      model: modelHere(scene),
      prompt,
    });
  }
  const opening = typeof guide === "string" ? guide : undefined;
  const preamble = visit.reflection ?? defaultFeedback(failures, opening);
  const attempt = visit.attempt + 1;
  const warning = `node ${visit.node}: the diagnosis of a failed attempt came back empty; the default feedback was used`;
  const bodies: EventBody[] = [{ type: "node:retry", node: visit.node, attempt, reason: error, preamble }];
  if (visit.reflection === null && !state.warned.has(warning)) bodies.unshift({ type: "warning", message: warning });
  return { kind: "decide", key: `${visit.key}/${attempt}`, bodies };
}
