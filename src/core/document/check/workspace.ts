import { type Diagnostic, errorAt, warningAt } from "../../base/diagnostic.ts";
import { parseSkillReference } from "../../skill/skill-reference.ts";
import { pathsIn } from "../fill.ts";
import type { WorkflowNode } from "../workflow/node.ts";
import type { Workflow } from "../workflow/workflow.ts";

/** Checks of nodes that change files: whether they can, and whether their field `workspace` has an effect. */

const SKILL = "workspace";

export function checkWorkspace({ nodes, inputs = {} }: Pick<Workflow, "nodes" | "inputs">): Diagnostic[] {
  return Object.entries(nodes).flatMap(([id, node]) => {
    const path = ["nodes", id];
    const isListed = hasCopy(node);
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
      ...faults.map((message) => errorAt("WORKSPACE_FIELD", [...path, "workspace"], message, hint)),
      ...(isListed ? [] : fileTools(node, path)),
    ];
  });
}

function hasCopy({ skills = [] }: WorkflowNode): boolean {
  return skills.some((reference) => parseSkillReference(reference).id === SKILL);
}

/** Warns about a map whose items run concurrently and change the same working copy. `inside`: the workflows that it runs. */
export function checkSharedCopy(id: string, { map }: WorkflowNode, inside: readonly Workflow[]): Diagnostic[] {
  if ((map?.concurrency ?? 1) === 1) return [];
  if (!inside.some(({ nodes }) => Object.values(nodes).some(hasCopy))) return [];
  const message = `the items of node "${id}" run concurrently in one working copy, so each sees the changes of the others`;
  const hint = "set concurrency: 1; the items then change the copy one after another";
  return [warningAt("WORKSPACE_SHARED", ["nodes", id, "map", "concurrency"], message, hint)];
}

/** Checks whether a template names an input of text that is required or has a default. */
function isGiven(path: string, inputs: NonNullable<Workflow["inputs"]>): boolean {
  const [root, name = "", ...rest] = path.split(".");
  const field = root === "input" && rest.length === 0 && Object.hasOwn(inputs, name) ? inputs[name] : undefined;
  if (field?.type !== "string" && field?.type !== "string[]") return false;
  return field.default !== undefined || (field.required === true && field.unless === undefined);
}

/** Tools that agents elsewhere have, in code style or called tools. */
const NAMED = /`(?:Write|Edit|Bash)`|\b(?:Write|Edit|Bash)(?=\stools?\b)/g;
/**
 * Orders that need a working copy, where white space is one character. The words commit and push count only where they
 * can be orders.
 */
const ORDERS = [
  /(?<=^|(?:[.;:,*-]|\d[.)]|\b(?:and|then|must|should|please))\s)commit\b(?!\s(?:that|which|sha|hash|id|message|log|history|range))/gim,
  /(?<=^|(?:[.;:,*-]|\d[.)]|\b(?:and|then|must|should|please))\s)push(?=[.,;!]|$)/gim,
  /\bcreate\s(?:a\s|the\s|a\snew\s|new\s|your\s)?(?:\w{1,30}\s)?branch\b/gi,
  /\b(?:git\spush|push\s(?:the|your|it|to|a)\b)/gi,
  /\b(?:make\sthe\s(?:\w{1,30}\s)?(?:code\s)?changes|implement\sthe\s(?:\w{1,30}\s)?fix)\b/gi,
] as const;
const FORBIDDEN = /(?:\b(?:do not|never)|\bdon['’]t)(?: (?:ever|yet|also|use|the|a|any)){0,3} $/i;

const shortened = (space: string) => (space.includes("\n") ? "\n" : " ");
const isForbidden = (before: string) => FORBIDDEN.test(before.replaceAll("\n", " "));

function fileTools({ instruction, disallowed_tools = [] }: WorkflowNode, path: string[]): Diagnostic[] {
  if (disallowed_tools.includes("Write") && disallowed_tools.includes("Edit")) return [];
  const text = typeof instruction === "string" ? instruction.replace(/\s+/g, shortened) : "";
  const asked = (pattern: RegExp) => {
    const found = [...text.matchAll(pattern)].find(
      ({ index }) => !isForbidden(text.slice(Math.max(0, index - 40), index)),
    );
    return found?.[0].replaceAll("`", "").replaceAll("\n", " ");
  };
  const named = asked(NAMED);
  const order = named ?? ORDERS.map(asked).find((found) => found !== undefined);
  if (order === undefined) return [];
  const said = named === undefined ? `says "${order}"` : `names the tool ${named}`;
  const message = `the instruction ${said}, but the node has no tools for files`;
  const added = { option: "add-skill", value: `${path[1]}=${SKILL}` } as const;
  const hint = ["add workspace to its skills, or run it with ", added];
  return [warningAt("FILE_TOOLS_MISSING", [...path, "instruction"], message, hint)];
}
