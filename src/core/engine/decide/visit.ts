import { shortText } from "../../base/preview.ts";
import { schemaProblems } from "../../base/schema/schema.ts";
import { defined, isObject, type Json } from "../../base/values.ts";
import type { WorkflowNode } from "../../document/workflow/node.ts";
import type { EventBody } from "../event/event.ts";
import { closingTurns, type Prompt, sectioned } from "../event/prompt.ts";
import { ask, nextModels } from "../fold/limits.ts";
import type { ToolSet } from "../fold/program.ts";
import type { SingleStep } from "../fold/step.ts";
import type { Visit } from "../fold/visit.ts";
import { previousAttempt } from "./judging/judge-prompt.ts";
import { evaluate, evaluateFirst, leaveOrRetry, reject } from "./judging/judgement.ts";
import { leaveFailed } from "./leave.ts";
import { citesResults, offeringOf } from "./offer.ts";
import { planNote } from "./planning.ts";
import { parseAnswer, readAnswer } from "./route.ts";
import { modelsFor, mostTurns, type Scene, toolsHere } from "./scene.ts";
import { carryOut } from "./turn-calls.ts";

/** Steps inside a visit: turns and the answer. */

export function work(scene: Scene): SingleStep {
  const { visit } = scene;
  if (visit.pending.length > 0) return carryOut(scene);
  if (visit.answer) return review(scene, visit.answer);
  return askTurn(scene);
}

function askTurn(scene: Scene): SingleStep {
  const { program, state, visit } = scene;
  const most = mostTurns(scene);
  if (visit.replies > most) return leaveAtTurnLimit(scene);
  const key = `${visit.key}/${visit.attempt}/${visit.replies}`;
  return ask(program, state, {
    key,
    purpose: "work",
    node: visit.node,
    models: modelsFor(program, state, visit.node),
    prompt: workPrompt(scene),
    ...defined("rejected", visit.rejected),
  });
}

const CITE = "Cite results in claims by their reference, e.g. r7.";
const QUOTE =
  "A quote has at least 8 characters, not counting white space, of one record (a line, an element of a list, a row of a table, a hunk of a diff), or is a whole record or field. Two rows are two quotes. Text inside JSON may be quoted with or without escapes.";

function workPrompt(scene: Scene): Prompt {
  const { state, visit, node } = scene;
  const most = mostTurns(scene);
  const isLast = visit.replies >= most;
  const tools = toolsHere(scene);
  const { text, sections } = openingHere(scene, tools);
  const turns = isLast ? closingTurns(visit.turns, most) : [...visit.turns];
  const told = isLast ? [] : tools.told();
  return { text, sections, context: state.context, turns, tools: told, ...defined("output", node.output) };
}

type Opening = ReturnType<typeof sectioned> & Pick<Visit, "lesson"> & { readonly tools: ToolSet };

/** Latest opening of each visit. It changes only with the lesson, or with what decides the tools. */
const openings = new WeakMap<Visit, Opening>();

function openingHere(scene: Scene, tools: ToolSet): Opening {
  const { program, state, visit, node } = scene;
  const { lesson } = visit;
  const known = openings.get(visit);
  if (known?.tools === tools && known.lesson === lesson) return known;
  const past = lesson ? [{ text: previousAttempt(lesson), trusted: false }] : [];
  const notes = [
    planNote(scene),
    citesResults(node, program.skills(visit.node, state.run.changed)) ? CITE : undefined,
    node.eval?.some(({ kind }) => kind === "evidence") ? QUOTE : undefined,
  ].filter((note) => note !== undefined);
  const instruction = { text: [program.source(visit.node, "instruction"), ...notes].join("\n\n"), trusted: true };
  const sections = [...past, ...program.preface(visit.node, offeringOf(program, state)), instruction];
  const opening = { lesson, tools, ...sectioned(sections) };
  openings.set(visit, opening);
  return opening;
}

function review(scene: Scene, answer: { readonly text: string; readonly stop: string }): SingleStep {
  const { visit, node } = scene;
  if (answer.stop === "refusal") {
    const message = `the model refused: ${answer.text || "no reason given"}`;
    return evaluateFirst(scene) ?? leaveFailed(scene, { message });
  }
  const turnsLeft = visit.replies < mostTurns(scene);
  if (answer.stop === "length") {
    if (turnsLeft && !visit.askedAgain) return reject(visit, CUT_OFF, ["it was cut off"]);
    const message = "the answer was cut off at the model's output limit";
    return evaluateFirst(scene) ?? leaveFailed(scene, { message });
  }
  const { data, problems } = readAnswer(node, answer.text);
  const silent = answer.text.trim() === "";
  if (silent && visit.replies > mostTurns(scene)) {
    return leaveAtTurnLimit(scene);
  }
  if (problems.length > 0 || silent) {
    const faults = silent ? ["it is empty"] : misfits(node, answer.text, problems);
    if (!visit.corrected && turnsLeft) return reject(visit, silent ? SILENT : misfit(problems), faults);
    const first = evaluateFirst(scene);
    if (first) return first;
    if (silent) return noteSilence(scene);
    return leaveOrRetry(scene, {
      data,
      error: `output invalid: ${faults.join("; ")}`,
      failures: [`output (schema): ${faults.join("; ")}`],
    });
  }
  return evaluate(scene, data);
}

function leaveAtTurnLimit(scene: Scene): SingleStep {
  const message = `the limit of ${mostTurns(scene)} turns was reached`;
  return evaluateFirst(scene) ?? leaveFailed(scene, { message, cause: "max_turns" });
}

/** Records silence as the model's error, which has its own exit code and leaves the run open to resume. */
function noteSilence(scene: Scene): SingleStep {
  const { program, state, visit } = scene;
  const message = "the model's answer was empty";
  const body: EventBody = {
    type: "model:error",
    node: visit.node,
    purpose: "work",
    model: nextModels(modelsFor(program, state, visit.node), visit.down).model,
    code: "model.silent",
    message,
  };
  return { kind: "decide", key: `${visit.key}/${visit.attempt}/${visit.replies}/silent`, bodies: [body] };
}

function misfits({ output }: WorkflowNode, text: string, problems: readonly string[]): readonly string[] {
  const value = parseAnswer(text);
  if (!output || !isObject(value)) return problems;
  return schemaProblems(output, value as Json).map(({ message, value: wrong }) =>
    wrong === undefined ? message : `${message}, not ${shortText(JSON.stringify(wrong), 80)}`,
  );
}

const SILENT = "Your answer was empty. Give your answer now.";
const CUT_OFF =
  "Your answer was cut off at the output limit. It was discarded, and none of its tool calls ran. Give a shorter answer.";

function misfit(problems: readonly string[]): string {
  const list = problems.map((problem) => `- ${problem}`).join("\n");
  return `Your answer does not match the required output:\n${list}\nAnswer again with matching JSON and nothing else.`;
}
