import type { Diagnostic } from "../../base/diagnostic.ts";
import { nearest } from "../../base/values.ts";
import type { WorkflowNode } from "../../document/workflow/node.ts";
import type { Workflow } from "../../document/workflow/workflow.ts";
import { OWN_TOOLS } from "../../engine/tools/own-tools.ts";
import { TOOL_MAKER } from "../../engine/tools/tool-maker.ts";
import { type DeclaredSkill, declaredTools } from "./tools.ts";

/** Reports unknown tool names in filters and evaluators. Skips nodes whose tools are not all known. */
export function checkToolNames(
  { nodes }: Pick<Workflow, "nodes">,
  skills: ReadonlyMap<string, DeclaredSkill>,
): Diagnostic[] {
  return Object.entries(nodes).flatMap(([id, node]) => {
    const named = namedTools(id, node);
    const known = named.length === 0 ? undefined : knownTools(node, skills);
    return known === undefined ? [] : named.flatMap(({ name, path }) => unknownTool(name, { id, path, known }));
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

/** Lists short and exposed tool names. Returns undefined if a server, unopened code or the node may add more. */
function knownTools(node: WorkflowNode, skills: ReadonlyMap<string, DeclaredSkill>): ReadonlySet<string> | undefined {
  const listed = (node.skills ?? []).map((name) => (name === TOOL_MAKER ? undefined : skills.get(name)));
  const sure = listed.filter((skill) => skill !== undefined && skill.unknown.length === 0) as DeclaredSkill[];
  if (sure.length < listed.length) return undefined;
  const { tools: _, effects: __, ...unfiltered } = node;
  const { all } = declaredTools(unfiltered, sure, "allow");
  return new Set([...all.flatMap(({ exposed, name }) => [exposed, name]), ...OWN_TOOLS]);
}

function unknownTool(
  name: string,
  { id, path, known }: { readonly id: string; readonly path: NamedTool["path"]; readonly known: ReadonlySet<string> },
): Diagnostic[] {
  if (known.has(name)) return [];
  const near = nearest(name, known);
  const message = `no tool of node "${id}" is named "${name}"`;
  return [
    { severity: "warning", code: "UNKNOWN_TOOL", path, message, ...(near ? { hint: `did you mean "${near}"?` } : {}) },
  ];
}
