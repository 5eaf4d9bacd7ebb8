import type { DiagnosticCode } from "../../base/diagnostic.ts";
import { parsePath } from "../../base/path.ts";
import { isObject, type Json, type JsonObject } from "../../base/values.ts";
import { memberName, pathsIn } from "../../document/fill.ts";
import { bringsText } from "../../document/inputs.ts";
import { callsOf, type NodeStep } from "../../document/workflow/step.ts";
import type { Workflow } from "../../document/workflow/workflow.ts";
import { toolNamed } from "../../engine/decide/offer.ts";
import type { Writes } from "../../engine/settings/bounds.ts";
import type { ToolDescriptor } from "../../skill/skill.ts";
import { readsStrangers } from "./tools.ts";

export type TaintCode = Extract<DiagnosticCode, `taint.${string}`>;

export interface Fault {
  readonly code: TaintCode;
  readonly node: string;
  readonly step?: number;
  readonly message: string;
}

export type ToolsAt = (node: string) => readonly ToolDescriptor[];

interface About {
  readonly workflow: Workflow;
  readonly writes: Writes;
  readonly tainted: ReadonlyMap<string, string>;
  readonly toolsAt: ToolsAt;
}

/** Target fields of tools that do not declare theirs. */
const USUAL_TARGETS = ["repository", "project", "team", "channel", "channels", "thread", "to", "url"];

/** Finds the write steps of a node that take text of untrusted authors: as a target, or only as text. */
export function stepFaults(node: string, about: About): Fault[] {
  const { workflow, writes, toolsAt } = about;
  return (workflow.nodes[node]?.steps ?? []).flatMap((step, index): Fault[] => {
    const taken = callsOf(step).flatMap(({ tool: name, with: given = {} }) => {
      const tool = toolNamed(toolsAt(node), name);
      if (tool?.effect !== "write") return [];
      return Object.entries(given).flatMap(([written, value]) => {
        const field = memberName(written, value as Json);
        const isTarget = (tool.targets ?? USUAL_TARGETS).includes(field);
        const paths = pathsIn(value as Json).filter((path) => isTainted(path, node, about));
        return paths.map((path) => ({ isTarget, text: `with.${field} takes {{${path}}}` }));
      });
    });
    const targets = taken.filter(({ isTarget }) => isTarget);
    const texts = writes === "allow" ? taken.filter(({ isTarget }) => !isTarget) : [];
    const fault = (code: Fault["code"], what: string, found: typeof taken): Fault[] => {
      const places = [...new Set(found.map(({ text }) => text))].join(", ");
      const message = `step "${step.id}" of node "${node}" ${what}: ${places}`;
      return places === "" ? [] : [{ code, node, step: index, message }];
    };
    return [
      ...fault("taint.target_in_write", "writes where outside text says", targets),
      ...fault("taint.text_in_write", "writes outside text", texts),
    ];
  });
}

/** Checks whether outside text may be at a path. Fields that are numbers, booleans or enums contain none. */
function isTainted(path: string, node: string, { workflow, tainted, toolsAt }: About): boolean {
  const { nodes, inputs } = workflow;
  const [root, field] = parsePath(path.replace(/\[\d+\]/g, ""))?.segments.map(({ key }) => key) ?? [];
  if (root === undefined) return true;
  const own = nodes[root];
  if (own) {
    const isBound = field !== undefined && isConstrained(own.output?.properties, field);
    return tainted.has(root) && !isBound && !isOfTeam(own.steps, field, toolsAt(root));
  }
  if (root === "input") {
    const declared = field === undefined ? undefined : inputs?.[field];
    if (field === "run") return true;
    return bringsText(field !== undefined && declared ? { [field]: declared } : inputs);
  }
  if (root === "steps") return !isOfTeam(nodes[node]?.steps, field, toolsAt(node));
  return tainted.has(node) && root !== "skills" && root !== "run";
}

/** Checks whether a step reads only what the team wrote. */
function isOfTeam(
  steps: readonly NodeStep[] | undefined,
  id: string | undefined,
  tools: readonly ToolDescriptor[],
): boolean {
  const step = steps?.find((each) => each.id === id);
  if (!step) return false;
  return callsOf(step).every(({ tool: name }) => {
    const tool = toolNamed(tools, name);
    return tool !== undefined && !readsStrangers(tool);
  });
}

function isConstrained(properties: unknown, field: string): boolean {
  const schema = isObject(properties) ? (properties as JsonObject)[field] : undefined;
  if (!isObject(schema)) return false;
  return schema.enum !== undefined || schema.const !== undefined || TYPES.some((type) => type === schema.type);
}

const TYPES = ["number", "integer", "boolean", "null"];
