import { defined, groupBy, mapped, memo } from "../../base/values.ts";
import { parseCondition } from "../../document/condition.ts";
import { documentOf } from "../../document/inner/place.ts";
import type { Edge, WorkflowNode } from "../../document/workflow/node.ts";
import type { Condition, ValueRule } from "../../document/workflow/rule.ts";
import { callsOf } from "../../document/workflow/step.ts";
import { EXECUTOR, type ToolDescriptor } from "../../skill/skill.ts";
import { parseSkillReference } from "../../skill/skill-reference.ts";
import type { Section } from "../event/prompt.ts";
import type { RunRecord, SkillRecord } from "../event/record.ts";
import type { NumberedEdge, Offering, Program, ToolSet } from "../fold/program.ts";
import { boundsDeclared, strictest } from "../settings/bounds.ts";
import { skillSections, withoutTools } from "../tools/disclosure.ts";
import { READ_SKILL, RUN_SCRIPT } from "../tools/own-tools.ts";
import { TOOL_MAKER } from "../tools/tool-maker.ts";
import { citesResults, selectTools, stricter } from "./offer.ts";

export function linkProgram(record: RunRecord): Program {
  const programAt = memo((path: string): Program => {
    return path === "" ? link({ record, path, parent: undefined, inside }) : linkInner(record, path, inside);
  });
  const inside = (at = "") => programAt(documentOf(at));
  return inside();
}

function linkInner(record: RunRecord, path: string, inside: Program["inside"]): Program {
  const document = Object.hasOwn(record.inner ?? {}, path) ? record.inner?.[path] : undefined;
  if (!document) throw new RangeError(`the run has no workflow for ${path}`);
  const { workflow, sources } = document;
  const parent = inside(path.slice(0, Math.max(0, path.lastIndexOf("/"))));
  return link({ record: { ...record, workflow, sources }, path, parent, inside });
}

interface Linking extends Pick<Program, "parent" | "inside"> {
  readonly record: RunRecord;
  /** Path of the node that runs the workflow. Empty for the run itself. */
  readonly path: string;
}

function link({ record, path, parent, inside }: Linking): Program {
  const { workflow } = record;
  const own = path.slice(path.lastIndexOf("/") + 1);
  const declared = workflow.writes ?? "allow";
  const ownLimits = parent && record.file_limits ? workflow.limits : undefined;
  const bounds = [parent?.node(own).limits, ownLimits].map((limits = {}) => boundsDeclared({ limits }));
  const nodes = new Map(Object.entries(workflow.nodes));
  const edges = groupEdges(workflow.edges);
  const shared = {
    rules: [...listOf(record, "input.rules"), ...listOf(record, "rules")],
    context: [...listOf(record, "input.context"), ...listOf(record, "context")],
  };
  const nodeOf = (id: string): WorkflowNode => {
    const node = nodes.get(id);
    if (!node) throw new RangeError(`the workflow has no node ${id}`);
    return node;
  };
  const { available, skills, tools, instructions, choiceOf } = linkTools(record, nodeOf);
  const warned = new Map<string, readonly string[]>();
  const warningsAt = (id: string) => {
    const node = nodeOf(id);
    const key = `${choiceOf(id)} ${JSON.stringify(node.skills)}`;
    const found = warned.get(key) ?? toolWarnings(node, available(id), record);
    warned.set(key, found);
    return mapped(found, (warning) => `node ${id}: ${warning}`);
  };
  const sources = (id: string, field: "rules" | "context", heading: string) => {
    const own = nodeOf(id)[field];
    const contents = own === undefined ? [] : listOf(record, `nodes.${id}.${field}`);
    const isAlone = own !== undefined && !Array.isArray(own) && own.only === true;
    return sourceSection(heading, isAlone ? contents : [...shared[field], ...contents], field === "rules");
  };
  return {
    record,
    workflow,
    node: nodeOf,
    edgesFrom: (id) => edges.get(id) ?? [],
    skills,
    tools,
    preface: (id, now) => [
      ...sources(id, "rules", "## Rules — You MUST Follow These"),
      ...sources(id, "context", "## Background Context"),
      ...instructions(id, now),
    ],
    source: (id, field) => contentOf(record, `nodes.${id}.${field}`),
    parent,
    limits: strictest(bounds).limits,
    writes: parent ? stricter(declared, parent.writes) : "allow",
    inner: (id) => inside(path === "" ? id : `${path}/${id}`),
    inside,
    warnings: [...nodes.keys()].flatMap(warningsAt),
  };
}

function linkTools({ workflow, skills: recorded }: RunRecord, nodeOf: (id: string) => WorkflowNode) {
  const found = new Map(recorded.map((skill) => [skill.id, skill]));
  const ofServer = (id: string) => recorded.filter(({ server }) => server === id);
  const available = memo((id: string) => {
    const listed = (nodeOf(id).skills ?? []).flatMap((name) => [found.get(name) ?? [], ofServer(name)].flat());
    return onceEach(listed.filter((skill) => skill.available));
  });
  const choices = new Map<string, number>();
  /** Returns a number for everything that makes one node's tools differ from another's. */
  const choiceOf = memo((id: string) => {
    const { tools, effects, disallowed_tools, state, steps } = nodeOf(id);
    const called = steps?.flatMap(callsOf).map(({ tool }) => tool);
    const own = { tools, effects, disallowed_tools, state, called, isCiting: citesResults(nodeOf(id), available(id)) };
    const text = JSON.stringify([mapped(available(id), (skill) => skill.id), own]);
    const choice = choices.get(text) ?? choices.size;
    choices.set(text, choice);
    return choice;
  });
  const place = toolOrder(workflow.nodes);
  const skills = (id: string, changed: Offering["changed"]) => left(available(id), changed);
  const toolSets = new WeakMap<Offering["made"], Map<string, ToolSet>>();
  const tools = (id: string, now: Offering) => {
    const { settings, made, holdsBlobs, changed } = now;
    const sets = toolSets.get(made) ?? new Map<string, ToolSet>();
    toolSets.set(made, sets);
    const lost = changed.length === 0 ? "" : JSON.stringify(changed);
    const key = `${settings.writes} ${settings.context_mode} ${holdsBlobs} ${choiceOf(id)} ${lost}`;
    const set = sets.get(key) ?? selectTools(nodeOf(id), skills(id, changed), now, place).set;
    sets.set(key, set);
    return set;
  };
  const described = new WeakMap<ToolSet, readonly Section[]>();
  /** Describes the skills of a node. Omits a skill that can only plan, unless one of its tools is offered. */
  const instructions = (id: string, now: Offering) => {
    const { context_mode } = now.settings;
    const set = tools(id, now);
    if (context_mode === "readOnDemand" && !set.find(READ_SKILL)) return [];
    const isOfUse = (skill: SkillRecord) => !skill.plannable || set.offered.some((tool) => tool.skill === skill.id);
    const sections = described.get(set) ?? skillSections(skills(id, now.changed).filter(isOfUse), context_mode, set);
    described.set(set, sections);
    return sections;
  };
  return { available, skills, tools, instructions, choiceOf };
}

/**
 * Ranks the tools in the same order for all nodes, so that their prompts begin alike and share the cache. Skills that
 * most nodes use come first. The executor's own tools come last, because they vary.
 */
function toolOrder(nodes: RunRecord["workflow"]["nodes"]): (tool: ToolDescriptor) => number {
  const listed = Object.values(nodes).flatMap(({ skills = [] }) =>
    skills.map((skill) => parseSkillReference(skill).id),
  );
  const ranked = [...groupBy(listed, (id) => id).values()].sort((a, b) => b.length - a.length);
  const ranks = new Map(ranked.map(([id = ""], rank) => [id, rank]));
  return ({ skill }) =>
    skill === EXECUTOR || skill === TOOL_MAKER ? Number.MAX_VALUE : (ranks.get(skill) ?? ranks.size);
}

/** Removes the skills, tools and scripts that a resumed run has lost. */
function left(skills: readonly SkillRecord[], changed: Offering["changed"]): readonly SkillRecord[] {
  if (changed.length === 0) return skills;
  return skills.flatMap((skill) => {
    const now = changed.find(({ id }) => id === skill.id);
    if (!now) return [skill];
    const { scripts, instruction, ...rest } = skill;
    const isLost = (name: string) => now.lost?.includes(name) === true;
    const gone = skill.tools.filter(({ name }) => isLost(name));
    const found = {
      ...rest,
      ...defined("instruction", instruction && withoutTools(instruction, gone)),
      ...(isLost(RUN_SCRIPT) ? {} : defined("scripts", scripts)),
      tools: skill.tools.filter(({ name }) => !isLost(name)),
    };
    return now.available ? [found] : [];
  });
}

/** Removes further references to the same skill. The first one counts. */
function onceEach(skills: readonly SkillRecord[]): readonly SkillRecord[] {
  const found = new Map<string, SkillRecord>();
  for (const skill of skills) {
    const { id, range } = parseSkillReference(skill.id);
    const known = skill.version === undefined && range !== undefined ? skill.id : `${id}@${skill.version ?? ""}`;
    if (!found.has(known)) found.set(known, skill);
  }
  return [...found.values()];
}

function groupEdges(edges: readonly Edge[]): Map<string, NumberedEdge[]> {
  const numbered = edges.map(({ if: written, when, ...plain }, index): NumberedEdge => {
    const condition = written === undefined ? {} : { condition: ruleOf(written) };
    return { index, when: when?.trim() ? when : undefined, ...plain, ...condition };
  });
  return groupBy(numbered, ({ from }) => from);
}

/** Parses a condition, which validation has already accepted. */
function ruleOf(written: Condition): ValueRule {
  const rule = parseCondition(written);
  if (typeof rule === "string") throw new RangeError(`the condition of an edge ${rule}`);
  return rule;
}

function toolWarnings(node: WorkflowNode, skills: readonly SkillRecord[], { settings }: RunRecord): readonly string[] {
  if (skills.length === 0) return [];
  return [...new Set(selectTools(node, skills, { settings, made: [], holdsBlobs: false, changed: [] }).warnings)];
}

function sourceSection(heading: string, all: readonly string[], trusted: boolean): Section[] {
  const contents = all.filter((content) => content.trim() !== "");
  return contents.length === 0 ? [] : [{ text: `${heading}\n\n${contents.join("\n\n")}`, trusted }];
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
