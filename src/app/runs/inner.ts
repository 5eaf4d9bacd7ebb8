import { basename, dirname, join } from "node:path";
import { type Diagnostic, errorAt } from "../../core/base/diagnostic.ts";
import { deepEqual, memo } from "../../core/base/values.ts";
import { checkJudgeBudget } from "../../core/document/check/judge-budget.ts";
import type { FindInner, StepShape } from "../../core/document/check/node-data.ts";
import { checkPathsInto } from "../../core/document/check/workflow.ts";
import { checkSharedCopy } from "../../core/document/check/workspace.ts";
import { inlineWorkflow } from "../../core/document/inner/inline.ts";
import type { WorkflowNode } from "../../core/document/workflow/node.ts";
import type { Workflow } from "../../core/document/workflow/workflow.ts";
import type { InnerDocument, RunRecord } from "../../core/engine/event/record.ts";
import { type LoadedWorkflow, locateInner } from "../../loaders/documents/workflow-file.ts";
import { type ReadWorkflow, readWorkflow, recordedSkills, sourcePlaces, type WorkflowDocument } from "../documents.ts";
import type { Workspace } from "../host.ts";
import type { InlineSkills } from "../workspace.ts";

export interface InnerWorkflow {
  readonly workflow: Workflow;
  /** Undefined if the outer document defines it. */
  readonly file: string | undefined;
  /** Document that its relative paths start from. */
  readonly document: WorkflowDocument;
  readonly inline: InlineSkills;
  readonly place: LoadedWorkflow["place"];
  /** Sources of the recorded run, if it comes from a recording. */
  readonly sources?: RunRecord["sources"] | undefined;
}

/** Inner workflows by the path of the node that runs them: `each`, `top/each`. */
export type InnerWorkflows = ReadonlyMap<string, InnerWorkflow>;

const MOST_DEEP = 8;
/** Limit for nested files, whose number can grow exponentially with the depth. */
const MOST_WORKFLOWS = 1000;

interface Outer extends Omit<InnerWorkflow, "file"> {
  readonly path: string;
  /** Real paths of the enclosing documents. */
  readonly files: readonly string[];
}

/** Outermost document, and the recorded inner workflows that replace files that no longer exist. */
export type Outermost = Pick<InnerWorkflow, "workflow" | "document" | "inline" | "place"> & {
  readonly recorded?: RunRecord["inner"];
};

/** Reads all inner workflows of a document, at any depth, and all findings. Reads each file once. */
export function readInner(
  workspace: Workspace,
  { recorded = {}, ...outer }: Outermost,
): { readonly inner: InnerWorkflows; readonly findings: readonly Diagnostic[] } {
  const inner = new Map<string, InnerWorkflow>();
  const findings: Diagnostic[] = [];
  const seen = new Set<string>();
  const readOnce = memo((document: string) => readWorkflow(workspace, document));
  const read = (document: string, real: string) => {
    const found = readOnce(document);
    if (!seen.has(real)) findings.push(...found.diagnostics);
    seen.add(real);
    return found;
  };
  let isFull = false;
  const enter = (from: Outer, depth: number) => {
    for (const [id, node] of Object.entries(from.workflow.nodes)) {
      const written = node.call ?? node.workflow;
      if (written === undefined && !node.nodes) continue;
      const field = node.call === undefined ? "workflow" : "call";
      const refuse = (message: string) => {
        const at = { severity: "error", code: "INNER_WORKFLOW", path: ["nodes", id, field] } as const;
        findings.push(...from.place([{ ...at, message }]));
      };
      const path = from.path === "" ? id : `${from.path}/${id}`;
      if (depth >= MOST_DEEP) {
        refuse(`workflows are nested more than ${MOST_DEEP} deep`);
        continue;
      }
      if (inner.size >= MOST_WORKFLOWS) {
        if (!isFull) refuse(`this workflow runs more than ${MOST_WORKFLOWS} workflows`);
        isFull = true;
        return;
      }
      const means = { workspace, read, recorded: recorded[path] };
      const found = written === undefined ? inlineIn(from, id, node) : fileFor(from, written, means);
      if (typeof found === "string") {
        refuse(found);
        continue;
      }
      const { real, ...whole } = found;
      inner.set(path, whole);
      enter({ ...whole, path, files: real === undefined ? from.files : [...from.files, real] }, depth + 1);
      const inside = [...inner].flatMap(([at, each]) => (`${at}/`.startsWith(`${path}/`) ? [each.workflow] : []));
      findings.push(...from.place(checkSharedCopy(id, node, inside)));
    }
  };
  enter({ ...outer, path: "", files: realOf(workspace, outer.document) }, 1);
  findings.push(...pathFindings(outer, inner), ...skillClashes(outer, inner));
  const isTold = checkJudgeBudget(outer.workflow).length > 0;
  if (!isTold) findings.push(...outer.place(checkJudgeBudget(outer.workflow, inner)));
  return { inner, findings };
}

/**
 * Checks paths into the results of workflows in other files, once for each workflow document. With `stepShape`, checks
 * only what the outputs of steps add.
 */
export function pathFindings(outer: DocumentPlace, inner: InnerWorkflows, stepShape?: StepShape): Diagnostic[] {
  if (!stepShape && ![...inner.values()].some(({ file }) => file !== undefined)) return [];
  const findIn =
    (path: string): FindInner =>
    (id) => {
      const at = path === "" ? id : `${path}/${id}`;
      const workflow = inner.get(at)?.workflow;
      return workflow && { workflow, find: findIn(at) };
    };
  const all = [{ ...outer, path: "" }, ...[...inner].map(([path, each]) => ({ ...each, path }))];
  const written = new Map(all.map((each) => [JSON.stringify([each.document, each.workflow.id]), each]));
  return [...written.values()].flatMap(({ workflow, place, path }) => {
    const find = findIn(path);
    return place(
      stepShape ? checkPathsInto(workflow, { find, stepShape }, { find }) : checkPathsInto(workflow, { find }),
    );
  });
}

/** Reports skills whose id stands for a different skill in another document, because a run knows skills by their ids. */
function skillClashes(outer: DocumentPlace, inner: InnerWorkflows): Diagnostic[] {
  const files = new Map([...inner.values()].flatMap((each) => (each.file === undefined ? [] : [[each.file, each]])));
  const declared = new Map(Object.entries(outer.workflow.skills ?? {}));
  return [...files.values()].flatMap(({ workflow, place }) => {
    const clashing = Object.entries(workflow.skills ?? {}).filter(([id, skill]) => {
      if (!declared.has(id)) declared.set(id, skill);
      return !deepEqual(declared.get(id), skill);
    });
    const message = (id: string) => `another workflow of the same run defines a different skill with the id ${id}`;
    const hint = "rename one of them, or define both in the same way";
    return place(clashing.map(([id]) => errorAt("INVALID_INLINE_SKILL", ["skills", id], message(id), hint)));
  });
}

type DocumentPlace = Pick<InnerWorkflow, "workflow" | "place" | "document">;

/** Treats inline skills as recorded ones, which are not trusted. */
export function withRecordedSkills(inner: InnerWorkflows): InnerWorkflows {
  return new Map([...inner].map(([path, each]) => [path, { ...each, inline: recordedSkills(each.workflow) }]));
}

export function recordedInner({ inner = {} }: RunRecord): InnerWorkflows {
  return new Map(Object.entries(inner).map(([path, document]) => [path, asRecorded(document)]));
}

function asRecorded({ workflow, file, sources }: InnerDocument): InnerWorkflow {
  return { workflow, file, document: {}, inline: recordedSkills(workflow), place: (found) => [...found], sources };
}

type Found = InnerWorkflow & { readonly real: string | undefined };

function inlineIn({ workflow, document, inline, place }: Outer, id: string, node: WorkflowNode): Found {
  return {
    ...{ workflow: inlineWorkflow(workflow, id, node), file: undefined, document, inline, real: undefined },
    place: (found) => place(found.map((each) => ({ ...each, path: ["nodes", id, ...each.path] }))),
  };
}

interface Means {
  readonly workspace: Workspace;
  readonly read: (document: string, real: string) => ReadWorkflow;
  readonly recorded: InnerDocument | undefined;
}

/** Reads a workflow file. Returns a message if it is missing, not allowed or invalid. */
function fileFor(from: Outer, written: string, { workspace, read, recorded }: Means): Found | string {
  const { baseDir, documentRoot } = sourcePlaces(workspace.host, from.document, {});
  const located = locateInner(written, baseDir, documentRoot);
  const shown = typeof from.document === "string" ? join(dirname(from.document), written) : written;
  if (typeof located === "string") {
    // The file is gone, but the recording has its content.
    if (recorded?.file !== shown) return located;
    return { ...asRecorded(recorded), document: shown, real: undefined };
  }
  const { real } = located;
  if (from.files.includes(real)) return `${written} runs itself`;
  const { workflow, inline, place } = read(shown, real);
  return workflow ? { workflow, inline, place, document: shown, file: shown, real } : `${shown} cannot be run`;
}

function realOf({ host }: Workspace, document: WorkflowDocument): string[] {
  if (typeof document !== "string") return [];
  const { baseDir, documentRoot } = sourcePlaces(host, document, {});
  const located = locateInner(basename(document), baseDir, documentRoot);
  return typeof located === "string" ? [] : [located.real];
}
