import type { Diagnostic } from "../../base/diagnostic.ts";
import { parseSkillReference } from "../../skill/skill-reference.ts";
import { pathsIn } from "../fill.ts";
import type { WorkflowNode } from "../workflow/node.ts";
import type { Workflow } from "../workflow/workflow.ts";

/** Checks of nodes that change files: whether they can, and whether their field `workspace` has an effect. */

const SKILL = "workspace";

export function checkWorkspace({ nodes, inputs = {} }: Pick<Workflow, "nodes" | "inputs">): Diagnostic[] {
  return Object.entries(nodes).flatMap(([id, node]) => {
    const path = ["nodes", id];
    const isListed = (node.skills ?? []).some((reference) => parseSkillReference(reference).id === SKILL);
    const missing = (node.workspace?.keep ?? []).filter((each) => !Object.hasOwn(nodes, each));
    const { allow = [], deny = [] } = node.workspace?.paths ?? {};
    const unfilled = [...allow, ...deny].flatMap((glob) => pathsIn(glob)).filter((each) => !isGiven(each, inputs));
    const faults = [
      ...(node.workspace && !isListed ? [`node "${id}" has the field workspace, but not the skill workspace`] : []),
      ...missing.map((each) => `node "${id}" keeps the files of a node "${each}" that does not exist`),
      ...unfilled.map(
        (each) => `the paths of node "${id}" name {{${each}}}, which is not an input that always has a value`,
      ),
    ];
    const hint = !isListed
      ? "add workspace to its skills, or remove the field"
      : "name a node of this workflow, or an input that is required or has a default, as {{input.NAME}}";
    return [
      ...faults.map((message): Diagnostic => {
        return { severity: "error", code: "WORKSPACE_FIELD", path: [...path, "workspace"], message, hint };
      }),
      ...(isListed ? [] : fileTools(node, path)),
    ];
  });
}

/** Checks whether a template names an input of text that is required or has a default. */
function isGiven(path: string, inputs: NonNullable<Workflow["inputs"]>): boolean {
  const [root, name = "", ...rest] = path.split(".");
  const field = root === "input" && rest.length === 0 && Object.hasOwn(inputs, name) ? inputs[name] : undefined;
  if (field?.type !== "string" && field?.type !== "string[]") return false;
  return field.default !== undefined || (field.required === true && field.unless === undefined);
}

/** Tools that agents elsewhere have, in code style or called tools. */
const NAMED = /`(Write|Edit|Bash)`|\b(Write|Edit|Bash) tools?\b/;
/** Orders that need a working copy. The word commit counts only where it can be an order. */
const ORDERS = [
  /(?:^|[.;:,*-]|\d[.)]|\b(?:and|then|must|should|please))[ \t]+(commit)\b(?! (?:that|which|sha|hash|id|message|log|history|range))/im,
  /^(commit)\b(?! (?:that|which|sha|hash|id|message|log|history|range))/im,
  /\b(create (?:a |the |a new |new |your )?(?:\w{1,30} )?branch)\b/i,
  /\b(git push|push (?:the|your|it|to|a)\b)/i,
  /\b(make the (?:\w{1,30} )?(?:code )?changes|implement the (?:\w{1,30} )?fix)\b/i,
] as const;

function fileTools({ instruction, disallowed_tools = [] }: WorkflowNode, path: string[]): Diagnostic[] {
  if (disallowed_tools.includes("Write") && disallowed_tools.includes("Edit")) return [];
  const text = typeof instruction === "string" ? instruction : "";
  const named = NAMED.exec(text);
  const what = named?.[1] ?? named?.[2] ?? ORDERS.map((order) => order.exec(text)?.[1]).find((found) => found);
  if (what === undefined) return [];
  const said = named ? `names the tool ${what}` : `says "${what}"`;
  const message = `the instruction ${said}, but the node has no tools for files`;
  const added = { option: "add-skill", value: `${path[1]}=${SKILL}` } as const;
  const hint = ["add workspace to its skills, or run it with ", added];
  return [{ severity: "warning", code: "FILE_TOOLS_MISSING", path: [...path, "instruction"], message, hint }];
}
