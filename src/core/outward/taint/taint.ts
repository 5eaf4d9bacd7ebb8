import { type Finding, isDiagnostic } from "../../base/diagnostic.ts";
import { groupBy, isObject } from "../../base/values.ts";
import { bringsText } from "../../document/inputs.ts";
import type { Edge, WorkflowNode } from "../../document/workflow/node.ts";
import type { Workflow } from "../../document/workflow/workflow.ts";
import type { Writes } from "../../engine/settings/bounds.ts";
import { isProposal } from "../../engine/tools/proposal.ts";
import { isStatePut, isStateTool } from "../../engine/tools/state.ts";
import { readsPrivate, type ToolDescriptor } from "../../skill/skill.ts";
import { type Fault, stepFaults, type TaintCode, type ToolsAt } from "./step-faults.ts";
import { type DeclaredSkill, declaredTools, readsStrangers } from "./tools.ts";

/** Static analysis, before a run: what untrusted text can influence, and what private text can leak. */
export interface Taint {
  readonly nodes: ReadonlyMap<string, NodeTaint>;
  /** Findings with their node. A finding that depends on a server or code that was not opened is a note. */
  readonly findings: readonly Finding[];
}

export interface NodeTaint {
  readonly tainted: boolean;
  /** True if private text can reach the node. */
  readonly private: boolean;
  /** Codes of its findings, except notes. */
  readonly found: readonly TaintCode[];
}

interface Planned {
  readonly workflow: Workflow;
  /** Skills by the names that nodes use for them. */
  readonly skills: ReadonlyMap<string, DeclaredSkill>;
  readonly writes: Writes;
}

export function findTaint({ workflow, skills, writes }: Planned): Taint {
  const nodes = Object.entries(workflow.nodes);
  const tools = new Map(
    nodes.map(([id, node]) => {
      const listed = [...new Set(node.skills ?? [])].flatMap((name) => skills.get(name) ?? []);
      return [id, declaredTools(node, listed, writes)];
    }),
  );
  const open = examine(workflow, writes, (id) => tools.get(id)?.open ?? []);
  const all = examine(workflow, writes, (id) => tools.get(id)?.all ?? []);
  const sure = new Map(open.faults.map((fault) => [keyOf(fault), fault]));
  const found = new Map<string, TaintCode[]>();
  const findings = all.faults.map((fault): Finding => {
    const known = sure.get(keyOf(fault));
    if (!known) return { ...findingOf(fault, writes), severity: "note", hint: UNOPENED };
    const finding = findingOf(known, writes);
    if (isDiagnostic(finding)) found.set(fault.node, [...(found.get(fault.node) ?? []), fault.code]);
    return finding;
  });
  const markOf = (id: string): NodeTaint => {
    return { tainted: all.tainted.has(id), private: all.private.has(id), found: found.get(id) ?? [] };
  };
  return { nodes: new Map(nodes.map(([id]) => [id, markOf(id)])), findings };
}

function examine(workflow: Workflow, writes: Writes, toolsAt: ToolsAt) {
  const { nodes, edges, inputs } = workflow;
  const ids = Object.keys(nodes);
  const isTextGiven = bringsText(inputs);
  const taintedBy = (states: ReadonlySet<string>) => {
    const strangers = ids.filter((id) => toolsAt(id).some((tool) => bringsStrangers(tool, nodes[id], states)));
    return spread(isTextGiven ? ids : strangers, edges);
  };
  const spoilt = spoiltStates(nodes, taintedBy, toolsAt);
  const strangersAt = (id: string) => toolsAt(id).filter((tool) => bringsStrangers(tool, nodes[id], spoilt));
  const privateAt = (id: string) => toolsAt(id).filter(readsPrivate);
  const tainted = taintedBy(spoilt);
  const sources = ids.filter((id) => privateAt(id).length > 0);
  const isPrivate = spread(sources, edges);
  const chosen = new Set(edges.flatMap(({ from, when }) => (when?.trim() ? [from] : [])));
  const faults = Object.entries(nodes).flatMap(([node, said]): Fault[] => {
    const all = toolsAt(node).filter(({ effect }) => effect === "write");
    // Writes to a state have a separate finding.
    const writers = all.filter((tool) => !isStatePut(tool));
    const publishers = writers.filter(({ audience }) => audience === "public");
    const [outside, inside] = [tainted.get(node), isPrivate.get(node)];
    const strangers = () =>
      isTextGiven || outside === undefined ? "the run's input" : giversOf(node, outside, strangersAt(outside));
    const reaches = () => `, and outside text reaches it: ${strangers()}`;
    const fault = (isFound: boolean, code: Fault["code"], message: () => string): Fault[] => {
      return isFound ? [{ code, node, message: message() }] : [];
    };
    // A proposal is planned in any mode.
    const unseen = writes === "allow" && !said.steps ? writers.filter((tool) => !isProposal(tool)) : [];
    return [
      ...(said.steps ? stepFaults(node, { workflow, writes, tainted, toolsAt }) : []),
      ...fault(outside !== undefined && unseen.length > 0, "taint.write_held", () => {
        return `node "${node}" can write without review (${listed(unseen)})${reaches()}`;
      }),
      ...fault(outside !== undefined && writers.length < all.length, "taint.state", () => {
        return `node "${node}" writes ${(said.state ?? []).join(", ")}, which later runs read${reaches()}`;
      }),
      ...fault(outside !== undefined && chosen.has(node) && isFree(said), "taint.free_text_route", () => {
        return `a model chooses the path from node "${node}" by free text${reaches()}`;
      }),
      ...fault(inside !== undefined && publishers.length > 0, "taint.private_to_public", () => {
        const givers = giversOf(node, inside ?? "", privateAt(inside ?? ""));
        return `node "${node}" can write what the public reads (${listed(publishers)}), and private text reaches it: ${givers}`;
      }),
    ];
  });
  return { tainted, private: isPrivate, faults };
}

/** Finds the states that a tainted node writes to. Their readers receive untrusted text, now or in later runs. */
function spoiltStates(
  nodes: Workflow["nodes"],
  taintedBy: (states: ReadonlySet<string>) => ReadonlyMap<string, string>,
  toolsAt: ToolsAt,
): ReadonlySet<string> {
  let spoilt: ReadonlySet<string> = new Set();
  for (;;) {
    const tainted = taintedBy(spoilt);
    const putting = Object.entries(nodes).filter(([id]) => tainted.has(id) && toolsAt(id).some(isStatePut));
    const next = new Set(putting.flatMap(([, { state = [] }]) => state));
    if (next.size === spoilt.size) return spoilt;
    spoilt = next;
  }
}

function bringsStrangers(tool: ToolDescriptor, node: WorkflowNode | undefined, spoilt: ReadonlySet<string>): boolean {
  if (!isStateTool(tool)) return readsStrangers(tool);
  return !isStatePut(tool) && (node?.state ?? []).some((state) => spoilt.has(state));
}

/** Reports whether a node has free-form output. Routes see only the declared keys. */
function isFree({ output }: WorkflowNode): boolean {
  return !isObject(output?.properties) || Object.keys(output.properties).length === 0;
}

function keyOf({ code, node, step }: Fault): string {
  return `${code} ${step} ${node}`;
}

// ---- messages

const UNOPENED = "this assumes that a server or code, which was not loaded, can read and write";

const HINTS: Readonly<Record<TaintCode, string>> = {
  "taint.write_held": "set writes: plan to approve each write, or effects: read or tools to remove writes from a node",
  "taint.text_in_write": "outside text is sent as data: only the text of the write depends on it",
  "taint.target_in_write":
    "write a fixed target, set it in the skill's config, or declare its allowed values with enum",
  "taint.free_text_route": "declare its output, so that the choice depends on fields, or let code choose with if",
  "taint.state": "set effects: read or tools to remove state_put from the node; entries are marked when they are read",
  "taint.private_to_public":
    "set tools or effects: read to remove the write or the private source; otherwise the run plans it, in any mode",
};

/** Builds a finding. If writes are planned, a user reviews what becomes public, and where, so a note is enough. */
function findingOf({ code, node, step, message }: Fault, writes: Writes): Finding {
  const isSeen = writes === "plan" && (code === "taint.private_to_public" || code === "taint.target_in_write");
  const path = ["nodes", node, ...(step === undefined ? [] : ["steps", step])];
  const severity = isSeen || code === "taint.text_in_write" ? "note" : "warning";
  return { severity, code, path, message, hint: HINTS[code] };
}

function giversOf(node: string, giver: string, tools: readonly ToolDescriptor[]): string {
  return `by ${listed(tools)}${giver === node ? "" : ` of node "${giver}"`}`;
}

const MOST_LISTED = 3;

function listed(tools: readonly ToolDescriptor[]): string {
  const names = [...new Set(tools.map(({ exposed }) => exposed))];
  const left = names.length - MOST_LISTED;
  return names.slice(0, MOST_LISTED).join(", ") + (left > 0 ? ` and ${left} more` : "");
}

/**
 * Computes which nodes can be reached from some starting nodes, because a node reads the results of all nodes before
 * it. Maps each reachable node to its nearest starting node.
 */
export function spread(beginnings: Iterable<string>, edges: readonly Edge[]): ReadonlyMap<string, string> {
  const targets = groupBy(edges, ({ from }) => from);
  const reached = new Map([...beginnings].map((node) => [node, node]));
  for (const [node, beginning] of reached) {
    for (const { to } of targets.get(node) ?? []) if (!reached.has(to)) reached.set(to, beginning);
  }
  return reached;
}
