import { realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { byPlace, type Diagnostic, type Finding, fieldPath, hasErrors } from "../../core/base/diagnostic.ts";
import { isObject, isTexts, PARSED_ONCE } from "../../core/base/values.ts";
import { checkWorkflow } from "../../core/document/check/workflow.ts";
import { type Workflow, workflowSchema } from "../../core/document/workflow/workflow.ts";
import type { KnownSkills } from "../../core/skill/skill-reference.ts";
import { isWithin } from "../../files/files.ts";
import { type Place, parseYaml } from "../text/yaml-text.ts";
import { parseDocument, readDocument } from "./document-text.ts";
import { describeAll, type Issue } from "./schema-findings.ts";

export interface LoadedWorkflow {
  /** Undefined if the document has errors. */
  readonly workflow: Workflow | undefined;
  /** Document that matches the schema, even if other checks fail. Allows further checks. */
  readonly draft?: Workflow;
  readonly diagnostics: readonly Diagnostic[];
  /** Adds the places in the file to further findings. */
  place<Found extends Finding>(findings: readonly Found[]): Found[];
}

type Checked = Omit<LoadedWorkflow, "place">;

export function loadWorkflow(path: string, knownSkills: KnownSkills, shownAs = path): LoadedWorkflow {
  const read = readDocument(path, shownAs, "workflow");
  if (typeof read !== "string") return unplaced({ workflow: undefined, diagnostics: [read] });
  return parseWorkflow(read, knownSkills, shownAs);
}

/** Checks a document that was passed as a value. Findings have paths instead of places. */
export function loadWorkflowValue(value: unknown, knownSkills: KnownSkills): LoadedWorkflow {
  return unplaced(checkValue(value, knownSkills));
}

function unplaced(checked: Checked): LoadedWorkflow {
  return { ...checked, place: (findings) => [...findings] };
}

/** Returns a function that finds the places of a document's nodes. It finds none if the file is unreadable. */
export function nodePlaces(path: string): (node: string) => Place {
  const text = readDocument(path, path, "workflow");
  if (typeof text !== "string") return () => ({});
  const { value, position } = parseYaml(text);
  const nodes = isObject(value) && isObject(value.nodes) ? value.nodes : {};
  return (node) => (Object.hasOwn(nodes, node) ? position(["nodes", node]) : {});
}

/** Resolves the path of an inner workflow. Returns a message if it is missing or outside the project. */
export function locateInner(written: string, baseDir: string, root: string): { readonly real: string } | string {
  try {
    const real = realpathSync(join(baseDir, written));
    if (!isWithin(realpathSync(root), real)) return `${written} is outside the project`;
    return statSync(real).isFile() ? { real } : `${written} is not a file`;
  } catch {
    return `there is no file ${written}`;
  }
}

export function parseWorkflow(text: string, knownSkills: KnownSkills, file?: string): LoadedWorkflow {
  const { value, faults, place } = parseDocument(text, file);
  if (faults.length > 0) return unplaced({ workflow: undefined, diagnostics: faults });
  const { diagnostics, ...read } = checkValue(value, knownSkills);
  return { ...read, diagnostics: place(diagnostics).sort(byPlace), place };
}

function checkValue(value: unknown, knownSkills: KnownSkills): Checked {
  if (!isObject(value)) {
    const message = "a workflow must be a map of fields, such as id, entry, nodes and edges";
    return { workflow: undefined, diagnostics: [{ severity: "error", code: "SCHEMA", path: [], message }] };
  }
  const other = otherDocument(value);
  if (other) return { workflow: undefined, diagnostics: [other] };
  const checked = workflowSchema().safeParse(value, PARSED_ONCE);
  const issues = checked.success ? [] : checked.error.issues;
  const structure = checked.success
    ? checkWorkflow(checked.data, knownSkills)
    : checkSketch(value, issues, knownSkills);
  const document = { schema: workflowSchema(), value, insteadOf: sourceFault };
  const shape = describeAll(issues, document).map((found) =>
    isVerify(found) ? { ...VERIFY, path: found.path } : found,
  );
  const verify = Object.hasOwn(value, "verify") ? [VERIFY] : [];
  const diagnostics = [...verify, ...shape, ...structure];
  if (!checked.success) return { workflow: undefined, diagnostics };
  return { workflow: hasErrors(diagnostics) ? undefined : checked.data, draft: checked.data, diagnostics };
}

const SCRIPT = { option: "model", value: "script:FILE" } as const;

/** Detects a script or a test that was passed as a workflow. Such files are often next to workflows. */
function otherDocument(value: Readonly<Record<string, unknown>>): Diagnostic | undefined {
  if (value.nodes !== undefined || value.entry !== undefined) return undefined;
  const finding = { severity: "error", code: "SCHEMA", path: [] } as const;
  if (Array.isArray(value.replies))
    return { ...finding, message: "this is a script, not a workflow", hint: ["pass it to a run: ", SCRIPT] };
  if (typeof value.workflow !== "string") return undefined;
  return { ...finding, message: "this is a test, not a workflow", hint: "run it: skillflow test FILE" };
}

/**
 * Checks the graph of a document with schema errors, so that all findings are reported together. Invalid parts are
 * removed or replaced, and findings that only follow from them are dropped.
 */
function checkSketch(value: unknown, issues: readonly Issue[], knownSkills: KnownSkills): Diagnostic[] {
  if (!isObject(value) || !isObject(value.nodes)) return [];
  const nodes = Object.entries(value.nodes);
  const ids = nodes.map(([id]) => id);
  const refused = new Set(issues.map(({ path }) => fieldPath(path.slice(0, 2) as (string | number)[])));
  const kept = (field: string) => {
    const members = isObject(value[field]) ? Object.entries(value[field]) : [];
    return members.filter(([id]) => !refused.has(fieldPath([field, id])) && !refused.has(field));
  };
  const entry = typeof value.entry === "string" ? value.entry : undefined;
  if (ids.length === 0 && entry === undefined) return [];
  const standIn = { from: ids[0], to: ids[0], when: "refused", max_iterations: 1 };
  const edges = Array.isArray(value.edges) ? value.edges : [];
  const sketchedEdges = edges.map((edge, index) => (refused.has(`edges[${index}]`) ? standIn : edge));
  const sketch: object = {
    entry: entry ?? ids[0],
    nodes: Object.fromEntries([...nodes.map(([id, node]) => [id, soundParts(node)]), ...kept("nodes")]),
    edges: sketchedEdges,
    skills: Object.fromEntries(kept("skills")),
  };
  const isWhole = entry !== undefined && Array.isArray(value.edges) && !sketchedEdges.includes(standIn);
  const lostSkills = new Set(isObject(value.skills) ? Object.keys(value.skills) : []);
  const known: KnownSkills = {
    has: (reference) => knownSkills.has(reference) || lostSkills.has(reference),
    [Symbol.iterator]: () => [...knownSkills, ...lostSkills][Symbol.iterator](),
  };
  const found = checkWorkflow(sketch as Workflow, known);
  return found.filter(({ code }) => isWhole || !["UNREACHABLE_NODE", "JUDGE_BUDGET"].includes(code));
}

function soundParts(node: unknown): object {
  if (!isObject(node)) return {};
  return {
    ...(isTexts(node.skills) ? { skills: node.skills } : {}),
    ...(isObject(node.output) ? { output: node.output } : {}),
  };
}

const VERIFY: Diagnostic = {
  severity: "error",
  code: "SCHEMA",
  path: ["verify"],
  message: '"verify" is not part of the format',
  hint: "use eval on a node",
};

function isVerify({ path: [part, , field, ...rest] }: Diagnostic): boolean {
  return part === "nodes" && field === "verify" && rest.length === 0;
}

const SOURCE_HELP = "must be text, a ./path, an https:// address, or exactly one of {inline}, {file} and {url}";

/** Describes an invalid Source in `instruction`, `rules` or `context`. */
function sourceFault(path: Diagnostic["path"], value: unknown): Pick<Diagnostic, "code" | "message"> | undefined {
  const [last, before] = [path.at(-1), path.at(-2)];
  const isSource =
    (last === "instruction" && path[0] === "nodes" && path.length === 3) ||
    (typeof last === "number" && (before === "rules" || before === "context" || before === "sources"));
  if (!isSource) return undefined;
  if (!isObject(value)) return { code: "SCHEMA", message: SOURCE_HELP };
  const isOtherType = value.type !== undefined && value.type !== "fetch" && value.url !== undefined;
  return { code: isOtherType ? "SOURCE_INVALID_TYPE" : "SOURCE_INVALID_SHAPE", message: SOURCE_HELP };
}
