import { SkillflowError } from "../../core/base/errors.ts";
import type { WorkflowNode } from "../../core/document/workflow/node.ts";
import { callsOf } from "../../core/document/workflow/step.ts";
import type { Workflow } from "../../core/document/workflow/workflow.ts";
import { describeAbsence } from "../../core/skill/skill-reference.ts";
import { alike, exposedName } from "../../core/skill/tool-names.ts";
import type { SkillEntries } from "./entries.ts";
import { faultOf } from "./states.ts";

/** Throws if a skill of a reachable node is unavailable, for `--require-skills`. */
export function requireSkills(workflow: Workflow, entries: SkillEntries): void {
  const reasons = new Map([...entries].map(([id, entry]) => [id, entry ? faultOf(entry) : describeAbsence(id)]));
  const unavailable = new Set([...reasons].flatMap(([id, reason]) => (reason === undefined ? [] : [id])));
  const lost = requiredOf(workflow, unavailable, entries).map((id) => `${id} (${reasons.get(id)})`);
  if (lost.length === 0) return;
  throw new SkillflowError("skills.missing", `skills of ${workflow.id} are unavailable: ${lost.join(", ")}`, {
    hint: ["set what they need, or run without ", { option: "require-skills" }],
  });
}

/**
 * Returns the unavailable skills that `--require-skills` asks for. A step of a `steps` node needs one entry of its
 * `first_of`, so a skill that only such steps call may be missing.
 */
export function requiredOf(
  { nodes }: Pick<Workflow, "nodes">,
  lost: ReadonlySet<string>,
  entries: SkillEntries,
): readonly string[] {
  const all = everyNode(nodes);
  const isCalled = (id: string, tool: string) => {
    const tools = entries.get(id)?.skill.tools ?? [];
    const isOwn = tools.some(({ name }) => name === tool || exposedName(id, name) === tool);
    return isOwn || alike(tool).startsWith(`${alike(id)}_`);
  };
  const isNeeded = (id: string, { skills = [], steps = [] }: WorkflowNode) => {
    const calling = steps.filter((step) => callsOf(step).some(({ tool }) => isCalled(id, tool)));
    const others = skills.filter((other) => !lost.has(other));
    const isReplaced = (step: (typeof steps)[number]) =>
      callsOf(step).some(({ tool }) => others.some((other) => isCalled(other, tool)));
    return calling.length === 0 || !calling.every(isReplaced);
  };
  return [...lost].filter((id) => {
    const listing = all.filter(({ skills = [] }) => skills.includes(id));
    return listing.length === 0 || listing.some((node) => isNeeded(id, node));
  });
}

function everyNode(nodes: Workflow["nodes"]): WorkflowNode[] {
  return Object.values(nodes).flatMap((node) => [node, ...everyNode(node.nodes ?? {})]);
}
