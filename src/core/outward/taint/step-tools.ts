import { type Diagnostic, errorAt, type Finding, warningAt } from "../../base/diagnostic.ts";
import { attempt } from "../../base/errors.ts";
import { plainlyFits } from "../../base/schema/plain-fit.ts";
import { compileSchema } from "../../base/schema/schema.ts";
import { didYouMean, isObject, type Json, type JsonObject, type JsonSchema, nearest } from "../../base/values.ts";
import type { StepShape } from "../../document/check/node-data.ts";
import { isOptionalMember, pathsIn } from "../../document/fill.ts";
import type { WorkflowNode } from "../../document/workflow/node.ts";
import { callsOf, type NodeStep, type StepCall } from "../../document/workflow/step.ts";
import type { Workflow } from "../../document/workflow/workflow.ts";
import { toolNamed } from "../../engine/decide/offer.ts";
import { BOARD_TOOLS, OWN_TOOLS } from "../../engine/tools/own-tools.ts";
import { TOOL_MAKER } from "../../engine/tools/tool-maker.ts";
import type { ToolDescriptor } from "../../skill/skill.ts";
import { alike } from "../../skill/tool-names.ts";
import { type DeclaredSkill, declaredTools } from "./tools.ts";

type Path = Diagnostic["path"];

/** Checks the tools that nodes name. Names of tools that are not all known are not checked. */

/** Reports unknown tool names in filters and evaluators. Skips nodes whose tools are not all known. */
export function checkToolNames(
  { nodes }: Pick<Workflow, "nodes">,
  skills: ReadonlyMap<string, DeclaredSkill>,
): Diagnostic[] {
  return Object.entries(nodes).flatMap(([id, node]) => {
    const named = namedTools(id, node);
    if (named.length === 0 || node.skills?.includes(TOOL_MAKER)) return [];
    const { all, unsure } = knownTools(node, skills);
    if (unsure.length > 0) return [];
    const known = new Set([...all.flatMap(({ exposed, name }) => [exposed, name]), ...OWN_TOOLS]);
    return named.flatMap(({ name, path }): Diagnostic[] => {
      if (known.has(name)) return [];
      const message = `no tool of node "${id}" is named "${name}"`;
      return [warningAt("UNKNOWN_TOOL", path, message, didYouMean(name, known, '"'))];
    });
  });
}

interface NamedTool {
  readonly name: string;
  readonly path: Diagnostic["path"];
}

function namedTools(id: string, { tools = {}, eval: evaluators = [] }: WorkflowNode): NamedTool[] {
  const lists = [
    ...Object.entries(tools).map(([key, names]) => ({ names, path: ["nodes", id, "tools", key] })),
    ...evaluators.flatMap((evaluator, index) => {
      const rules = evaluator.kind === "function" ? Object.entries(evaluator.rule) : [];
      return rules.map(([key, names]) => ({ names, path: ["nodes", id, "eval", index, "rule", key] }));
    }),
  ];
  return lists.flatMap(({ names = [], path }) => names.map((name, index) => ({ name, path: [...path, index] })));
}

/** Checks the tools of `steps` nodes: their names, their effects, and their input as far as it is literal. */
export function checkStepTools(
  { nodes }: Pick<Workflow, "nodes">,
  skills: ReadonlyMap<string, DeclaredSkill>,
): Finding[] {
  return Object.entries(nodes).flatMap(([id, node]) => {
    if (!node.steps) return [];
    const known = knownTools(node, skills);
    return node.steps.flatMap((step, index) => checkStep({ step, path: ["nodes", id, "steps", index] }, node, known));
  });
}

/** Tools of a node without its filters, and the ids of the skills whose tools are all known, or not. */
interface KnownTools {
  readonly all: readonly ToolDescriptor[];
  readonly sure: readonly string[];
  readonly unsure: readonly string[];
}

function knownTools(node: WorkflowNode, skills: ReadonlyMap<string, DeclaredSkill>): KnownTools {
  const ids = node.skills ?? [];
  const sure = ids.filter((id) => skills.get(id)?.unknown.length === 0);
  const { tools: _, effects: __, steps: ___, ...unfiltered } = node;
  const listed = ids.flatMap((id) => skills.get(id) ?? []);
  const { all } = declaredTools(unfiltered, listed, "allow");
  return { all: [...all, ...BOARD_TOOLS], sure, unsure: ids.filter((id) => !sure.includes(id)) };
}

/** Returns the declared output of steps, for the checks of paths. A planned write returns its operation instead. */
export function stepShapes(skills: ReadonlyMap<string, DeclaredSkill>): StepShape {
  const toolsOf = new WeakMap<WorkflowNode, readonly ToolDescriptor[]>();
  return (node, { tool: name }) => {
    const all = toolsOf.get(node) ?? knownTools(node, skills).all;
    toolsOf.set(node, all);
    const { output_schema: schema, effect } = (name !== undefined && toolNamed(all, name)) || {};
    if (effect === "write" && !isObject(schema?.properties)) return undefined;
    const properties = { ...ADDED, ...(effect === "write" ? PLANNED : {}), ...(schema?.properties as JsonObject) };
    return isObject(schema?.properties) ? { ...schema, properties } : schema;
  };
}

/** Members of a result that tools add when they shorten it. */
const ADDED = { truncated: {}, limit: {} };
const PLANNED = {
  planned: { type: "boolean" },
  id: { type: "string" },
  held: { type: "string" },
  same: { type: "boolean" },
};

function checkStep(
  { step, path }: { readonly step: NodeStep; readonly path: Path },
  node: WorkflowNode,
  known: KnownTools,
): Finding[] {
  const calls = callsOf(step).map((call, index) => ({
    call,
    tool: toolNamed(known.all, call.tool),
    at: step.first_of ? [...path, "first_of", index] : path,
  }));
  const effects = new Set(calls.flatMap(({ tool }) => tool?.effect ?? []));
  const mixed = "the alternatives of a step must have the same effect, and some of these read while others write";
  return [
    ...(effects.size > 1 ? [errorAt("STEP_EFFECT", [...path, "first_of"], mixed)] : []),
    ...calls.flatMap(({ call, tool, at }) => {
      if (!tool) return unknownTool(call.tool, [...at, "tool"], known);
      const message = `${tool.exposed} writes, and the node has \`effects: read\``;
      const isRefused = tool.effect === "write" && node.effects === "read";
      return [...(isRefused ? [errorAt("STEP_EFFECT", [...at, "tool"], message)] : []), ...checkInput(call, tool, at)];
    }),
  ];
}

/** Reports a name that no tool has. Names that may be of a skill whose tools are not known get a note. */
function unknownTool(name: string, path: Path, { all, sure, unsure }: KnownTools): Finding[] {
  const isOfSure = sure.some((id) => alike(name).startsWith(`${alike(id)}_`));
  if (unsure.length > 0 && !isOfSure) {
    const message = `"${name}" was not checked, because the tools of ${unsure.join(", ")} are not known here`;
    return [{ severity: "note", code: "UNKNOWN_TOOL", path, message }];
  }
  const owners = all.filter((tool) => tool.name === name).map(({ exposed }) => exposed);
  if (owners.length > 1) {
    return [errorAt("UNKNOWN_TOOL", path, `"${name}" may be any of ${owners.join(", ")}`, "write the whole name")];
  }
  const hint = didYouMean(name, new Set(all.flatMap((tool) => [tool.exposed, tool.name])), '"');
  return [errorAt("UNKNOWN_TOOL", path, `none of the node's skills has a tool named "${name}"`, hint)];
}

function checkInput({ with: given = {} }: StepCall, tool: ToolDescriptor, at: Path): Diagnostic[] {
  const { properties, required, additionalProperties } = tool.input_schema;
  const declared = isObject(properties) ? (properties as JsonObject) : {};
  const members = Object.entries(given).map(([written, value]) => {
    const isOptional = isOptionalMember(written, value as Json);
    return { written, name: isOptional ? written.slice(0, -1) : written, isOptional, value: value as Json };
  });
  const needed = Array.isArray(required) ? required.map(String) : [];
  const isMeant = (written: string, name: string) =>
    written === name ||
    (additionalProperties === false && !Object.hasOwn(declared, written) && nearest(written, [name]) !== undefined);
  const missing = needed.filter((name) => !members.some((member) => isMeant(member.name, name)));
  const found = (path: Path, message: string, hint?: string) => errorAt("STEP_INPUT", [...at, ...path], message, hint);
  return [
    ...missing.map((name) => found(["with"], `${tool.exposed} needs \`${name}\``)),
    ...members.flatMap(({ written, name, isOptional, value }) => {
      const path = ["with", written];
      if (isOptional && needed.includes(name)) {
        return [found(path, `${tool.exposed} needs \`${name}\`, so it cannot be left out`, `write \`${name}\``)];
      }
      if (!Object.hasOwn(declared, name)) {
        if (additionalProperties !== false) return [];
        const hint = didYouMean(name, Object.keys(declared), '"');
        return [found(path, `${tool.exposed} has no parameter \`${name}\``, hint)];
      }
      if (pathsIn(value).length > 0) return [];
      return literalProblems(tool.input_schema, name, value).map((problem) => found(path, problem));
    }),
  ];
}

/** Checks one member of the input by itself. A schema that cannot be compiled says nothing here. */
function literalProblems(schema: JsonSchema, name: string, value: Json): readonly string[] {
  const { properties } = schema as { readonly properties?: JsonObject };
  if (plainlyFits(properties?.[name] ?? {}, value)) return [];
  const definitions = Object.entries(schema).filter(([key]) => key === "$defs" || key === "definitions");
  const own = { type: "object", properties: { [name]: properties?.[name] ?? {} }, ...Object.fromEntries(definitions) };
  return attempt(() => compileSchema(own)({ [name]: value })) ?? [];
}
