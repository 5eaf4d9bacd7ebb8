import {
  checkValues,
  evalError,
  evalResult,
  evalsByName,
  evaluateByCode,
  failureLines,
  parseVerdict,
  type Verdict,
} from "./evaluate.ts";
import type { EvalResult, EventBody, NodeResult, RunError, RunRecord } from "./event.ts";
import type { Purpose, StepKey } from "./ports.ts";
import type { Program } from "./program.ts";
import { defaultFeedback, joinSections, judgePrompt, type Prompt, reflectPrompt } from "./prompt.ts";
import {
  chooseRoute,
  liveEdges,
  type Option,
  parseAnswer,
  parseChoice,
  routePrompt,
  routingView,
  viewContext,
} from "./route.ts";
import { compileSchema } from "./schema.ts";
import type { ToolDescriptor } from "./skill.ts";
import type { AgentFailure, Leaving, PendingCall, State, Visit } from "./state.ts";
import { toolCallOf } from "./state.ts";
import { isObject, type Json, type JsonObject, parseDuration } from "./values.ts";
import type { Evaluator, WorkflowNode } from "./workflow.ts";

/** What has to happen next. `decide` needs nothing but its record; `ask` a model's reply; `call` some handlers. */
export type Step =
  | { readonly kind: "decide"; readonly key: StepKey; readonly bodies: readonly EventBody[] }
  | {
      readonly kind: "ask";
      readonly key: StepKey;
      readonly purpose: Purpose;
      readonly node: string;
      readonly model: string;
      readonly prompt: Prompt;
    }
  | { readonly kind: "call"; readonly key: StepKey; readonly node: string; readonly calls: readonly Call[] };

/** A call to carry out: its input fits its tool's schema. */
export interface Call {
  readonly key: StepKey;
  readonly tool: ToolDescriptor;
  readonly input: Json;
}

const IN_DOUBT =
  "in doubt: the run was interrupted while this call was under way, so it may have been carried out. It was not repeated. Check before you do it again.";

/** The next step of a run, from its past alone; undefined once it has ended. */
export function next(program: Program, state: State): Step | undefined {
  if (state.end) return undefined;
  const step = decideNext(program, state);
  return state.resumes === 0 ? step : { ...step, key: `${step.key}~${state.resumes}` };
}

function decideNext(program: Program, state: State): Step {
  if (!state.started) return start(program);
  if (state.visit) return state.halt ? leaveUnfinished(state, state.visit) : work(program, state, state.visit);
  if (state.halt) return endHalted(state);
  if (state.leaving) return route(program, state, state.leaving);
  return enter(program, state);
}

function start({ record, warnings }: Program): Step {
  const said = [...new Set([...record.warnings, ...warnings])];
  return {
    kind: "decide",
    key: "start",
    bodies: [
      { type: "workflow:start", workflow: record.workflow.id },
      { type: "sources:resolved", sources: record.sources },
      ...said.map((message): EventBody => ({ type: "warning", message })),
    ],
  };
}

function enter(program: Program, state: State): Step {
  const node = state.upcoming?.node ?? program.workflow.entry;
  const most = state.settings.limits.max_steps;
  if (most !== undefined && state.visits >= most) {
    return limitReached(
      `${state.visits}:limit`,
      "max_steps",
      `the limit of ${most} node visits was reached before ${node}`,
    );
  }
  const iteration = (state.iterations.get(node) ?? 0) + 1;
  const instruction = program.instruction(node);
  const body: EventBody = { type: "node:enter", node, instruction, iteration };
  return { kind: "decide", key: `${state.visits + 1}:${node}`, bodies: [body] };
}

function limitReached(
  key: StepKey,
  limit: "max_steps" | "max_tokens" | "max_cost_usd" | "timeout",
  message: string,
): Step {
  return { kind: "decide", key: `${key}/${limit}`, bodies: [{ type: "limit:reached", limit, message }] };
}

// ---- inside a visit

function work(program: Program, state: State, visit: Visit): Step {
  const node = program.node(visit.node);
  if (visit.failure) return leaveFailed(visit, node, visit.failure);
  if (visit.replies === 0 && visit.attempt === 0 && visit.asks === 0) {
    const unmet = unmetRequirement(program, state, visit);
    if (unmet) return leave(visit, unmet);
  }
  if (visit.pending.length > 0) return carryOut(program, state, visit, node);
  if (visit.answer) return review(program, state, visit, node, visit.answer);
  return askTurn(program, state, visit, node);
}

/** N13, N14: unmet requirements end the visit before the model is asked. */
function unmetRequirement(program: Program, state: State, visit: Visit): NodeResult | undefined {
  const { requires } = program.node(visit.node);
  if (!requires) return undefined;
  const complaints = checkValues(requires, contextRoot(state));
  if (complaints.length === 0) return undefined;
  const why = complaints.join("; ");
  return requires.on_fail === "skip"
    ? { status: "skipped", data: { skipped_reason: `requires not met: ${why}` }, toolCalls: [] }
    : { status: "failed", data: { error: `requires failed: ${why}` }, toolCalls: [] };
}

/** The context as paths see it: `input`, and each node's latest data with its evals (N2, N32). */
function contextRoot(state: State): JsonObject {
  const nodes = [...state.results].map(([id, { data, evals }]): [string, Json] => {
    const shown: JsonObject = evals && !Object.hasOwn(data, "evals") ? { evals: evalsByName(evals) } : {};
    return [id, { ...data, ...shown }];
  });
  return Object.fromEntries([...nodes, ["input", state.context.input]]);
}

function askTurn(program: Program, state: State, visit: Visit, node: WorkflowNode): Step {
  const most = node.max_turns ?? state.settings.max_turns;
  if (visit.replies >= most) return leaveFailed(visit, node, { message: `the limit of ${most} turns was reached` });
  const key = `${visit.key}/${visit.attempt}/${visit.asks}`;
  const model = node.model ?? program.workflow.model ?? state.settings.model;
  return ask(state, { key, purpose: "work", node: visit.node, model, prompt: workPrompt(program, state, visit, node) });
}

/** N4, D35, D47: the sections, then the run's context, then the turns so far. */
function workPrompt(program: Program, state: State, visit: Visit, node: WorkflowNode): Prompt {
  const preamble = visit.preamble === undefined ? [] : [visit.preamble];
  const sections = [...preamble, ...program.preface(visit.node), program.instruction(visit.node)];
  const { offered } = program.tools(visit.node, state.settings.writes);
  return {
    text: joinSections(sections),
    context: state.context,
    turns: [...visit.turns],
    tools: offered.map(({ exposed, description, input_schema }) => ({ name: exposed, description, input_schema })),
    ...(node.output ? { output: node.output } : {}),
  };
}

/** Limits are checked before each model call (O8). */
function ask(state: State, step: Omit<Extract<Step, { kind: "ask" }>, "kind">): Step {
  const { max_cost_usd, max_tokens, timeout_ms } = state.settings.limits;
  const { costUsd, inputTokens, outputTokens } = state.usage;
  if (max_cost_usd !== undefined && costUsd >= max_cost_usd) {
    return limitReached(
      step.key,
      "max_cost_usd",
      `the limit of $${max_cost_usd} was reached ($${costUsd.toFixed(4)} spent)`,
    );
  }
  if (max_tokens !== undefined && inputTokens + outputTokens >= max_tokens) {
    const used = inputTokens + outputTokens;
    return limitReached(step.key, "max_tokens", `the limit of ${max_tokens} tokens was reached (${used} used)`);
  }
  if (timeout_ms !== undefined && state.activeMs >= timeout_ms) {
    return limitReached(step.key, "timeout", timeoutMessage(timeout_ms));
  }
  return { kind: "ask", ...step };
}

export function timeoutMessage(ms: number): string {
  return `the time limit of ${ms / 1000} s was reached`;
}

// ---- tool calls of a turn

/** Side-by-side reads, or one write: announced in one record, then carried out. */
function carryOut(program: Program, state: State, visit: Visit, node: WorkflowNode): Step {
  const tools = program.tools(visit.node, state.settings.writes);
  const most = node.max_turns ?? state.settings.max_turns;
  if (visit.replies >= most && visit.pending.every((call) => call.announced === undefined)) {
    const message = `the limit of ${most} turns was reached; ${visit.pending.length} requested tool calls were not carried out`;
    return leaveFailed(visit, node, { message });
  }
  const group = nextGroup(visit.pending, tools.find);
  const unannounced = group.filter((call) => call.announced === undefined);
  if (unannounced.length > 0) return announce(visit, unannounced, tools.find, tools.offered);
  const done = visit.pending.filter((call) => call.outcome).length;
  const key = `${visit.key}/${visit.attempt}/${visit.asks}/calls/${done}`;
  // The key is the same either way: whoever drives the run later finds what was recorded here, by whichever process.
  const doubtful = group.filter((call) => isInDoubt(call, tools.find(call.tool), state.epoch));
  if (doubtful.length > 0) {
    return { kind: "decide", key, bodies: doubtful.map((call) => refused(visit, call, IN_DOUBT)) };
  }
  const calls = group.flatMap((call): Call[] => {
    const tool = tools.find(call.tool);
    return tool ? [{ key: call.key, tool, input: call.input }] : [];
  });
  return { kind: "call", key, node: visit.node, calls };
}

/** The calls that may be under way together: leading reads, or a single write (rejected calls count as reads). */
function nextGroup(pending: readonly PendingCall[], find: (name: string) => ToolDescriptor | undefined): PendingCall[] {
  const open = pending.slice(pending.findIndex((call) => !call.outcome));
  const firstWrite = open.findIndex((call) => !call.outcome && find(call.tool)?.effect === "write");
  const group = firstWrite === -1 ? open : open.slice(0, Math.max(1, firstWrite));
  return group.filter((call) => !call.outcome);
}

/** D41: rejected calls are announced and answered like others, and reach no handler. */
function announce(
  visit: Visit,
  calls: readonly PendingCall[],
  find: (name: string) => ToolDescriptor | undefined,
  offered: readonly ToolDescriptor[],
): Step {
  const { node } = visit;
  const bodies: EventBody[] = calls.map(({ key, tool, input }) => ({ type: "tool:call", node, tool, input, id: key }));
  for (const call of calls) {
    const complaint = rejection(call, find(call.tool), offered);
    if (complaint !== undefined) bodies.push(refused(visit, call, complaint));
  }
  return { kind: "decide", key: `${calls[0]?.key}/announce`, bodies };
}

function rejection(call: PendingCall, tool: ToolDescriptor | undefined, offered: readonly ToolDescriptor[]) {
  if (!tool) {
    const names = offered.map((other) => other.exposed).join(", ");
    return `no tool is named ${call.tool}${names ? `; the tools here are ${names}` : "; there are no tools here"}`;
  }
  if (call.broken) return "the arguments were no JSON";
  const problems = inputProblems(tool, call.input);
  return problems.length === 0 ? undefined : `invalid input: ${problems.join("; ")}`;
}

function inputProblems(tool: ToolDescriptor, input: Json): readonly string[] {
  try {
    return compileSchema(tool.input_schema)(input);
  } catch (error) {
    return [`the tool's own input schema is invalid: ${(error as Error).message}`];
  }
}

function refused({ node }: Visit, { tool, key }: PendingCall, error: string): EventBody {
  return { type: "tool:result", node, tool, error, id: key };
}

/** Announced by a process that is gone, and not safe to repeat (O11). */
function isInDoubt(call: PendingCall, tool: ToolDescriptor | undefined, epoch: number): boolean {
  return call.announced !== epoch && !tool?.idempotent;
}

// ---- the answer of an attempt

function review(
  program: Program,
  state: State,
  visit: Visit,
  node: WorkflowNode,
  answer: { readonly text: string; readonly stop: string },
): Step {
  if (answer.stop === "refusal")
    return leaveFailed(visit, node, { message: `the model refused: ${answer.text || "no reason given"}` });
  const { data, problems } = readAnswer(node, answer.text);
  const silent = answer.text.trim() === "";
  if (problems.length > 0 || silent) {
    const turnsLeft = visit.replies < (node.max_turns ?? state.settings.max_turns);
    if (!visit.corrected && turnsLeft) return correct(visit, silent, problems);
    if (silent) return noteSilence(program, state, visit, node);
    const why = problems.join("; ");
    return leaveOrRetry(program, state, visit, node, {
      data,
      error: `output invalid: ${why}`,
      failures: [`output (schema): ${why}`],
    });
  }
  if (answer.stop === "length" && !node.output) {
    return leaveFailed(visit, node, { message: "the answer was cut off at the model's output limit" });
  }
  return evaluate(program, state, visit, node, data);
}

/** The model is to blame, as when it cannot be reached: its own exit code, and open to resume. */
function noteSilence(program: Program, state: State, visit: Visit, node: WorkflowNode): Step {
  const model = node.model ?? program.workflow.model ?? state.settings.model;
  const message = "the model answered nothing";
  const body: EventBody = {
    type: "model:error",
    node: visit.node,
    purpose: "work",
    model,
    code: "model.silent",
    message,
  };
  return { kind: "decide", key: `${visit.key}/${visit.attempt}/${visit.asks}/silent`, bodies: [body] };
}

/** With `output` the data must fit the whole schema (N11, N12, D37); without it, it is a summary (D38). */
function readAnswer(node: WorkflowNode, text: string): { data: JsonObject; problems: readonly string[] } {
  if (!node.output) return { data: { summary: text }, problems: [] };
  const value = parseAnswer(text);
  if (!isObject(value)) return { data: { summary: text }, problems: ["the answer is no JSON object"] };
  return { data: value as JsonObject, problems: compileSchema(node.output)(value) };
}

function correct(visit: Visit, silent: boolean, problems: readonly string[]): Step {
  const list = problems.map((problem) => `- ${problem}`).join("\n");
  const reason = silent
    ? "Your answer was empty. Give your answer now."
    : `Your answer does not fit the required output:\n${list}\nAnswer again with JSON that fits, and nothing else.`;
  const key = `${visit.key}/${visit.attempt}/${visit.asks}/rejected`;
  return { kind: "decide", key, bodies: [{ type: "reply:rejected", node: visit.node, reason }] };
}

/** Every evaluator, in order (N28); judges are asked, the rest is judged here. */
function evaluate(program: Program, state: State, visit: Visit, node: WorkflowNode, data: JsonObject): Step {
  const evals: EvalResult[] = [];
  const { same } = program.tools(visit.node, state.settings.writes);
  for (const [index, evaluator] of (node.eval ?? []).entries()) {
    const judged = evaluateByCode(evaluator, data, visit.calls, same) ?? judgement(visit, index, evaluator);
    if (!judged) return askJudge(program, state, visit, node, data, index);
    evals.push(judged);
  }
  if (evals.every((result) => result.pass)) {
    const result: NodeResult = { status: "success", data, toolCalls: visit.calls, ...(node.eval ? { evals } : {}) };
    return leave(visit, result);
  }
  return leaveOrRetry(program, state, visit, node, {
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

function askJudge(
  program: Program,
  state: State,
  visit: Visit,
  node: WorkflowNode,
  data: JsonObject,
  index: number,
): Step {
  const evaluator = node.eval?.[index];
  const { rubric, pass_when, model: own } = evaluator?.kind === "judge" ? evaluator : { rubric: "" };
  const model = own ?? node.judge_model ?? program.workflow.judge_model ?? state.settings.judge_model;
  const tries = visit.judged.get(index)?.length ?? 0;
  const key = `${visit.key}/${visit.attempt}/judge/${index}/${tries}`;
  const prompt = judgePrompt(rubric, data, visit.calls, pass_when ?? "yes");
  return ask(state, { key, purpose: "judge", node: visit.node, model, prompt });
}

// ---- leaving a visit

interface Shortfall {
  readonly data: JsonObject;
  readonly error: string;
  readonly failures: readonly string[];
  readonly evals?: EvalResult[];
}

/** Failed evals and misfit output start another attempt while one is left (N33). */
function leaveOrRetry(program: Program, state: State, visit: Visit, node: WorkflowNode, shortfall: Shortfall): Step {
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
    const model = node.model ?? program.workflow.model ?? state.settings.model;
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
      model,
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

/** An agent-level failure: softened where the node says so (N39), and open to resume where a model was to blame. */
function leaveFailed(visit: Visit, node: WorkflowNode, failure: AgentFailure): Step {
  const data = { ...partialData(visit), error: failure.message };
  const toolCalls = [...visit.calls, ...visit.pending.map(toolCallOf)];
  if (node.fail_soft) return leave(visit, { status: "success", data: { ...data, fail_soft: true }, toolCalls });
  return leave(visit, { status: "failed", data, toolCalls }, failure.code !== undefined);
}

function partialData(visit: Visit): JsonObject {
  const texts = visit.turns.flatMap((turn) => (turn.role === "assistant" ? turn.parts : []));
  const last = texts.findLast((part) => part.type === "text" && part.text.trim() !== "");
  return last?.type === "text" ? { summary: last.text } : {};
}

function leave(visit: Visit, result: NodeResult, unfinished = false): Step {
  const body: EventBody = { type: "node:exit", node: visit.node, result, ...(unfinished ? { unfinished } : {}) };
  return { kind: "decide", key: `${visit.key}/exit/${visit.asks}`, bodies: [body] };
}

function leaveUnfinished(state: State, visit: Visit): Step {
  const data = { ...partialData(visit), error: state.halt?.reason ?? "the run stopped" };
  const toolCalls = [...visit.calls, ...visit.pending.map(toolCallOf)];
  const step = leave(visit, { status: "failed", data, toolCalls }, true);
  return { ...step, key: `${step.key}/halt` };
}

// ---- between visits

function route(program: Program, state: State, leaving: Leaving): Step {
  const edges = liveEdges(program, leaving.node, state.follows);
  const choice = chooseRoute(edges, leaving.failed);
  if (isDryRun(state) && program.edgesFrom(leaving.node).some((edge) => edge.when !== undefined)) {
    return finish(program, state, leaving, "a dry run stops at the first decision");
  }
  if (choice.kind === "end") return finish(program, state, leaving, "");
  if (choice.kind === "follow") return follow(leaving, { id: choice.edge.to, description: "", edge: choice.edge });
  const answer = leaving.answers.at(-1);
  const chosen = answer === undefined ? undefined : parseChoice(answer, choice.options);
  if (chosen)
    return chosen.edge ? follow(leaving, chosen) : finish(program, state, leaving, "none of the conditions held");
  if (leaving.answers.length >= 2) return endUnrouted(state, leaving);
  return askRoute(program, state, leaving, choice.options, answer);
}

function isDryRun(state: State): boolean {
  return state.context.input.dryRun === true;
}

function follow(leaving: Leaving, { edge }: Option): Step {
  if (!edge) throw new RangeError("an option without an edge leads nowhere");
  const body: EventBody = {
    type: "route",
    from: leaving.node,
    to: edge.to,
    reason: edge.when ?? "only path",
    edge: edge.index,
  };
  return { kind: "decide", key: `${leaving.key}/follow/${leaving.asks}`, bodies: [body] };
}

function askRoute(
  program: Program,
  state: State,
  leaving: Leaving,
  options: readonly Option[],
  refusedAnswer: string | undefined,
): Step {
  const missing: string[] = [];
  const context = viewContext(state.context, ({ node, data }) => {
    const result = state.results.get(node);
    if (!result) return data;
    const view = routingView(program, node, result, evalsByName(result.evals ?? []));
    for (const name of view.missing)
      missing.push(`node ${node} did not emit its declared output "${name}"; routing sees null`);
    return view.data;
  });
  const unsaid = missing.filter((message) => !state.warned.has(message));
  const key = `${leaving.key}/route/${leaving.asks}`;
  if (unsaid.length > 0) {
    return { kind: "decide", key: `${key}/warn`, bodies: unsaid.map((message) => ({ type: "warning", message })) };
  }
  const model = program.node(leaving.node).model ?? program.workflow.model ?? state.settings.model;
  const refused = refusedAnswer === undefined ? {} : { refused: refusedAnswer.slice(0, 200) };
  const prompt = routePrompt({ node: leaving.node, options, context, ...refused });
  return ask(state, { key, purpose: "route", node: leaving.node, model, prompt });
}

function finish(program: Program, state: State, leaving: Leaving, why: string): Step {
  if (leaving.failed) return end(state, "failed", `node ${leaving.node} failed`, leaving.error);
  const idle = idleness(program.record, state);
  if (idle) return end(state, "failed", "no work was done", idle);
  return end(state, "succeeded", why || "the last node is done");
}

/** A run that did no work is never a success (cli "Exit codes"). */
function idleness({ workflow, skills }: RunRecord, state: State): RunError | undefined {
  if (state.usage.modelCalls === 0 && state.modelError) return state.modelError;
  const available = new Set(skills.filter((skill) => skill.available).map((skill) => skill.id));
  const visited = [...state.results].map(([id, result]) => {
    const listed = workflow.nodes[id]?.skills ?? [];
    const lost = listed.length > 0 && !listed.some((skill) => available.has(skill));
    return { skipped: result.status === "skipped", lost };
  });
  if (!visited.every(({ skipped, lost }) => skipped || lost)) return undefined;
  if (visited.every(({ skipped }) => skipped)) {
    return { code: "run.no_work", message: "no work was done: every visited node was skipped" };
  }
  return {
    code: "skills.missing",
    message: "no work was done with any skill: every visited node lost all of its skills",
    hint: "skillflow doctor WORKFLOW tells what each skill needs",
  };
}

function endUnrouted(state: State, leaving: Leaving): Step {
  const message = `no edge out of ${leaving.node} could be chosen: the model named no live choice twice`;
  const unresolved: RunError = {
    code: "route.unresolved",
    message,
    hint: "make the conditions exclude each other, or use a stronger model",
    node: leaving.node,
  };
  const error = leaving.answers.at(-1) === undefined ? (leaving.routeError ?? unresolved) : unresolved;
  return end(state, "failed", `no route out of ${leaving.node}`, error);
}

function endHalted(state: State): Step {
  const { status, reason, limit } = state.halt ?? { status: "stopped", reason: "" };
  const code = status === "stopped" ? "limit.reached" : "run.interrupted";
  const hint = limit && limit !== "timeout" ? `raise ${limit} and resume` : undefined;
  return end(state, status, reason, { code, message: reason, ...(hint ? { hint } : {}) });
}

function end(
  state: State,
  status: "succeeded" | "failed" | "stopped" | "interrupted",
  reason: string,
  error?: RunError,
): Step {
  const results = Object.fromEntries(state.results);
  const body: EventBody = { type: "workflow:end", results, status, reason, ...(error ? { error } : {}) };
  return {
    kind: "decide",
    key: `end/${state.visits}/${state.leaving?.asks ?? 0}/${state.usage.modelCalls}`,
    bodies: [body],
  };
}

/** Milliseconds that a node's present attempt may still take; undefined without a limit (O10). */
export function attemptTimeLeft(program: Program, state: State): number | undefined {
  const { visit } = state;
  if (!visit) return undefined;
  const limit = parseDuration(program.node(visit.node).timeout) ?? state.settings.node_timeout_ms;
  return limit === undefined ? undefined : limit - (state.activeMs - visit.attemptFrom);
}

/** Milliseconds that the run may still take. */
export function runTimeLeft(state: State): number | undefined {
  const limit = state.settings.limits.timeout_ms;
  return limit === undefined ? undefined : limit - state.activeMs;
}
