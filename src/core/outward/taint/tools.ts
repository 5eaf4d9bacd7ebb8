import type { WorkflowNode } from "../../document/workflow/node.ts";
import { selectTools } from "../../engine/decide/offer.ts";
import type { SkillRecord } from "../../engine/event/record.ts";
import type { Writes } from "../../engine/settings/bounds.ts";
import { givesStrangersText } from "../../engine/tools/disclosure.ts";
import { OWN_TOOLS, RUN_SCRIPT } from "../../engine/tools/own-tools.ts";
import { EXECUTOR, type ToolDescriptor } from "../../skill/skill.ts";

/** A skill with all tools that it declares, whether or not they can be used now (fine-print T20). */
export interface DeclaredSkill {
  /** With those of code that is open. */
  readonly open: SkillRecord;
  /** With those, too, that are known of a server or of code that is not. */
  readonly whole: SkillRecord;
  /** What stands for those that nobody knows before it is opened: one that reads, and one that writes. */
  readonly unknown: readonly ToolDescriptor[];
}

/** The tools of a node. */
export interface NodeTools {
  readonly open: readonly ToolDescriptor[];
  /** With those of what is not opened. */
  readonly all: readonly ToolDescriptor[];
}

/** The tools that a run would offer at a node if every skill of it could be used, as its filters have it. */
export function declaredTools(node: WorkflowNode, skills: readonly DeclaredSkill[], writes: Writes): NodeTools {
  const select = (records: readonly SkillRecord[]) => {
    const now = {
      settings: { writes, context_mode: "full" },
      made: [],
      holdsBlobs: false,
      hasResults: false,
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
  return {
    open,
    all: [...open, ...whole.offered, ...unknown.filter(({ effect }) => !isReadOnly || effect === "read")],
  };
}

/** Whether it brings what strangers write: one that writes does where it says what it reads, and a script does whatever it likes. */
export function readsStrangers(tool: ToolDescriptor): boolean {
  const isScript = tool.skill === EXECUTOR && tool.name === RUN_SCRIPT;
  return (tool.effect === "read" || tool.reads !== undefined || isScript) && givesStrangersText(tool);
}
