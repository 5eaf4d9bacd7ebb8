import { isObject, type Json, type JsonObject } from "../../../base/values.ts";
import { parseCondition } from "../../../document/condition.ts";
import { fillStep, pathsIn } from "../../../document/fill.ts";
import { checkValues, pathsOf } from "../../../document/value-rule.ts";
import { callsOf, type NodeStep, type StepCall } from "../../../document/workflow/step.ts";
import type { ToolDescriptor } from "../../../skill/skill.ts";
import { parseSkillReference } from "../../../skill/skill-reference.ts";
import { alike } from "../../../skill/tool-names.ts";
import { plannedAs } from "../../event/operation.ts";
import { withRunRoots } from "../../finding/write.ts";
import { skillsNow } from "../../fold/degraded.ts";
import { lastVisitsOf } from "../../fold/last-visits.ts";
import { newCall, type PendingCall, stepsData } from "../../fold/visit.ts";
import { settingsAt, toolNamed, toolsAt } from "../offer.ts";
import { contextFor, skillsAt } from "../route.ts";
import { type Scene, toolsHere } from "../scene.ts";
import { toolOf } from "./reading.ts";

/** The calls that the steps of a node make, and the skills that they lack. */

/**
 * Returns the call of a step, or why it is skipped. Only results of the steps before it count. `index`: position among
 * concurrent calls.
 */
export function turnOf(scene: Scene, step: NodeStep, index = 0): PendingCall | "condition" | "skills" | "denied" {
  const root = rootsBefore(scene, step);
  if (!isMet(step, root)) return "condition";
  const chosen = choose(scene, step);
  if (!chosen) return "skills";
  const isDenied = settingsAt(scene.program, scene.state.run.settings).writes === "deny";
  if (isDenied && chosen.tool?.effect === "write") return "denied";
  return callOf(scene, { step: step.id, index }, { ...chosen, root });
}

/** Returns the values that a step's condition and templates can read. Nodes win over the roots of the same name. */
function rootsBefore({ program, state, visit, node }: Scene, step: NodeStep): JsonObject {
  const ids = (node.steps ?? []).map(({ id }) => id);
  const before = new Set(ids.slice(0, ids.indexOf(step.id)));
  const calls = visit.calls.filter(({ step: id }) => id !== undefined && before.has(id));
  const roots = ["input", "skills", ...state.results.keys()];
  const outer = contextFor(roots, state, skillsAt(program, state, visit.node));
  return withRunRoots({ steps: stepsData({ calls }), ...outer }, { program, state }, pathsOfStep(step));
}

export function pathsOfStep(step: NodeStep): string[] {
  const rule = step.if === undefined ? "" : parseCondition(step.if);
  const inputs = callsOf(step).flatMap((call) => pathsIn((call.with ?? {}) as JsonObject));
  return [...(typeof rule === "string" ? [] : pathsOf(rule)), ...inputs];
}

function isMet({ if: condition }: NodeStep, root: JsonObject): boolean {
  if (condition === undefined) return true;
  const rule = parseCondition(condition);
  return typeof rule !== "string" && checkValues(rule, root).length === 0;
}

interface Chosen {
  readonly call: StepCall;
  readonly tool: ToolDescriptor | undefined;
}

/** Returns the first call whose skill is configured, or else the first that can be planned. Unknown tools come last. */
function choose(scene: Scene, step: NodeStep): Chosen | undefined {
  const { program, state, visit } = scene;
  const { all } = toolsHere(scene);
  const skills = program.skills(visit.node, state.run.changed);
  const plannable = new Set(skills.flatMap((skill) => (skill.plannable ? skill.id : [])));
  const calls = callsOf(step).map((call) => ({ call, tool: toolNamed(all, call.tool) }));
  return (
    calls.find(({ tool }) => tool && !plannable.has(tool.skill)) ??
    calls.find(({ tool }) => tool) ??
    calls.find(({ call }) => lostSkills(scene, call).length === 0)
  );
}

/** Returns the unavailable skills that a call may need. Their tools are known only by the skill's id in their name. */
function lostSkills({ program, state, visit, node }: Scene, { tool: name }: StepCall): readonly string[] {
  const { changed } = state.run;
  const now = skillsNow(program.record, changed);
  const usable = new Set(now.flatMap(({ id, available, plannable }) => (available && !plannable ? id : [])));
  const recorded = toolNamed(toolsAt(program, state, visit.node).all, name);
  if (recorded) return [recorded.skill];
  const isOf = (id: string) => alike(name).startsWith(`${alike(parseSkillReference(id).id)}_`);
  const listed = [...new Set(node.skills)];
  const lost = listed.filter((id) => !usable.has(id));
  const named = lost.filter(isOf);
  // A tool that a usable skill does not have is a mistake.
  return named.length > 0 || listed.some((id) => usable.has(id) && isOf(id)) ? named : lost;
}

/**
 * Returns the unavailable skills because of which a node did less: those of steps that must succeed, or of all steps if
 * none could run.
 */
export function missedSkills(scene: Scene): readonly string[] {
  const due = (scene.node.steps ?? []).flatMap((step) => {
    const turn = turnOf(scene, step);
    return turn === "condition" ? [] : [{ step, isLost: turn === "skills" }];
  });
  const lost = due.filter(({ isLost }) => isLost);
  const counting = lost.length === due.length ? lost : lost.filter(({ step }) => step.on_error !== "skip");
  return counting.flatMap(({ step }) => callsOf(step).flatMap((call) => lostSkills(scene, call)));
}

export function deniedSteps(scene: Scene): string[] {
  if (settingsAt(scene.program, scene.state.run.settings).writes !== "deny") return [];
  return (scene.node.steps ?? []).flatMap((step) => (turnOf(scene, step) === "denied" ? step.id : []));
}

/** Creates a step's call. If its input cannot be filled in, the call has the problem and is refused. */
function callOf(
  scene: Scene,
  place: Required<Pick<PendingCall, "step" | "index">>,
  { call, tool, root }: Chosen & { readonly root: JsonObject },
): PendingCall {
  const { visit } = scene;
  const key = `${visit.key}/${visit.attempt}/${visit.replies}/${place.index}`;
  const written = (call.with ?? {}) as JsonObject;
  const named = { key, id: key, tool: tool?.exposed ?? call.tool, broken: false, ...place };
  const filled = fillStep(written, { root, references: referencesHere(scene) });
  if ("problem" in filled) return newCall({ ...named, input: written, problem: filled.problem });
  const { values: input, planned: plannedInput, refers } = filled;
  return { ...newCall({ ...named, input, plannedInput, refers }), ...visit.audiences.get(key) };
}

/** Returns references to the declared outputs of planned writes, at the places of their data, also in maps and calls. */
function referencesHere({ program, state, visit }: Scene): JsonObject {
  if (state.run.operations.length === 0) return {};
  const places = [
    { path: "steps", at: state.inside?.at, node: visit.node, calls: visit.calls },
    ...lastVisitsOf(state).map(({ path, at, step: { node }, result }) => {
      return { path, at, node, calls: result?.toolCalls ?? [] };
    }),
  ];
  const references: Record<string, unknown> = {};
  for (const { path, at, node, calls } of places) {
    for (const { step, tool, planned, output } of calls) {
      const operation = plannedAs({ planned, output });
      if (step === undefined || operation === undefined) continue;
      const { output_schema } = toolOf({ program, state }, { at, node, tool }) ?? {};
      if (isObject(output_schema?.properties))
        put(references, `${path}.${step}`, referencesTo(operation, output_schema));
    }
  }
  return references as JsonObject;
}

/** Puts a value at a path such as `each.items[0].data.results.file.one`. */
function put(root: Record<string, unknown>, path: string, value: Json): void {
  const names = path.split(/\]?[.[]/);
  let at = root;
  for (const [index, name] of names.slice(0, -1).entries()) {
    at[name] ??= /^\d/.test(names[index + 1] ?? "") ? [] : {};
    at = at[name] as Record<string, unknown>;
  }
  at[names.at(-1) ?? ""] = value;
}

/** Returns an object with a reference for each property that a schema declares. */
function referencesTo(place: string, schema: unknown): Json {
  const { properties } = isObject(schema) ? schema : {};
  if (!isObject(properties)) return `\${${place}}`;
  const members = Object.entries(properties).filter(([name]) => /^[^.[\]{}]+$/.test(name));
  return Object.fromEntries(members.map(([name, inner]) => [name, referencesTo(`${place}.${name}`, inner)]));
}
