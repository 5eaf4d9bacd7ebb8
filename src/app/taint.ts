import type { Finding } from "../core/diagnostic.ts";
import type { Workflow } from "../core/document/workflow.ts";
import { flatWorkflow } from "../core/inner/flat.ts";
import { chooseBounds } from "../core/settings/bounds.ts";
import { findTaint, type Taint } from "../core/taint/taint.ts";
import { checkToolNames } from "../core/taint/tool-names.ts";
import type { DeclaredSkill } from "../core/taint/tools.ts";
import { declareSkill } from "../loaders/registry/declared.ts";
import type { Workspace } from "./host.ts";
import type { InnerWorkflow, InnerWorkflows } from "./runs/inner.ts";
import { gatherAll } from "./skills/entries.ts";
import { configFiles, type InlineSkills } from "./workspace.ts";

/** The taint of a workflow as it would be run here, with the skills that there are; no server is connected for it. */
export async function taintOf(workspace: Workspace, read: ReadWorkflow): Promise<Taint> {
  return taintWith(workspace, flatWorkflow(read.workflow, read.inner), await declaredSkills(workspace, read));
}

/** A workflow, and those that its nodes run. */
interface ReadWorkflow {
  readonly workflow: Workflow;
  readonly inline: InlineSkills;
  readonly inner: InnerWorkflows;
}

/** What can be known of its skills and their tools before a run, where it stands: their taint, and names that no tool has. */
export async function skillProblems(
  workspace: Workspace,
  read: ReadWorkflow & Pick<InnerWorkflow, "place">,
): Promise<readonly Finding[]> {
  const skills = await declaredSkills(workspace, read);
  const flat = flatWorkflow(read.workflow, read.inner);
  const found = [...checkToolNames(flat, skills), ...taintWith(workspace, flat, skills).findings];
  return found.flatMap((finding) => placeInside(read, finding));
}

/** Of what is found inside another workflow: in its file, or below the node that holds it. */
function placeInside(read: ReadWorkflow & Pick<InnerWorkflow, "place">, finding: Finding): Finding[] {
  const [first, node, ...rest] = finding.path;
  const isInside = typeof node === "string" && !Object.hasOwn(read.workflow.nodes, node);
  const nodes = isInside ? node.split("/") : [];
  const depth = nodes.findLastIndex((_, index) => index > 0 && read.inner.has(nodes.slice(0, index).join("/")));
  const inside = first === "nodes" ? read.inner.get(nodes.slice(0, depth).join("/")) : undefined;
  if (!inside) return read.place([finding]);
  return inside.place([{ ...finding, path: ["nodes", nodes.slice(depth).join("/"), ...rest] }]);
}

type DeclaredSkills = ReadonlyMap<string, DeclaredSkill>;

async function declaredSkills({ skills }: Workspace, read: ReadWorkflow): Promise<DeclaredSkills> {
  const gathered = await gatherAll(skills, [...read.inner.values(), read]);
  return new Map([...gathered].flatMap(([id, entry]) => (entry ? [[id, declareSkill(id, entry)] as const] : [])));
}

function taintWith(workspace: Workspace, workflow: Workflow, skills: DeclaredSkills): Taint {
  const { writes = "allow" } = chooseBounds({}, workspace.host.env, [workflow, ...configFiles(workspace)]);
  return findTaint({ workflow, skills, writes });
}
