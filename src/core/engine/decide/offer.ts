import { WRITES } from "../../base/options.ts";
import { schemaAsTold } from "../../base/schema/told-schema.ts";
import { lazy } from "../../base/values.ts";
import type { WorkflowNode } from "../../document/workflow/node.ts";
import { callsOf } from "../../document/workflow/step.ts";
import { EXECUTOR, type ToolDescriptor } from "../../skill/skill.ts";
import { numberNames } from "../../skill/tool-names.ts";
import type { Settings, SkillRecord } from "../event/record.ts";
import type { Offering, Program, ToolSet } from "../fold/program.ts";
import type { State } from "../fold/state.ts";
import { readSkillTool, runScriptTool, toolOfCall } from "../tools/disclosure.ts";
import { BLOB_TOOLS, BOARD_TOOLS, isBoardTool, OWN_TOOLS, READ_RESULT_TOOL } from "../tools/own-tools.ts";
import { stateTools } from "../tools/state.ts";
import { TOOL_MAKER } from "../tools/tool-maker.ts";

/** Returns all tools that a node has or had: of its skills, of the executor, and those that the run defined. */
export function toolsAt(program: Program, state: State, node: string): ToolSet {
  return program.tools(node, { ...offeringOf(program, state), changed: [] });
}

/** Returns the facts about the run that decide which tools its nodes have. */
export function offeringOf(program: Program, { run }: State): Offering {
  const { settings, made, holdsBlobs, changed } = run;
  return { settings: settingsAt(program, settings), made, holdsBlobs, changed };
}

/** Returns the settings with the stricter `writes` value of the run and its inner documents. */
export function settingsAt({ parent, writes }: Program, settings: Settings): Settings {
  if (!parent || stricter(settings.writes, writes) === settings.writes) return settings;
  return { ...settings, writes };
}

export function stricter(one: Settings["writes"], other: Settings["writes"]): Settings["writes"] {
  return WRITES.indexOf(one) <= WRITES.indexOf(other) ? one : other;
}

/** Selects the tools of a node by its skills, then `allow`, `deny`, `effects` and `writes: deny`. `place` ranks them. */
export function selectTools(
  node: WorkflowNode,
  skills: readonly SkillRecord[],
  now: Offering,
  place: (tool: ToolDescriptor) => number = () => 0,
): { readonly set: ToolSet; readonly warnings: readonly string[] } {
  const warnings: string[] = [];
  const given = [...ownTools(node, skills, now), ...skills.flatMap((skill) => toolsOf(skill, now))];
  const all = numbered(given, warnings);
  const { allow, deny } = node.tools ?? {};
  const isPart = ({ plannable, reason }: SkillRecord) => plannable === true || reason !== undefined;
  const isLeftOut =
    skills.filter(({ id, server }) => !server || node.skills?.includes(id)).length < new Set(node.skills).size ||
    skills.some(isPart);
  const comesLater = (entry: string) => OWN_TOOLS.includes(entry) || skills.some(({ id }) => id === TOOL_MAKER);
  for (const entry of new Set([...(allow ?? []), ...(deny ?? [])])) {
    const [winner, ...others] = all.filter((tool) => entry === tool.exposed || entry === tool.name);
    if (!winner && !isLeftOut && !comesLater(entry)) warnings.push(`no tool is named ${entry}`);
    else if (winner && others.length > 0 && allow?.includes(entry)) {
      warnings.push(`${entry} means ${winner.exposed}, not ${others.map((tool) => tool.exposed).join(", ")}`);
    }
  }
  // Otherwise, another skill could take the name of a denied tool, which then has a number and is offered.
  const wanted = new Map(all.map((tool, index) => [tool, given[index]?.exposed]));
  const readOnly = isReadOnly(node, now.settings);
  const called = node.steps && new Set(node.steps.flatMap(callsOf).map(({ tool }) => toolNamed(all, tool)));
  const offered = all
    .filter((tool) => !called || called.has(tool))
    .filter((tool) => !allow || tool.skill === EXECUTOR || allow.some((entry) => names(all, entry, tool)))
    .filter((tool) => !deny?.some((entry) => [tool.exposed, tool.name, wanted.get(tool)].includes(entry)))
    .filter((tool) => !readOnly || tool.effect === "read")
    .sort((a, b) => place(a) - place(b));
  return { warnings, set: toolSet(all, offered) };
}

/** Returns the tool that a step names: by its exposed name, or by its own name if only one skill has it. */
export function toolNamed(all: readonly ToolDescriptor[], name: string): ToolDescriptor | undefined {
  const skilled = all.filter((tool) => tool.skill !== EXECUTOR || isBoardTool(tool));
  const [only, ...others] = skilled.filter((tool) => tool.name === name);
  return skilled.find(({ exposed }) => exposed === name) ?? (others.length === 0 ? only : undefined);
}

/** Numbers tools that would otherwise be offered under the same name. */
function numbered(tools: readonly ToolDescriptor[], warnings: string[]): readonly ToolDescriptor[] {
  const names = numberNames(tools.map((tool) => tool.exposed));
  return tools.map((tool, index) => {
    const { exposed: wanted, skill } = tool;
    const exposed = names[index] ?? wanted;
    if (exposed === wanted) return tool;
    warnings.push(`the tool ${wanted} of ${skill} is offered as ${exposed}: another skill has one with that name`);
    return { ...tool, exposed };
  });
}

function isReadOnly({ effects }: WorkflowNode, { writes }: Offering["settings"]): boolean {
  return effects === "read" || writes === "deny";
}

/** Checks whether a node's prompt explains how to cite results and lets the model re-read them. */
export function citesResults(node: WorkflowNode, skills: readonly SkillRecord[]): boolean {
  return skills.length > 0 || (node.eval ?? []).some(({ kind }) => kind === "evidence");
}

/** Returns the executor's tools. `allow` concerns only tools of skills, but `deny` and `disallowed_tools` hide these. */
function ownTools(node: WorkflowNode, skills: readonly SkillRecord[], { settings, holdsBlobs }: Offering) {
  const isOffered = (tool: ToolDescriptor) => !node.disallowed_tools?.includes(tool.name);
  const results = citesResults(node, skills) ? [READ_RESULT_TOOL] : [];
  const boards = BOARD_TOOLS.filter(({ name }) => node.steps?.flatMap(callsOf).some(({ tool }) => tool === name));
  const states = [...stateTools(node.state ?? []), ...boards];
  if (skills.length === 0) return [...results, ...states].filter(isOffered);
  const reader = readSkillTool(skills, settings.context_mode);
  const runner = runScriptTool(skills, isReadOnly(node, settings) ? "read" : "write");
  const own = [...results, ...(reader ? [reader] : []), ...(runner ? [runner] : []), ...(holdsBlobs ? BLOB_TOOLS : [])];
  return [...own, ...states].filter(isOffered);
}

/** Returns the tools of a skill. Tools that the run defined belong to the skill that makes tools. */
function toolsOf(skill: SkillRecord, { made }: Offering): readonly ToolDescriptor[] {
  const tools = skill.tools as readonly ToolDescriptor[];
  return skill.id === TOOL_MAKER ? [...tools, ...made.map(({ tool }) => tool as ToolDescriptor)] : tools;
}

function toolSet(all: readonly ToolDescriptor[], offered: readonly ToolDescriptor[]): ToolSet {
  const byName = new Map(offered.toReversed().map((tool) => [tool.exposed, tool]));
  const find: ToolSet["find"] = (name, input) => {
    const tool = byName.get(name);
    return tool && toolOfCall(tool, input);
  };
  return {
    all,
    offered,
    told: lazy(() =>
      offered.map(({ exposed, description, input_schema, settled }) => ({
        name: exposed,
        description,
        input_schema: schemaAsTold(input_schema, settled),
      })),
    ),
    find,
    same(written, called) {
      const tool = all.find((candidate) => candidate.exposed === called);
      return written === called || (tool !== undefined && names(all, written, tool));
    },
  };
}

/** Checks whether an entry means a tool, by exposed or bare name. A bare name means the first tool that has it. */
function names(all: readonly ToolDescriptor[], entry: string, tool: ToolDescriptor): boolean {
  const meant = all.find((other) => other.exposed === entry) ?? all.find((other) => other.name === entry);
  return meant === tool;
}
