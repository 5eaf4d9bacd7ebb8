import type { Diagnostic } from "../core/diagnostic.ts";
import { readWorkflow, type SourceChoices, sourceFindings, type WorkflowDocument } from "./documents.ts";
import type { Workspace } from "./host.ts";
import { documentSecrets } from "./secrets.ts";
import { configFindings, unknownSkills } from "./workspace.ts";

/** Everything that is wrong with workflows, and with what they are run with; nothing is fetched and nobody asked. */
export async function findProblems(
  workspace: Workspace,
  documents: readonly WorkflowDocument[],
  choices: SourceChoices,
): Promise<Diagnostic[]> {
  const found = await Promise.all(documents.map((document) => readDiscreetly(workspace, document, choices)));
  const workflows = found.map(({ workflow }) => workflow);
  const about = [...configFindings(workspace), ...unknownSkills(workspace, workflows)];
  return [...about, ...found.flatMap(({ diagnostics }) => diagnostics)];
}

/** With the secrets that stand in the document. */
async function readDiscreetly(workspace: Workspace, document: WorkflowDocument, choices: SourceChoices) {
  const { workflow, diagnostics } = readWorkflow(workspace, document);
  if (!workflow) return { workflow, diagnostics };
  const sources = await sourceFindings(workspace, document, workflow, choices);
  return { workflow, diagnostics: [...diagnostics, ...sources, ...documentSecrets(workspace, document, workflow)] };
}
