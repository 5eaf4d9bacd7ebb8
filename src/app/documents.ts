import { dirname, relative, resolve } from "node:path";
import type { Diagnostic } from "../core/base/diagnostic.ts";
import { usageError } from "../core/base/errors.ts";
import { isObject, type JsonObject, nearest } from "../core/base/values.ts";
import type { WorkflowNode } from "../core/document/workflow/node.ts";
import type { Workflow } from "../core/document/workflow/workflow.ts";
import type { RunChoices } from "../core/engine/settings/settings.ts";
import { WORKSPACE } from "../core/engine/tools/workspace.ts";
import { parseSkillReference } from "../core/skill/skill-reference.ts";
import { isUsersOwn, projectRoot } from "../loaders/documents/project-config.ts";
import { type LoadedWorkflow, loadWorkflow, loadWorkflowValue } from "../loaders/documents/workflow-file.ts";
import { knownSkills } from "../loaders/registry/open.ts";
import type { InlineSkills, SkillSet } from "../loaders/registry/skill-set.ts";
import { editYaml, type YamlEdit } from "../loaders/text/edit-yaml.ts";
import { parseJsonText } from "../loaders/text/json-text.ts";
import { documentsOf, type Host, type Workspace } from "./host.ts";
import { ownFolders } from "./skills/levels.ts";
import { configFiles } from "./workspace.ts";

export { editYaml, parseJsonText, type YamlEdit };

export interface ReadWorkflow extends LoadedWorkflow {
  readonly inline: InlineSkills;
}

/** Workflow document: a path, or the parsed value of such a file. */
export type WorkflowDocument = string | JsonObject;

export function titleOf(document: WorkflowDocument): string {
  return typeof document === "string" ? document : "the workflow";
}

export function readWorkflow(workspace: Workspace, document: WorkflowDocument): ReadWorkflow {
  const { host, skills } = workspace;
  const known = knownSkills(skills);
  const path = pathOf(host, document);
  const read =
    typeof document === "string" && path !== undefined
      ? loadWorkflow(path, known, document)
      : loadWorkflowValue(document, known);
  const loaded = withAdded(read, workspace.choices);
  // The origin of a value is unknown, so it is not trusted.
  const trusted = path !== undefined && isUsersOwn(path, host.cwd, ownFolders(host));
  const inline = { skills: loaded.workflow?.skills, trusted };
  const held = loaded.workflow ? withheldSkills(skills, loaded.workflow, inline) : [];
  const listed = new Set(Object.values(loaded.workflow?.nodes ?? {}).flatMap((node) => node.skills ?? []));
  const about = [...listed].flatMap((id) => skills.about(id, inline));
  const placed = loaded.place([...held, ...about.filter((found) => found.file === undefined)]);
  const elsewhere = about.filter((found) => found.file !== undefined);
  return { ...loaded, inline, diagnostics: [...loaded.diagnostics, ...placed, ...elsewhere] };
}

/** Gives nodes the skills that the operator added, and the instances of the skills that they list by their ids. */
function withAdded(loaded: LoadedWorkflow, { added, instances }: Workspace["choices"]): LoadedWorkflow {
  if (added.size + instances.size === 0) return loaded;
  const withMore = (id: string, { skills = [], ...node }: WorkflowNode): WorkflowNode => {
    const listed = [...skills, ...(usesSkills(node) ? (added.get(id) ?? []) : [])];
    const others = listed.flatMap((id) =>
      [...instances].flatMap(([other, { skill }]) => (skill === id ? [other] : [])),
    );
    const all = [...new Set([...listed, ...others])];
    const nodes = Object.entries(node.nodes ?? {}).map(([id, inner]) => [id, withMore(id, inner)]);
    return {
      ...node,
      ...(all.length > 0 ? { skills: all } : {}),
      ...(node.nodes ? { nodes: Object.fromEntries(nodes) } : {}),
    };
  };
  const withSkills = (workflow: Workflow): Workflow => {
    const nodes = Object.entries(workflow.nodes).map(([id, node]) => [id, withMore(id, node)]);
    return { ...workflow, nodes: Object.fromEntries(nodes) };
  };
  const { workflow, draft, diagnostics } = loaded;
  const isMended = ({ code, path }: Diagnostic) =>
    code === "FILE_TOOLS_MISSING" && added.get(String(path[path.lastIndexOf("nodes") + 1]))?.includes(WORKSPACE);
  return {
    ...loaded,
    workflow: workflow && withSkills(workflow),
    ...(draft ? { draft: withSkills(draft) } : {}),
    diagnostics: diagnostics.filter((found) => !isMended(found)),
  };
}

/** Checks whether a node calls tools itself: it does not if it runs a workflow or waits for an approval. */
function usesSkills({ instruction, steps }: Pick<WorkflowNode, "instruction" | "steps">): boolean {
  return instruction !== undefined || steps !== undefined;
}

/** Throws if the command line adds a skill to a node that none of the workflows has, or that calls no tools. */
export function refuseUnknownNodes(workflows: readonly Workflow[], { addedHere }: Workspace["choices"]): void {
  const all = workflows.flatMap((workflow) => Object.entries(workflow.nodes));
  const nodes = all.flatMap(([id, node]) => (usesSkills(node) ? [id] : []));
  const unknown = addedHere.find((node) => !nodes.includes(node));
  if (unknown === undefined) return;
  if (all.some(([id]) => id === unknown)) {
    const reason = `a skill is added to the node ${unknown}, which calls no tools itself`;
    throw usageError(reason, `add it to one of the nodes ${nodes.join(", ").slice(0, 500)}`);
  }
  const near = nearest(unknown, nodes);
  const hint = near === undefined ? `its nodes: ${nodes.join(", ").slice(0, 500)}` : `did you mean ${near}?`;
  throw usageError(`a skill is added to the node ${unknown}, which the workflow does not have`, hint);
}

/** Returns the inline skills of a record. A record may be forged, so a bare skill id does not trust them. */
export function recordedSkills({ skills }: Workflow): InlineSkills {
  return { skills, trusted: false, recorded: true };
}

function pathOf(host: Host, document: WorkflowDocument): string | undefined {
  return typeof document === "string" ? resolve(documentsOf(host), document) : undefined;
}

/** Returns the roots for source files: the document's repository or folder, or the folder that the operator names. */
export function sourcePlaces(host: Host, document: WorkflowDocument, { fileRoot, inputSources }: SourceChoices) {
  const { cwd, documents } = host;
  const path = pathOf(host, document);
  const baseDir = path === undefined ? documentsOf(host) : dirname(path);
  const root = fileRoot === undefined ? undefined : resolve(cwd, fileRoot);
  return {
    baseDir,
    workDir: cwd,
    documentRoot: root ?? projectRoot(baseDir),
    inputRoot: inputSources ? (root ?? cwd) : undefined,
    inCheckout: documents && ((copied: string) => resolve(cwd, relative(documents.folder, copied))),
  };
}

export type SourceChoices = Pick<RunChoices, "fileRoot" | "inputSources">;

/** Reports each untrusted skill where the workflow first lists it. */
function withheldSkills(set: SkillSet, workflow: Workflow, inline: InlineSkills): Diagnostic[] {
  const found = new Map<string, Diagnostic>();
  for (const [node, { skills = [] }] of Object.entries(workflow.nodes)) {
    for (const [index, id] of skills.entries()) {
      const withheld = found.has(id) ? undefined : set.withheld(id, inline);
      if (withheld === undefined) continue;
      const message = `skill "${parseSkillReference(id).id}": ${withheld.reason}`;
      const about = { severity: "warning", code: "SKILL_NOT_TRUSTED", message, hint: withheld.remedy } as const;
      found.set(id, { ...about, path: ["nodes", node, "skills", index] });
    }
  }
  return [...found.values()];
}

/** Adds `workspace.test` of the config as `test_command`, if the workflow declares it and the input does not have it. */
export function withTestCommand(workspace: Workspace, { inputs = {} }: Workflow, input: unknown): unknown {
  const command = configFiles(workspace).find((file) => file.workspace?.test !== undefined)?.workspace?.test;
  if (command === undefined || inputs.test_command?.type !== "string" || !isObject(input)) return input;
  return { test_command: command, ...input };
}
