import type { Finding } from "../../core/base/diagnostic.ts";
import { defined } from "../../core/base/values.ts";
import { flatWorkflow } from "../../core/document/inner/flat.ts";
import type { Workflow } from "../../core/document/workflow/workflow.ts";
import { checkStepTools, checkToolNames, stepShapes } from "../../core/outward/taint/step-tools.ts";
import { findTaint, type Taint } from "../../core/outward/taint/taint.ts";
import type { DeclaredSkill } from "../../core/outward/taint/tools.ts";
import { instanceOf } from "../../core/skill/skill-reference.ts";
import { declareSkill } from "../../loaders/registry/declared.ts";
import type { Workspace } from "../host.ts";
import { type InnerWorkflow, type InnerWorkflows, pathFindings } from "../runs/inner.ts";
import { gatherAll, type SkillEntries } from "../skills/entries.ts";
import { boundsFor } from "./settings.ts";

/** Computes the taint of a workflow with the installed skills, without connecting their servers. */
export async function taintOf(workspace: Workspace, read: ReadWorkflow): Promise<Taint> {
  return taintWith(
    workspace,
    flatWorkflow(read.workflow, read.inner),
    declareAll(await gatherAll(workspace.skills, [...read.inner.values(), read])),
  );
}

type ReadWorkflow = Pick<InnerWorkflow, "workflow" | "inline"> & { readonly inner: InnerWorkflows };

/** Finds problems of skills and tools that are known before a run: taint, invalid config and unknown tool names. */
export async function skillProblems(
  workspace: Workspace,
  read: ReadWorkflow & Pick<InnerWorkflow, "place" | "document">,
): Promise<readonly Finding[]> {
  const gathered = await gatherAll(workspace.skills, [...read.inner.values(), read]);
  const skills = declareAll(gathered);
  const flat = flatWorkflow(read.workflow, read.inner);
  const found = [
    ...configProblems(flat, gathered),
    ...checkToolNames(flat, skills),
    ...checkStepTools(flat, skills),
    ...taintWith(workspace, flat, skills).findings,
  ];
  const hasSteps = Object.values(flat.nodes).some(({ steps }) => steps);
  const ofOutputs = hasSteps ? pathFindings(read, read.inner, stepShapes(skills)) : [];
  return [...found.flatMap((finding) => placeInside(read, finding)), ...ofOutputs];
}

/** Places a finding in the file of the inner workflow, or otherwise at the node of the outer workflow. */
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

/**
 * Reports malformed config values, and instances that cannot be used, at the first node that lists the skill. Missing
 * values are not errors here.
 */
function configProblems({ nodes }: Pick<Workflow, "nodes">, gathered: SkillEntries): Finding[] {
  return [...gathered].flatMap(([id, entry]): Finding[] => {
    const { unavailable, fields = [] } = entry ?? {};
    const isMalformed = unavailable?.kind === "config_form" || fields.some(({ malformed }) => malformed);
    const isUnusable = instanceOf(id) && (unavailable?.kind === "untrusted" || unavailable?.kind === "invalid");
    if (!unavailable || !(isMalformed || isUnusable)) return [];
    const [node, listed] = Object.entries(nodes).find(([, { skills = [] }]) => skills.includes(id)) ?? [];
    const path = node === undefined ? [] : ["nodes", node, "skills", listed?.skills?.indexOf(id) ?? 0];
    const message = `skill "${id}" cannot be used: ${unavailable.reason}`;
    const code = unavailable.kind === "untrusted" ? "SKILL_NOT_TRUSTED" : "SKILL_CONFIG_FORM";
    return [{ severity: "warning", code, path, message, ...defined("hint", unavailable.fix) }];
  });
}

function declareAll(gathered: SkillEntries): DeclaredSkills {
  return new Map([...gathered].flatMap(([id, entry]) => (entry ? [[id, declareSkill(id, entry)] as const] : [])));
}

function taintWith(workspace: Workspace, workflow: Workflow, skills: DeclaredSkills): Taint {
  const { writes = "allow" } = boundsFor(workspace, {}, [workflow]);
  return findTaint({ workflow, skills, writes });
}
