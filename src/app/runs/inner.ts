import { basename, dirname, join } from "node:path";
import type { Diagnostic } from "../../core/diagnostic.ts";
import type { WorkflowNode } from "../../core/document/node.ts";
import type { Workflow } from "../../core/document/workflow.ts";
import type { RunRecord } from "../../core/event/record.ts";
import { inlineWorkflow } from "../../core/workflow/inline.ts";
import { locateInner } from "../../loaders/inner-file.ts";
import { readWorkflow, recordedSkills, sourcePlaces, type WorkflowDocument } from "../documents.ts";
import type { Workspace } from "../host.ts";
import type { InlineSkills } from "../workspace.ts";

/** A workflow that a node runs, and where it was. */
export interface InnerWorkflow {
  readonly workflow: Workflow;
  /** Undefined where the document itself holds it. */
  readonly file: string | undefined;
  /** What its relative paths start from. */
  readonly document: WorkflowDocument;
  readonly inline: InlineSkills;
}

/** By the path of the node that runs it: `each`, `top/each`. */
export type InnerWorkflows = ReadonlyMap<string, InnerWorkflow>;

/** The outermost counted (extensions G22). */
const MOST_DEEP = 8;
/** Files that run files that run files are very many soon. */
const MOST_WORKFLOWS = 1000;

interface Outer extends Omit<InnerWorkflow, "file"> {
  readonly path: string;
  /** The real paths of the documents around it. */
  readonly files: readonly string[];
}

/** Every workflow that a document's nodes run, and theirs, with all that is wrong with them. */
export function readInner(
  workspace: Workspace,
  outer: Pick<InnerWorkflow, "workflow" | "document" | "inline">,
): { readonly inner: InnerWorkflows; readonly findings: readonly Diagnostic[] } {
  const inner = new Map<string, InnerWorkflow>();
  const findings: Diagnostic[] = [];
  const seen = new Set<string>();
  let isFull = false;
  const enter = (from: Outer, depth: number) => {
    for (const [id, node] of Object.entries(from.workflow.nodes)) {
      const written = node.call ?? node.workflow;
      if (written === undefined && !node.nodes) continue;
      const place = ["nodes", id, node.call === undefined ? "workflow" : "call"];
      const path = from.path === "" ? id : `${from.path}/${id}`;
      if (depth >= MOST_DEEP) {
        findings.push(refused(place, `workflows are nested more than ${MOST_DEEP} deep here`));
        continue;
      }
      if (inner.size >= MOST_WORKFLOWS) {
        if (!isFull) findings.push(refused(place, `more than ${MOST_WORKFLOWS} workflows are run from here`));
        isFull = true;
        return;
      }
      const found = written === undefined ? inlineIn(from, id, node) : fileFor(workspace, from, written);
      if (typeof found === "string") {
        findings.push(refused(place, found));
        continue;
      }
      const { file, diagnostics = [], real, ...read } = found;
      if (real !== undefined && !seen.has(real)) findings.push(...diagnostics);
      if (real !== undefined) seen.add(real);
      if (!read.workflow) {
        findings.push(refused(place, `${file} cannot be run`));
        continue;
      }
      const whole = { ...read, workflow: read.workflow };
      inner.set(path, { ...whole, file });
      enter({ ...whole, path, files: real === undefined ? from.files : [...from.files, real] }, depth + 1);
    }
  };
  enter({ ...outer, path: "", files: realOf(workspace, outer.document) }, 1);
  return { inner, findings };
}

/** As of a recording: nobody vouches for what they bring along. */
export function withRecordedSkills(inner: InnerWorkflows): InnerWorkflows {
  return new Map([...inner].map(([path, each]) => [path, { ...each, inline: recordedSkills(each.workflow) }]));
}

/** Those that a run was begun with. */
export function recordedInner({ inner = {} }: RunRecord): InnerWorkflows {
  const documents = Object.entries(inner).map(([path, { workflow, file }]): [string, InnerWorkflow] => {
    return [path, { workflow, file, document: {}, inline: recordedSkills(workflow) }];
  });
  return new Map(documents);
}

function refused(path: Diagnostic["path"], message: string): Diagnostic {
  return { severity: "error", code: "INNER_WORKFLOW", path, message };
}

interface Found extends Omit<InnerWorkflow, "workflow"> {
  readonly workflow: Workflow | undefined;
  readonly diagnostics?: readonly Diagnostic[];
  readonly real: string | undefined;
}

function inlineIn({ workflow, document, inline }: Outer, id: string, node: WorkflowNode): Found {
  return { workflow: inlineWorkflow(workflow, id, node), file: undefined, document, inline, real: undefined };
}

/** A string says why it is none. */
function fileFor(workspace: Workspace, from: Outer, written: string): Found | string {
  const { baseDir, documentRoot } = sourcePlaces(workspace.host, from.document, {});
  const located = locateInner(written, baseDir, documentRoot);
  if (typeof located === "string") return located;
  const { real } = located;
  if (from.files.includes(real)) return `${written} runs itself`;
  const shown = typeof from.document === "string" ? join(dirname(from.document), written) : written;
  const { workflow, diagnostics, inline } = readWorkflow(workspace, shown);
  return { workflow, diagnostics, inline, document: shown, file: shown, real };
}

function realOf({ host }: Workspace, document: WorkflowDocument): string[] {
  if (typeof document !== "string") return [];
  const { baseDir, documentRoot } = sourcePlaces(host, document, {});
  const located = locateInner(basename(document), baseDir, documentRoot);
  return typeof located === "string" ? [] : [located.real];
}
