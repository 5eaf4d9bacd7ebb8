import { type Diagnostic, errorAt, warningAt } from "../../base/diagnostic.ts";
import { checkJsonSchema } from "../../base/schema/json-schema.ts";
import { deepEqual, didYouMean, groupBy, isObject, type JsonSchema, nearest } from "../../base/values.ts";
import { instanceOf, type KnownSkills, parseRemote } from "../../skill/skill-reference.ts";
import { inlineWorkflow } from "../inner/inline.ts";
import { RUN_FIELDS } from "../inputs.ts";
import { type ModelChoice, modelsOf } from "../model-list.ts";
import { nearProvider } from "../model-name.ts";
import type { Edge, WorkflowNode } from "../workflow/node.ts";
import type { Workflow } from "../workflow/workflow.ts";
import { checkConditions } from "./conditions.ts";
import { checkJudgeBudget } from "./judge-budget.ts";
import { type Beyond, dataShapes, findInline, itemInput } from "./node-data.ts";
import { checkPaths } from "./paths.ts";
import { checkSteps, STEP_ROOTS, WITH_ROOTS } from "./steps.ts";
import { checkWorkspace } from "./workspace.ts";

/** Limit on suggestions, because searching for similar names is slow in a large graph. */
const MOST_SUGGESTIONS = 50;

/** Checks the structure of a workflow that fits the schema. Returns all errors and warnings. */
export function checkWorkflow(workflow: Workflow, knownSkills: KnownSkills, input?: JsonSchema): Diagnostic[] {
  const shapes = dataShapes(workflow, { find: findInline(workflow) }, input);
  const nodes = new Map(Object.entries(workflow.nodes));
  const edges = checkEdgeEnds(workflow.edges, nodes);
  return [
    ...checkInputDefaults(workflow),
    ...checkEntry(workflow.entry, nodes),
    ...edges.diagnostics,
    ...(nodes.has(workflow.entry) ? checkReach(workflow.entry, nodes, edges.meant) : []),
    ...checkCycles(edges.sound),
    ...checkDefaults(workflow.edges),
    ...checkConditions(workflow, shapes),
    ...checkSteps(workflow),
    ...checkWorkspace(workflow),
    ...checkInlineSkills(workflow),
    ...[...nodes].flatMap((entry) => checkNode(entry, workflow, knownSkills)),
    ...checkPaths(workflow, shapes),
    ...checkProviders(workflow),
    ...checkJudgeBudget(workflow),
    ...[...nodes].flatMap((entry) => checkInline(entry, workflow, knownSkills)),
  ];
}

/** Finds errors in paths and conditions that only become visible with more knowledge than `known`. */
export function checkPathsInto(workflow: Workflow, more: Beyond, known: Beyond = { find: findInline(workflow) }) {
  const check = (beyond: Beyond) => {
    const shapes = dataShapes(workflow, beyond);
    return [...checkConditions(workflow, shapes), ...checkPaths(workflow, shapes, beyond.stepShape)];
  };
  const told = new Set(check(known).map((found) => JSON.stringify(found)));
  return check(more).filter((found) => !told.has(JSON.stringify(found)));
}

type NodeEntry = readonly [id: string, node: WorkflowNode];

/** Checks a map's inline workflow. Skips findings about inherited parts, which the outer check reports. */
function checkInline([id, node]: NodeEntry, workflow: Workflow, knownSkills: KnownSkills): Diagnostic[] {
  if (!node.nodes) return [];
  const own = ["nodes", "edges", "entry"];
  return checkWorkflow(inlineWorkflow(workflow, id, node), knownSkills, itemInput(node))
    .filter(({ path }) => own.includes(String(path[0])))
    .map((found) => ({
      ...found,
      path: ["nodes", id, ...found.path],
      message: `${found.message} (inside node "${id}")`,
    }));
}

function checkInputDefaults({ inputs = {} }: Workflow): Diagnostic[] {
  return Object.entries(inputs).flatMap(([name, field]) => {
    const complaint = field.default === undefined ? undefined : enumComplaint(field.enum, field.default);
    return complaint
      ? [errorAt("INPUT_INVALID", ["inputs", name, "default"], `the default of input "${name}" ${complaint}`)]
      : [];
  });
}

function checkEntry(entry: string, nodes: ReadonlyMap<string, WorkflowNode>): Diagnostic[] {
  if (nodes.has(entry)) return [];
  return [errorAt("MISSING_ENTRY", ["entry"], `entry "${entry}" is not a node`, didYouMean(entry, nodes.keys(), '"'))];
}

interface IndexedEdge extends Edge {
  readonly index: number;
}

function checkEdgeEnds(edges: readonly Edge[], nodes: ReadonlyMap<string, WorkflowNode>) {
  const diagnostics: Diagnostic[] = [];
  const sound: IndexedEdge[] = [];
  /** Edges with the ends that are probably meant, so that a misspelled one does not make nodes unreachable. */
  const meant: Pick<Edge, "from" | "to">[] = [];
  for (const [index, edge] of edges.entries()) {
    for (const [end, code] of [
      ["from", "UNKNOWN_EDGE_SOURCE"],
      ["to", "UNKNOWN_EDGE_TARGET"],
    ] as const) {
      if (nodes.has(edge[end])) continue;
      const message = `edge ${index} names an unknown node "${edge[end]}" in "${end}"`;
      const isEnd = end === "to" && /^(?:end|stop|exit|done|finish)$/i.test(edge.to);
      const leave = "remove the edge: a run ends after a node without an edge to follow";
      const isSuggested = diagnostics.length < MOST_SUGGESTIONS;
      const near = isEnd ? leave : isSuggested ? didYouMean(edge[end], nodes.keys(), '"') : undefined;
      diagnostics.push(errorAt(code, ["edges", index, end], message, near));
    }
    if (edge.from === edge.to && edge.max_iterations === undefined) {
      const message = `node "${edge.from}" leads to itself without a bound`;
      diagnostics.push(errorAt("SELF_LOOP", ["edges", index], message, "add max_iterations to the edge"));
    }
    if (nodes.has(edge.from) && nodes.has(edge.to)) sound.push({ ...edge, index });
    const [from, to] = [edge.from, edge.to].map((end) =>
      nodes.has(end) || diagnostics.length > MOST_SUGGESTIONS ? end : nearest(end, nodes.keys()),
    );
    if (from !== undefined && to !== undefined) meant.push({ from, to });
  }
  return { diagnostics, sound, meant };
}

function checkReach(
  entry: string,
  nodes: ReadonlyMap<string, WorkflowNode>,
  edges: readonly Pick<Edge, "from" | "to">[],
) {
  const targets = groupBy(edges, ({ from }) => from);
  const reached = new Set<string>();
  const reach = (from: string) => {
    const open = [from];
    for (const id of open) {
      if (reached.has(id)) continue;
      reached.add(id);
      for (const { to } of targets.get(id) ?? []) open.push(to);
    }
  };
  reach(entry);
  const lost = [...nodes.keys()].filter((id) => !reached.has(id));
  // A node behind an unreachable one is only a consequence. In a cycle, each node is behind the others.
  const led = new Set(edges.flatMap(({ from, to }) => (from !== to && !reached.has(from) ? to : [])));
  const first: string[] = [];
  for (const id of [...lost.filter((each) => !led.has(each)), ...lost]) {
    if (reached.has(id)) continue;
    first.push(id);
    reach(id);
  }
  return first.map((id) => {
    const message = `no path leads from "${entry}" to node "${id}"`;
    return errorAt("UNREACHABLE_NODE", ["nodes", id], message, "add an edge to it, or remove it");
  });
}

/** Finds cycles without a bounded edge. Iterative, so that long chains cannot overflow the stack. */
function checkCycles(edges: readonly IndexedEdge[]): Diagnostic[] {
  const unbounded = edges.filter((edge) => edge.max_iterations === undefined && edge.from !== edge.to);
  const targets = groupBy(unbounded, ({ from }) => from);
  const found: Diagnostic[] = [];
  const done = new Set<string>();
  for (const start of targets.keys()) {
    /** Stack index of each node on the current path. */
    const open = new Map<string, number>();
    const stack: { id: string; next: number }[] = [];
    if (!done.has(start)) stack.push({ id: start, next: 0 });
    while (stack.length > 0) {
      const top = stack.at(-1);
      if (!top) break;
      open.set(top.id, stack.length - 1);
      const edge = targets.get(top.id)?.[top.next++];
      if (!edge) {
        open.delete(top.id);
        done.add(top.id);
        stack.pop();
      } else if (open.has(edge.to)) {
        found.push(cycle(stack.slice(open.get(edge.to)), edge));
      } else if (!done.has(edge.to)) {
        stack.push({ id: edge.to, next: 0 });
      }
    }
  }
  return found;
}

function cycle(stack: readonly { readonly id: string }[], closing: IndexedEdge): Diagnostic {
  const round = [...stack.map(({ id }) => id), closing.to];
  const shown = round.length > 12 ? [...round.slice(0, 6), "…", ...round.slice(-5)] : round;
  const message = `the cycle ${shown.join(" -> ")} has no bound`;
  return errorAt("UNBOUNDED_CYCLE", ["edges", closing.index], message, "add max_iterations to one of its edges");
}

/** Finds nodes with more than one unconditional edge. */
function checkDefaults(edges: readonly Edge[]): Diagnostic[] {
  const first = new Map<string, number>();
  return edges.flatMap((edge, index) => {
    if (edge.when?.trim() || edge.if !== undefined) return [];
    const other = first.get(edge.from);
    if (other === undefined) {
      first.set(edge.from, index);
      return [];
    }
    const message = `node "${edge.from}" has two unconditional edges (${other} and ${index})`;
    return [errorAt("AMBIGUOUS_EDGES", ["edges", index], message, "give all but one of them an if or a when")];
  });
}

/** Finds inline skills that have neither an instruction nor a server. */
function checkInlineSkills({ skills = {} }: Workflow): Diagnostic[] {
  return Object.entries(skills).flatMap(([id, skill]) => {
    if (skill.instruction?.trim() || skill.mcp) return [];
    return [errorAt("INVALID_INLINE_SKILL", ["skills", id], `skill "${id}" needs an instruction or an mcp server`)];
  });
}

function checkNode([id, node]: NodeEntry, workflow: Workflow, knownSkills: KnownSkills): Diagnostic[] {
  const path = ["nodes", id];
  const found: Diagnostic[] = [];
  if (id === "input")
    found.push(errorAt("RESERVED_NODE_ID", path, 'a node cannot be called "input": it names the run\'s input'));
  if (id === "skills") {
    const message = 'a node called "skills" hides skills.available and skills.missing from paths';
    found.push(warningAt("RESERVED_NODE_ID", path, message, "rename it"));
  }
  const isHidden = (each: WorkflowNode) => each.steps || (each.with && WITH_ROOTS.includes(id));
  if (STEP_ROOTS.includes(id) && Object.values(workflow.nodes).some(isHidden)) {
    const message = `a node called "${id}" hides the root of that name from templates`;
    found.push(warningAt("RESERVED_NODE_ID", path, message, "rename it"));
  }
  if (node.eval_policy === "any_pass" || node.eval_policy === "weighted") {
    const message = `eval_policy "${node.eval_policy}" is reserved`;
    found.push(errorAt("UNSUPPORTED_EVAL_POLICY", [...path, "eval_policy"], message, "use all_pass"));
  }
  const inline = workflow.skills ?? {};
  for (const [index, skill] of (node.skills ?? []).entries()) {
    const server = parseRemote(skill)?.server ?? skill;
    if (knownSkills.has(skill) || Object.hasOwn(inline, skill) || Object.hasOwn(inline, server)) continue;
    const near = didYouMean(skill, [...knownSkills, ...Object.keys(inline)], '"');
    const instance = instanceOf(skill);
    const isUndeclared = instance !== undefined && knownSkills.has(instance.skill);
    const why = isUndeclared ? `: the skill ${instance.skill} has no instance ${instance.name}` : "";
    const message = `node "${id}" lists an unknown skill "${skill}"${why}`;
    const hint = near ?? (isUndeclared ? "declare it in skills.instances of .skillflow.yml" : undefined);
    found.push(warningAt("UNKNOWN_SKILL", [...path, "skills", index], message, hint));
  }
  const unseen = node.map?.unseen;
  const named: [string, Diagnostic["path"]][] = [
    ...(node.state ?? []).map((state, index): [string, Diagnostic["path"]] => [state, [...path, "state", index]]),
    ...(unseen ? [[unseen.state, [...path, "map", "unseen", "state"]] as [string, Diagnostic["path"]]] : []),
  ];
  for (const [state, place] of named) {
    const declared = Object.keys(workflow.state ?? {});
    if (declared.includes(state)) continue;
    const message = `node "${id}" names a state "${state}" that the workflow does not declare`;
    const hint = didYouMean(state, declared, '"') ?? `declare it at the top: state: { ${state}: {} }`;
    found.push(errorAt("UNKNOWN_STATE", place, message, hint));
  }
  const shape = node.output ? checkJsonSchema(node.output, [...path, "output"]) : [];
  return [...found, ...shape, ...checkEvaluatorNames(path, node), ...checkInnerEval(path, node)];
}

/** Warns about model names that nearly start with a provider. Names without a known prefix are valid. */
function checkProviders({ model, judge_model, nodes }: Workflow): Diagnostic[] {
  const named: [Diagnostic["path"], ModelChoice | undefined][] = [
    [["model"], model],
    [["judge_model"], judge_model],
    ...Object.entries(nodes).flatMap(([id, node]): [Diagnostic["path"], ModelChoice | undefined][] => [
      [["nodes", id, "model"], node.model],
      [["nodes", id, "judge_model"], node.judge_model],
      ...(node.eval ?? []).map((evaluator, index): [Diagnostic["path"], string | undefined] => [
        ["nodes", id, "eval", index, "model"],
        evaluator.kind === "judge" ? evaluator.model : undefined,
      ]),
    ]),
  ];
  return named.flatMap(([path, choice = []]) =>
    modelsOf(choice).flatMap((name, index) => {
      const near = nearProvider(name);
      if (near === undefined) return [];
      const place = typeof choice === "string" ? path : [...path, index];
      const message = `"${name}" has no provider, so it is sent unchanged to the run's provider`;
      return [warningAt("UNKNOWN_PROVIDER", place, message, `did you mean "${near}"?`)];
    }),
  );
}

/** Rejects evaluators that need a model's answer at nodes that run workflows or steps. */
function checkInnerEval(path: Diagnostic["path"], node: WorkflowNode): Diagnostic[] {
  if (!node.map && node.call === undefined && !node.steps) return [];
  return (node.eval ?? []).flatMap(({ kind, name }, index) => {
    if (kind === "value" || (kind === "evidence" && !node.steps)) return [];
    const taken = node.steps
      ? "a steps node accepts only value"
      : "a node that runs workflows accepts only value and evidence";
    const message = `evaluator "${name}" is a ${kind}: ${taken}`;
    return [errorAt("SCHEMA", [...path, "eval", index, "kind"], message)];
  });
}

function checkEvaluatorNames(path: Diagnostic["path"], node: WorkflowNode): Diagnostic[] {
  const seen = new Set<string>();
  return (node.eval ?? []).flatMap(({ name }, index) => {
    const again = seen.has(name);
    seen.add(name);
    const message = `two evaluators are named "${name}"; paths see the last one`;
    return again ? [warningAt("DUPLICATE_EVALUATOR", [...path, "eval", index, "name"], message)] : [];
  });
}

/** Checks a run's input. Returns all errors and the input with defaults. */
export function checkInput(
  workflow: Workflow,
  input: unknown,
): { readonly input: InputValues; readonly diagnostics: Diagnostic[] } {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return { input: {}, diagnostics: [errorAt("INPUT_TYPE", [], "the input must be a JSON object")] };
  }
  const given = new Map(Object.entries(input));
  const diagnostics = unknownFields(workflow, given.keys());
  for (const [name, field] of Object.entries(workflow.inputs ?? {})) {
    const value = given.get(name) ?? null;
    const about = field.description ? ` (${field.description})` : "";
    // A text that another field can replace is missing if it says nothing.
    const isEmpty = field.unless !== undefined && typeof value === "string" && value.trim() === "";
    if (value === null || isEmpty) {
      const isSpared = field.unless !== undefined && (given.get(field.unless) ?? null) !== null;
      if (field.required && !isSpared) {
        const other = field.unless === undefined ? "" : `, and so is "${field.unless}"`;
        diagnostics.push(errorAt("INPUT_MISSING", [name], `input "${name}" is missing${other}${about}`));
      }
      if (field.default !== undefined) given.set(name, field.default);
      continue;
    }
    // An earlier run, which no declared type describes.
    if (name === "run" && isObject(value)) continue;
    const complaint = inputComplaint(field.type, value) ?? enumComplaint(field.enum, value);
    if (complaint) diagnostics.push(errorAt("INPUT_INVALID", [name], `input "${name}" ${complaint}${about}`));
  }
  return { input: Object.fromEntries(given), diagnostics };
}

function unknownFields({ inputs }: Workflow, given: Iterable<string>): Diagnostic[] {
  if (!inputs) return [];
  const known = new Set([...Object.keys(inputs), ...RUN_FIELDS]);
  return [...given].flatMap((name) => {
    if (known.has(name)) return [];
    const meant = didYouMean(name, known, '"') ?? `declared are ${Object.keys(inputs).join(", ")}`;
    return [warningAt("INPUT_UNKNOWN", [name], `the workflow declares no input "${name}"; ${meant}`)];
  });
}

type InputValues = { readonly [key: string]: unknown };

function inputComplaint(type: string, value: unknown): string | undefined {
  if (type === "string[]") {
    if (!Array.isArray(value)) return `must be a list of strings, not ${typeName(value)}`;
    const odd = value.findIndex((item) => typeof item !== "string");
    return odd === -1 ? undefined : `must hold only strings, but element ${odd} is ${typeName(value[odd])}`;
  }
  if (type === "number" && typeof value === "number" && !Number.isFinite(value)) return "must be a finite number";
  return typeName(value) === type ? undefined : `must be a ${type}, not ${typeName(value)}`;
}

/** Checks a value against an enum. For lists, each enum entry is a whole list. */
function enumComplaint(allowed: readonly unknown[] | undefined, value: unknown): string | undefined {
  if (!allowed || allowed.some((item) => deepEqual(item, value))) return undefined;
  return `is ${JSON.stringify(value)}; allowed are ${allowed.map((item) => JSON.stringify(item)).join(", ")}`;
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "list" : typeof value;
}
