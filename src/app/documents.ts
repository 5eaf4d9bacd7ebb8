import { dirname, resolve } from "node:path";
import type { RunChoices } from "../core/engine/settings.ts";
import type { Diagnostic } from "../core/errors.ts";
import { parseSkillReference } from "../core/skill-reference.ts";
import type { Workflow } from "../core/workflow.ts";
import { isUsersOwn, projectRoot } from "../loaders/project-config.ts";
import { knownSkills } from "../loaders/registry/open.ts";
import type { InlineSkills, SkillSet } from "../loaders/registry/skill-set.ts";
import type { Withheld } from "../loaders/registry/withheld.ts";
import { checkFiles } from "../loaders/sources.ts";
import { type LoadedWorkflow, loadWorkflow, placeFindings } from "../loaders/workflow-file.ts";
import type { Host, Workspace } from "./host.ts";
import { ownFolders } from "./skills/levels.ts";

/** A workflow document as it was read, with the skills that it brings along. */
export interface ReadWorkflow extends LoadedWorkflow {
  readonly inline: InlineSkills;
}

/** A workflow document and everything that is wrong with it. */
export function readWorkflow({ host, skills }: Workspace, file: string): ReadWorkflow {
  const path = resolve(host.cwd, file);
  const loaded = loadWorkflow(path, knownSkills(skills), file);
  const inline = { skills: loaded.workflow?.skills, trusted: isUsersOwn(path, host.cwd, ownFolders(host)) };
  const held = loaded.workflow ? withheldSkills(skills, loaded.workflow, inline) : [];
  const about = loaded.workflow ? skillFindings(skills, loaded.workflow, inline) : [];
  const placed = placeFindings(path, [...held, ...about.filter((found) => found.file === undefined)], file);
  const elsewhere = about.filter((found) => found.file !== undefined);
  return { ...loaded, inline, diagnostics: [...loaded.diagnostics, ...placed, ...elsewhere] };
}

/** What a recorded run brings along: whoever wrote it down, it counts as the checkout's (workflow-format D64). */
export function recordedSkills({ skills }: Workflow): InlineSkills {
  return { skills, trusted: false };
}

/** Where the files of Sources may lie: in the document's repository, else its folder, or where the operator says (D63). */
export function sourcePlaces({ cwd }: Host, document: string, { fileRoot, inputSources }: SourceChoices) {
  const baseDir = dirname(document);
  const root = fileRoot === undefined ? undefined : resolve(cwd, fileRoot);
  return {
    baseDir,
    workDir: cwd,
    documentRoot: root ?? projectRoot(baseDir),
    inputRoot: inputSources ? (root ?? cwd) : undefined,
  };
}

type SourceChoices = Pick<RunChoices, "fileRoot" | "inputSources">;

/** What is wrong with the files that a document names as Sources; nothing is fetched. */
export async function sourceFindings(
  { host }: Workspace,
  file: string,
  workflow: Workflow,
  choices: SourceChoices,
): Promise<Diagnostic[]> {
  const path = resolve(host.cwd, file);
  const places = sourcePlaces(host, path, choices);
  return placeFindings(path, await checkFiles(workflow, { ...places, offline: true, auth: {} }), file);
}

/** What is to be told of the places where its skills are looked for. */
function skillFindings(set: SkillSet, { nodes }: Workflow, inline: InlineSkills): Diagnostic[] {
  const ids = new Set(Object.values(nodes).flatMap(({ skills = [] }) => skills));
  return [...ids].flatMap((id) => set.about(id, inline));
}

/** One for each skill that is held back (trust 6), where the workflow first lists it. */
function withheldSkills(set: SkillSet, workflow: Workflow, inline: InlineSkills): Diagnostic[] {
  const found = new Map<string, Diagnostic>();
  for (const [node, { skills = [] }] of Object.entries(workflow.nodes)) {
    for (const [index, id] of skills.entries()) {
      const withheld = found.has(id) ? undefined : set.withheld(id, inline);
      if (withheld !== undefined) found.set(id, notTrusted(id, withheld, ["nodes", node, "skills", index]));
    }
  }
  return [...found.values()];
}

function notTrusted(reference: string, { reason, remedy }: Withheld, path: Diagnostic["path"]): Diagnostic {
  const { id } = parseSkillReference(reference);
  const message = `skill "${id}": ${reason}`;
  return { severity: "warning", code: "SKILL_NOT_TRUSTED", path, message, hint: remedy };
}
