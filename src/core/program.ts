import type { RunRecord, Settings, SkillRecord } from "./event.ts";
import type { ToolDescriptor } from "./skill.ts";
import type { Edge, NodeSources, Workflow, WorkflowNode } from "./workflow.ts";

/** A workflow joined with the tool descriptions of its skills: all that deciding needs, beside the run's past. */
export interface Program {
  readonly record: RunRecord;
  readonly workflow: Workflow;
  node(id: string): WorkflowNode;
  edgesFrom(id: string): readonly NumberedEdge[];
  /** The tools offered at a node, in order, under names that are unique there. */
  tools(node: string, writes: Settings["writes"]): ToolSet;
  /** Whether a node has tools at all (D25). */
  hasSkills(node: string): boolean;
  /** Prompt sections before the instruction (N4): rules, context, then each available skill's instruction. */
  preface(node: string): readonly string[];
  instruction(node: string): string;
  /** Said once, when the run starts. */
  readonly warnings: readonly string[];
}

/** An edge and its index in the workflow's `edges`, which identifies it (D9). */
export interface NumberedEdge extends Edge {
  readonly index: number;
}

export interface ToolSet {
  readonly offered: readonly ToolDescriptor[];
  find(name: string): ToolDescriptor | undefined;
  /** Whether a name in a filter or evaluator means the called one (D52). */
  same(written: string, called: string): boolean;
}

/** Joins a run's record into a program. */
export function linkProgram(record: RunRecord): Program {
  const { workflow } = record;
  const nodes = new Map(Object.entries(workflow.nodes));
  const skills = new Map(record.skills.map((skill) => [skill.id, skill]));
  const edges = groupEdges(workflow.edges);
  const toolSets = new Map<string, ToolSet>();
  const shared = {
    rules: [...listOf(record, "input.rules"), ...listOf(record, "rules")],
    context: [...listOf(record, "input.context"), ...listOf(record, "context")],
  };

  const nodeOf = (id: string): WorkflowNode => {
    const node = nodes.get(id);
    if (!node) throw new RangeError(`the workflow has no node ${id}`);
    return node;
  };
  const available = (id: string) =>
    (nodeOf(id).skills ?? []).flatMap((name) => {
      const skill = skills.get(name);
      return skill?.available ? [skill] : [];
    });

  return {
    record,
    workflow,
    node: nodeOf,
    edgesFrom: (id) => edges.get(id) ?? [],
    tools(id, writes) {
      const key = `${writes} ${id}`;
      const known = toolSets.get(key) ?? selectTools(nodeOf(id), available(id), writes).set;
      toolSets.set(key, known);
      return known;
    },
    hasSkills: (id) => available(id).length > 0,
    preface: (id) => [
      ...sourceSection(
        "## Rules — You MUST Follow These",
        ownSources(record, id, nodeOf(id).rules, "rules", shared.rules),
      ),
      ...sourceSection("## Background Context", ownSources(record, id, nodeOf(id).context, "context", shared.context)),
      ...available(id).flatMap((skill) =>
        skill.instruction ? [`## Skill: ${skill.name}\n\n${skill.instruction}`] : [],
      ),
    ],
    instruction: (id) => contentOf(record, `nodes.${id}.instruction`),
    warnings: [...new Set([...nodes].flatMap(([id, node]) => toolWarnings(id, node, available(id), record.settings)))],
  };
}

function groupEdges(edges: readonly Edge[]): Map<string, NumberedEdge[]> {
  const groups = new Map<string, NumberedEdge[]>();
  for (const [index, edge] of edges.entries()) {
    const when = edge.when?.trim() ? edge.when : undefined;
    const group = groups.get(edge.from) ?? [];
    group.push({ ...edge, when, index });
    groups.set(edge.from, group);
  }
  return groups;
}

function toolWarnings(id: string, node: WorkflowNode, skills: readonly SkillRecord[], settings: Settings): string[] {
  if (skills.length === 0) return [];
  return selectTools(node, skills, settings.writes).warnings.map((warning) => `node ${id}: ${warning}`);
}

/** The order of O3: the node's skills, `allow`, `deny`, `effects`, `writes: deny`. */
function selectTools(node: WorkflowNode, skills: readonly SkillRecord[], writes: Settings["writes"]) {
  const warnings: string[] = [];
  const byName = new Map<string, ToolDescriptor>();
  for (const tool of skills.flatMap((skill) => skill.tools as readonly ToolDescriptor[])) {
    const first = byName.get(tool.exposed);
    if (!first) byName.set(tool.exposed, tool);
    else warnings.push(`the tool ${tool.exposed} of ${tool.skill} is hidden by that of ${first.skill}`);
  }
  const all = [...byName.values()];
  const { allow, deny } = node.tools ?? {};
  for (const entry of new Set([...(allow ?? []), ...(deny ?? [])])) {
    const [winner, ...others] = all.filter((tool) => entry === tool.exposed || entry === tool.name);
    if (!winner) warnings.push(`no tool is named ${entry}`);
    else if (others.length > 0 && allow?.includes(entry)) {
      warnings.push(`${entry} means ${winner.exposed}, not ${others.map((tool) => tool.exposed).join(", ")}`);
    }
  }
  const readOnly = node.effects === "read" || writes === "deny";
  const offered = all
    .filter((tool) => !allow || allow.some((entry) => names(all, entry, tool)))
    .filter((tool) => !deny?.some((entry) => entry === tool.exposed || entry === tool.name))
    .filter((tool) => !readOnly || tool.effect === "read");
  return { warnings, set: toolSet(all, offered) };
}

function toolSet(all: readonly ToolDescriptor[], offered: readonly ToolDescriptor[]): ToolSet {
  const find = (name: string) => offered.find((tool) => tool.exposed === name);
  return {
    offered,
    find,
    same(written, called) {
      const tool = all.find((candidate) => candidate.exposed === called);
      return written === called || (tool !== undefined && names(all, written, tool));
    },
  };
}

/** The exposed name (D52), or the bare one, which the first skill that the node lists wins (D50). */
function names(all: readonly ToolDescriptor[], entry: string, tool: ToolDescriptor): boolean {
  const meant = all.find((other) => other.exposed === entry) ?? all.find((other) => other.name === entry);
  return meant === tool;
}

function sourceSection(heading: string, all: readonly string[]): string[] {
  const contents = all.filter((content) => content.trim() !== "");
  return contents.length === 0 ? [] : [`${heading}\n\n${contents.join("\n\n")}`];
}

/** Runtime, workflow, then node sources; with `only: true` the node's alone (N5). */
function ownSources(
  record: RunRecord,
  id: string,
  own: NodeSources | undefined,
  field: "rules" | "context",
  shared: readonly string[],
): readonly string[] {
  if (own === undefined) return shared;
  const only = !Array.isArray(own) && own.only === true;
  const contents = listOf(record, `nodes.${id}.${field}`);
  return only ? contents : [...shared, ...contents];
}

function listOf(record: RunRecord, place: string): string[] {
  const contents: string[] = [];
  while (Object.hasOwn(record.sources, `${place}[${contents.length}]`)) {
    contents.push(contentOf(record, `${place}[${contents.length}]`));
  }
  return contents;
}

function contentOf(record: RunRecord, place: string): string {
  return record.sources[place]?.content ?? "";
}
