import type { WorkflowNode } from "../../document/workflow/node.ts";
import { selectTools } from "../../engine/decide/offer.ts";
import type { SkillRecord } from "../../engine/event/record.ts";
import type { Writes } from "../../engine/settings/bounds.ts";
import { givesStrangersText } from "../../engine/tools/disclosure.ts";
import { OWN_TOOLS, RUN_SCRIPT } from "../../engine/tools/own-tools.ts";
import { EXECUTOR, type ToolDescriptor } from "../../skill/skill.ts";

/** A skill with all the tools that it declares, even those that cannot be used now. */
export interface DeclaredSkill {
  /** Includes the tools of code that was opened. */
  readonly open: SkillRecord;
  /** Also includes the known tools of a server, or of code that was not opened. */
  readonly whole: SkillRecord;
  /** Placeholders for tools that are unknown until the skill is opened: one that reads, one that writes. */
  readonly unknown: readonly ToolDescriptor[];
}

/** Returns the tools that a run would offer at a node if all its skills were available. Applies the node's filters. */
export function declaredTools(node: WorkflowNode, skills: readonly DeclaredSkill[], writes: Writes) {
  const select = (records: readonly SkillRecord[]) => {
    const now = {
      settings: { writes, context_mode: "full" },
      made: [],
      holdsBlobs: false,
      changed: [],
    } as const;
    return selectTools(node, records, now).set;
  };
  const open = select(skills.map((skill) => skill.open)).offered;
  const whole = select(skills.map((skill) => skill.whole));
  const { allow } = node.tools ?? {};
  const isKnown = (entry: string) =>
    OWN_TOOLS.includes(entry) || whole.all.some(({ name, exposed }) => entry === exposed || entry === name);
  const isReadOnly = node.effects === "read" || writes === "deny";
  const unknown = allow?.every(isKnown) ? [] : skills.flatMap((skill) => skill.unknown);
  const known = new Map([...open, ...whole.offered].map((tool) => [tool.exposed, tool]));
  return {
    open,
    /** Also includes the tools of what was not opened. */
    all: [...known.values(), ...unknown.filter(({ effect }) => !isReadOnly || effect === "read")],
  };
}

/** Reports whether a tool can return untrusted text, as scripts and write tools with `reads` also can. */
export function readsStrangers(tool: ToolDescriptor): boolean {
  if (tool.skill === EXECUTOR) return tool.name === RUN_SCRIPT;
  return (tool.effect === "read" || tool.reads !== undefined) && givesStrangersText(tool);
}
