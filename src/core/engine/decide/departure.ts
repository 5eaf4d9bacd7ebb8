import type { Hint, OptionName } from "../../base/options.ts";
import { valueAtPath } from "../../base/path.ts";
import { defined, type Json, type JsonObject } from "../../base/values.ts";
import { showCondition } from "../../document/condition.ts";
import { valuesOf } from "../../document/inner/items.ts";
import { documentOf, nodeOf, nodePath } from "../../document/inner/place.ts";
import { isDryRun } from "../../document/inputs.ts";
import type { Degraded, RunError, RunStatus, Unrouted } from "../event/end.ts";
import type { EventBody, EventOf } from "../event/event.ts";
import { planDigest } from "../event/operation.ts";
import type { RunRecord, Skipped } from "../event/record.ts";
import { unshownCause } from "../finding/finding.ts";
import { degradedIn, hasSkill, type Skilled, skillsAt } from "../fold/degraded.ts";
import { ask } from "../fold/limits.ts";
import type { NumberedEdge, Program } from "../fold/program.ts";
import { type Halt, type Inside, prefixOf, type State } from "../fold/state.ts";
import type { SingleStep } from "../fold/step.ts";
import type { Leaving, PathStep } from "../fold/visit.ts";
import { judgeRecheck } from "../recheck/answer.ts";
import { askWord, waitsOf } from "./inner/approval.ts";
import { planOf, sourcesOf } from "./planning.ts";
import {
  chooseRoute,
  contextFor,
  describeUnrouted,
  liveEdges,
  type Option,
  parseChoice,
  routePrompt,
  routingView,
  viewContext,
} from "./route.ts";
import { modelsFor, sceneOf } from "./scene.ts";

/** Steps after a visit: a route, or the end of the run. */

export function route(program: Program, state: State, leaving: Leaving): SingleStep {
  const undecided: string[] = [];
  const edges = liveEdges(program, leaving.node, state, ({ to }, complaint) => {
    const edge = `the edge from ${leaving.node} to ${to}`;
    undecided.push(`${edge} is not followed, because its \`if\` took too long: ${complaint}`);
  });
  const key = `${leaving.key}/undecided/${leaving.answers.length}`;
  const warned = warnOnce(state, { key, node: leaving.node }, undecided);
  if (warned) return warned;
  const choice = chooseRoute(edges, leaving.failed);
  const isCut = leaving.isCut && !leaving.failed;
  if (isCut || (isDryRun(program.record.input) && edges.some((edge) => edge.when !== undefined))) {
    return finish(program, state, leaving, DRY_END);
  }
  if (choice.kind === "end") {
    const leading = program.edgesFrom(leaving.node).length;
    return finish(program, state, leaving, leading > 0 ? `no edge out of ${leaving.node} applied` : "");
  }
  if (choice.kind === "follow") return follow(leaving, choice.edge);
  const answer = leaving.answers.at(-1);
  const chosen = answer === undefined ? undefined : parseChoice(answer, choice.options);
  if (chosen)
    return chosen.edge ? follow(leaving, chosen.edge) : finish(program, state, leaving, "none of the conditions held");
  if (leaving.answers.length >= 2) return endUnrouted(program, state, leaving);
  return askRoute({ program, state, leaving }, choice.options, answer);
}

/** Records warnings that the run does not have yet; undefined if it has them all. */
function warnOnce(
  state: State,
  { key, node }: { readonly key: string; readonly node: string | undefined },
  messages: readonly string[],
): SingleStep | undefined {
  const unsaid = messages.filter((message) => !state.run.warned.has(message));
  if (unsaid.length === 0) return undefined;
  const bodies = unsaid.map((message): EventBody => ({ type: "warning", message, ...defined("node", node) }));
  return { kind: "decide", key, bodies };
}

function follow(leaving: Leaving, edge: NumberedEdge): SingleStep {
  const reason = `it failed, and the run continued: ${leaving.error?.message}`;
  const degraded = leaving.failed ? [{ reason }] : undefined;
  const body: EventBody = {
    type: "route",
    from: leaving.node,
    to: edge.to,
    reason: edge.when ?? (edge.condition ? showCondition(edge.condition) : "only path"),
    edge: edge.index,
    ...defined("degraded", degraded),
  };
  return { kind: "decide", key: `${leaving.key}/follow/${leaving.answers.length}`, bodies: [body] };
}

function askRoute(
  { program, state, leaving }: { readonly program: Program; readonly state: State; readonly leaving: Leaving },
  options: readonly Option[],
  refusedAnswer: string | undefined,
): SingleStep {
  const missing: string[] = [];
  const context = viewContext(state.context, ({ node, data }) => {
    const result = state.results.get(node);
    if (!result) return data;
    const view = routingView(program, node, result);
    for (const name of view.missing)
      missing.push(`node ${node} did not emit its declared output "${name}"; routing sees null`);
    return view.data;
  });
  const key = `${leaving.key}/route/${leaving.answers.length}`;
  const warned = warnOnce(state, { key: `${key}/warn`, node: undefined }, missing);
  if (warned) return warned;
  const refused = refusedAnswer === undefined ? {} : { refused: refusedAnswer.slice(0, 200) };
  const prompt = routePrompt({ node: leaving.node, options, context, ...refused });
  const models = modelsFor(program, state, leaving.node);
  return ask(program, state, { key, purpose: "route", node: leaving.node, models, prompt });
}

const DRY_END = "a dry run stops at the first decision";

function finish(program: Program, state: State, leaving: Leaving, why: string): SingleStep {
  const { failed, node, error } = leaving;
  if (failed) return end(program, state, { status: "failed", reason: `node ${node} failed`, error });
  const idle = state.inside ? undefined : idleness(program.record, state);
  if (idle) return end(program, state, { status: "failed", reason: "no work was done", error: idle });
  const ending = { status: "succeeded", reason: why || "the last node is done" } as const;
  if (why === DRY_END) return end(program, state, { ...ending, isCut: true });
  return end(program, state, { ...ending, unrouted: describeUnrouted(program, state, node) });
}

/** Returns an error if no visit did any work. If the skills changed, checks only the visits since then. */
function idleness({ workflow, skills, inner }: RunRecord, state: State): RunError | undefined {
  if (state.usage.modelCalls === 0 && state.modelError) return state.modelError;
  const { changed, changedFrom } = state.run;
  const isLess = changed.length > 0;
  const visited = state.path.slice(isLess ? changedFrom : 0).filter(({ node }) => !workflow.nodes[node]?.approval);
  const run = { workflow, skills, inner };
  const isSkipped = ({ result, node }: PathStep) => result?.status === "skipped" || isIdleInside(run, state, node);
  const hasLost = (step: PathStep) => {
    return workflow.nodes[step.node]?.steps ? hasLostSteps(step) : hasLostAll(run, state, step.node);
  };
  if (visited.length === 0 || !visited.every((step) => isSkipped(step) || hasLost(step))) return undefined;
  const first = visited.find((step) => !isSkipped(step));
  if (first) return nothingLeft(state, isLess ? first.node : undefined);
  return isLess ? undefined : { code: "run.no_work", message: "no work was done: every visited node was skipped" };
}

/** Checks whether every visited node of a node's inner runs was skipped, apart from approvals. */
function isIdleInside({ inner = {} }: Skilled, { run: { traces } }: State, node: string): boolean {
  const inside = [...traces].filter(([place]) => `${documentOf(place)}/`.startsWith(`${node}/`));
  const parents = new Set(inside.map(([place]) => nodeOf(place)));
  const done = inside.flatMap(([place, { steps }]) => {
    const { nodes } = inner[documentOf(place)]?.workflow ?? {};
    return steps.filter((step) => !nodes?.[step.node]?.approval && !parents.has(nodePath(place, step.node)));
  });
  return done.length > 0 && done.every(({ status }) => status === "skipped");
}

/** Checks whether a `steps` node made no call because its skills are missing. */
function hasLostSteps({ result, degraded }: PathStep): boolean {
  return result?.toolCalls.length === 0 && degraded.some(({ skill }) => skill !== undefined);
}

/** Checks whether a node, or every node of its inner runs, lists skills but has none of them. */
function hasLostAll(run: Skilled, { run: { changedAt } }: State, node: string): boolean {
  const inside = [...changedAt.keys()].filter((path) => path.startsWith(`${node}/`));
  const leaves = inside.filter((path) => !inside.some((other) => other.startsWith(`${path}/`)));
  return (leaves.length === 0 ? [node] : leaves).every((path) => {
    return skillsAt(run, path).length > 0 && !hasSkill(run, path, changedAt.get(path)) && !isUnconnected(run, path);
  });
}

/** Checks whether a node lists a skill that is missing only because a dry run connects no servers. */
function isUnconnected(run: Skilled, path: string): boolean {
  const unconnected = new Set(run.skills.flatMap(({ id, cause }) => (cause === "unconnected" ? id : [])));
  return skillsAt(run, path).some((id) => unconnected.has(id));
}

/** Creates the error of a run without skills. `node` is the first one that lost all of them after a resume. */
function nothingLeft({ run: { changed } }: State, node: string | undefined): RunError {
  const code = "skills.missing";
  const hint = "run skillflow doctor WORKFLOW to see what each skill needs";
  if (node === undefined) return { code, message: "no work was done: every visited node lost all its skills", hint };
  const lost = changed.map(({ id, reason }) => `${id} (${reason ?? "unavailable"})`).join(", ");
  const message = `no work was done after the resume: every node lost all its skills: ${lost}`;
  return { code, message, hint: "set what the skills need, then resume the run", node };
}

function endUnrouted(program: Program, state: State, leaving: Leaving): SingleStep {
  const message = `no edge out of ${leaving.node} could be chosen: the model twice gave an invalid choice`;
  const unresolved: RunError = {
    code: "route.unresolved",
    message,
    hint: "make the conditions exclude each other, or use a stronger model",
    node: leaving.node,
  };
  const error = leaving.answers.at(-1) === undefined ? (leaving.routeError ?? unresolved) : unresolved;
  return end(program, state, { status: "failed", reason: `no route out of ${leaving.node}`, error });
}

const RAISED_BY: Readonly<Record<string, OptionName>> = {
  max_cost_usd: "max-cost",
  max_tokens: "max-tokens",
  max_steps: "max-steps",
};

export function endHalted(program: Program, state: State, halt: Halt): SingleStep {
  if (halt.status === "failed") return end(program, state, halt);
  const { status, reason, limit } = halt;
  const code = status === "stopped" ? "limit.reached" : "run.interrupted";
  const option = limit && RAISED_BY[limit];
  const hint: Hint | "" | undefined = limit?.endsWith("_per_day")
    ? "resume it tomorrow, or raise limits.per_day"
    : option && ["raise ", { option }, " and resume"];
  return end(program, state, { status, reason, error: { code, message: reason, ...defined("hint", hint) } });
}

/** Ends a run that was started during the cool-down. It does nothing. */
export function endSkipped(program: Program, state: State, { run, at, verdict }: Skipped): SingleStep {
  const found = verdict === undefined ? "" : `, which found ${verdict}`;
  return end(program, state, { status: "skipped", reason: `within the cool-down after run ${run} of ${at}${found}` });
}

interface Ending {
  readonly status: Exclude<RunStatus, "waiting">;
  readonly reason: string;
  readonly error?: RunError | undefined;
  readonly unrouted?: Unrouted | undefined;
  /** Whether a dry run ends early. */
  readonly isCut?: true;
}

export function end(program: Program, state: State, ending: Ending): SingleStep {
  if (state.inside) return endInside(program, state, state.inside, ending);
  const { status, reason, error, unrouted } = ending;
  const { verdict, warnings } = toldVerdict(program, state);
  const body: EventBody = {
    type: "workflow:end",
    results: Object.fromEntries(state.results),
    status,
    reason,
    ...defined("verdict", verdict),
    degraded: degradedWith(program, state),
    ...defined("unrouted", unrouted),
    ...defined("error", error),
  };
  return {
    kind: "decide",
    key: endKey(state),
    bodies: [...warnings, body],
  };
}

function endKey(state: State): string {
  return `${prefixOf(state)}end/${state.visits}/${state.leaving?.answers.length ?? 0}/${state.usage.modelCalls}`;
}

/** Ends an inner run. Its node handles the result. An inner run that reached its own limit has failed. */
function endInside(program: Program, state: State, inside: Inside, { error: failure, isCut }: Ending): SingleStep {
  const { node, at: inner, key, parent } = inside;
  const { verdict, warnings } = toldVerdict(program, state);
  const results = Object.fromEntries([...state.results].map(([id, { data }]) => [id, data]));
  const data: JsonObject = { ...defined("verdict", verdict), results };
  const step = (outcome: InnerOutcome): SingleStep => {
    const body = { type: "inner:end", node, inner, ...defined("item", key), ...outcome } as const;
    return { kind: "decide", key: endKey(state), at: parent.inside?.at, bodies: [...warnings, body] };
  };
  if (isCut) return step({ status: "success", data, cut: isCut });
  if (!failure) return step({ status: "success", data, ...judgedIn(program, state, inside) });
  const limit = state.halt?.status === "stopped" ? state.halt.limit : undefined;
  const message = limit === undefined ? failure.message : `${limit}: ${failure.message}`;
  const isSkipped = program.parent?.node(node).map?.on_error === "skip";
  if (isSkipped) return step({ status: "skipped", data, skipped_reason: message });
  return step({ status: "failed", data: { ...data, error: message }, error: { ...failure, message } });
}

type InnerOutcome = Omit<EventOf<"inner:end">, "type" | "node" | "inner" | "item">;

/** Returns what the state stores about a judged item, so that later runs can skip it. */
function judgedIn(program: Program, state: State, { node }: Inside): Pick<EventOf<"inner:end">, "judged"> {
  const map = program.parent?.node(node).map;
  if (!map?.unseen) return {};
  const values = valuesOf(map, state.context.input[map.as] ?? null);
  const last = state.path.at(-1)?.node ?? program.workflow.entry;
  const isTainted = sourcesOf({ program, state, visit: { node: last } }).length > 0;
  return { judged: { state: map.unseen.state, values, ...(isTainted ? { tainted: true } : {}) } };
}

/** Ends a run that can only wait for approvals. If a plan changed since it was shown, asks again first. */
export function park(program: Program, state: State): SingleStep {
  const waiting = waitsOf(state);
  const isOld = (digest: string | undefined, of: State) => digest !== undefined && digest !== planDigest(planOf(of));
  const changed = waiting.find(({ asked, state: inner }) => isOld(asked.digest, inner));
  if (changed) {
    const at = changed.state.inside?.at;
    return { ...askWord(sceneOf(program.inside(at), changed.state, changed.visit)), at };
  }
  const nodes = waiting.map(({ node }) => node).join(", ");
  const reason = `waits for a decision: ${nodes}`;
  const body: EventBody = {
    type: "workflow:end",
    results: Object.fromEntries(state.results),
    status: "waiting",
    reason,
    ...defined("verdict", toldVerdict(program, state).verdict),
    waiting: waiting.map(({ node, asked: { ask, since, until, digest } }) => {
      return { node, ask, since, ...defined("until", until), ...defined("digest", digest) };
    }),
    degraded: degradedIn(state),
    error: { code: "run.waiting", message: reason },
  };
  return { kind: "decide", key: `wait/${state.entered}/${state.usage.modelCalls}/${waiting.length}`, bodies: [body] };
}

/** Adds the node with the cause to the degraded ones if evidence was checked there and no claim shows the cause. */
function degradedWith(program: Program, state: State): Degraded[] {
  const degraded = degradedIn(state);
  const node = unshownCause(state, program.record);
  const isKnown = node === undefined || degraded.some((each) => each.node === node && each.skill === undefined);
  return isKnown ? degraded : [...degraded, { node, reason: "no claim shows its cause" }];
}

/** Returns the verdict of a run that ends. A value that is not a string is none, with a warning. */
function toldVerdict(program: Program, state: State): { verdict: string | undefined; warnings: EventBody[] } {
  const found = verdictOf(program, state);
  const verdict = typeof found === "string" ? found : undefined;
  if (found === verdict) return { verdict, warnings: [] };
  const path = [program.workflow.verdict].flat().join(" or ");
  const [whose, who] = state.inside ? [`verdict of ${state.inside.at}`, "it"] : ["verdict", "the run"];
  return {
    verdict,
    warnings: [{ type: "warning", message: `the ${whose}, ${path}, is not a string: ${who} has none` }],
  };
}

/** Returns the value at the first of the workflow's `verdict` paths that resolves, or the answer of a recheck. */
function verdictOf({ record, workflow: { verdict = [] } }: Program, state: State): Json | undefined {
  const judged = judgeRecheck(record, state);
  if (judged) return judged.recheck.answer;
  for (const path of [verdict].flat()) {
    const found = valueAtPath(path, contextFor([path], state));
    if (found !== undefined) return found;
  }
  return undefined;
}
