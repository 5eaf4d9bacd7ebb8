import { byPlace, type Finding } from "../../core/base/diagnostic.ts";
import { flatWorkflow } from "../../core/document/inner/flat.ts";
import type { Workflow } from "../../core/document/workflow/workflow.ts";
import { checkFiles } from "../../loaders/sources/sources.ts";
import { readWorkflow, type SourceChoices, sourcePlaces, type WorkflowDocument } from "../documents.ts";
import type { Workspace } from "../host.ts";
import { readInner } from "../runs/inner.ts";
import { checkDocument, secretsOf } from "../secrets.ts";
import { configFindings, unknownSkills } from "../workspace.ts";
import { skillProblems } from "./taint.ts";

/** Finds all problems of workflows, their skills and their config, without network requests or prompts. */
export async function findProblems(
  workspace: Workspace,
  documents: readonly WorkflowDocument[],
  choices: SourceChoices,
): Promise<Finding[]> {
  const found = await Promise.all(documents.map((document) => readDiscreetly(workspace, document, choices)));
  const workflows = found.map(({ workflow }) => workflow);
  const about = [...configFindings(workspace), ...unknownSkills(workspace, workflows)];
  return [...about, ...found.flatMap(({ findings }) => findings)];
}

/** Reads a workflow and adds findings about its sources, secrets, inner workflows and skills. */
async function readDiscreetly(
  workspace: Workspace,
  document: WorkflowDocument,
  choices: SourceChoices,
): Promise<{ readonly workflow: Workflow | undefined; readonly findings: readonly Finding[] }> {
  const { workflow, draft, inline, diagnostics, place } = readWorkflow(workspace, document);
  if (!draft) return { workflow, findings: diagnostics };
  const places = sourcePlaces(workspace.host, document, choices);
  const sources = await checkFiles(draft, { ...places, offline: true, auth: {} });
  const secrets = checkDocument(secretsOf(workspace), draft);
  const outer = workflow && { workflow, document, inline, place };
  const read = outer && { ...outer, ...readInner(workspace, outer) };
  const found = read ? [...read.findings, ...(await skillProblems(workspace, read))] : [];
  const isOwn = ({ file }: Finding) => file === undefined || file === document;
  // A file that two nodes run is reported once.
  const elsewhere = new Map(found.filter((each) => !isOwn(each)).map((each) => [JSON.stringify(each), each]));
  const placed = [...place([...sources, ...secrets]), ...found.filter(isOwn)];
  const flat = read && flatWorkflow(read.workflow, read.inner);
  return { workflow: flat, findings: [...[...diagnostics, ...placed].sort(byPlace), ...elsewhere.values()] };
}
