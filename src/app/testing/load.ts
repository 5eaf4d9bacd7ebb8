import { dirname, resolve } from "node:path";
import { type Diagnostic, hasErrors } from "../../core/base/diagnostic.ts";
import { messageOf, SkillflowError } from "../../core/base/errors.ts";
import { defined, groupBy, nearest } from "../../core/base/values.ts";
import { flatWorkflow } from "../../core/document/inner/flat.ts";
import { documentOf } from "../../core/document/inner/place.ts";
import { parseModel } from "../../core/document/model-name.ts";
import type { Workflow } from "../../core/document/workflow/workflow.ts";
import { OWN_TOOLS } from "../../core/engine/tools/own-tools.ts";
import type { Covered } from "../../core/outward/testing/coverage.ts";
import type { TestFile } from "../../core/outward/testing/test-file.ts";
import { describeTools } from "../../core/skill/skill.ts";
import { parseSkillReference } from "../../core/skill/skill-reference.ts";
import {
  type LoadedTest,
  loadScript,
  loadTestFile,
  placeNamed,
  type TestSketch,
} from "../../loaders/documents/test-file.ts";
import { readRecording } from "../../stores/file/run-lines.ts";
import { openServing, ownPrefixes, type Serving } from "../adapters/models.ts";
import { readWorkflow } from "../documents.ts";
import { documentsOf, shownPath, type Workspace } from "../host.ts";
import { type InnerWorkflow, type InnerWorkflows, readInner } from "../runs/inner.ts";
import { gatherAll, type SkillEntries } from "../skills/entries.ts";
import type { InlineSkills } from "../workspace.ts";
import { rootOfTest } from "./find.ts";
import { bareName } from "./stage.ts";

/** A test that can run, because everything that it names exists. */
export interface ReadyTest {
  readonly loaded: LoadedTest;
  readonly test: TestFile;
  /** Workflow as an argument for `readWorkflow`. */
  readonly document: string;
  readonly workflow: Workflow;
  /** The workflow and the inner ones, each once. */
  readonly documents: readonly TestedDocument[];
  readonly models: readonly TestModel[];
  readonly files: readonly string[];
}

type TestedDocument = Covered & Pick<InnerWorkflow, "place">;

export interface TestModel {
  /** Name as written. Undefined if neither the command nor the test names a model. */
  readonly name: string | undefined;
  readonly serving: Serving | undefined;
  readonly path?: string;
}

/** Loads the tests at these paths. `models` replace the tests' own models. */
export async function loadTests(
  workspace: Workspace,
  paths: readonly string[],
  models: readonly string[],
): Promise<{ readonly tests: readonly ReadyTest[]; readonly diagnostics: readonly Diagnostic[] }> {
  const given = await Promise.all(models.map(async (name) => ({ name, serving: await openServing(name, workspace) })));
  const found = await Promise.all(paths.map((path) => loadTest(workspace, path, given)));
  return {
    tests: found.flatMap((one) => ("loaded" in one ? [one] : [])),
    diagnostics: found.flatMap((one) => ("loaded" in one ? [] : one)),
  };
}

async function loadTest(
  workspace: Workspace,
  path: string,
  given: readonly TestModel[],
): Promise<ReadyTest | readonly Diagnostic[]> {
  const { host } = workspace;
  const root = rootOfTest(host, path);
  const loaded = loadTestFile(path, shownPath(host, path), root);
  const { test, sketch } = loaded;
  if (!sketch) return loaded.diagnostics;
  const place = (found: Diagnostic): Diagnostic =>
    found.file === undefined
      ? { ...found, file: loaded.file, line: 1, column: 1, ...loaded.position(found.path) }
      : found;
  const named =
    sketch.workflow === undefined
      ? undefined
      : placeNamed(resolve(dirname(path), sketch.workflow), sketch.workflow, root);
  const document = named && "path" in named ? shownPath(host, named.path) : undefined;
  const read = document === undefined ? undefined : readWorkflow(workspace, document);
  const own = given.length > 0 ? { models: given } : openOwn(workspace, { path, model: sketch.model, root });
  const whole = document !== undefined && read?.workflow ? { ...read, workflow: read.workflow, document } : undefined;
  const { inner } = whole ? readInner(workspace, whole) : { inner: NO_INNER };
  const found = [
    ...loaded.diagnostics,
    ...(named && "code" in named ? [{ severity: "error" as const, path: ["workflow"], ...named }] : []),
    ...(read?.diagnostics ?? []).filter((one) => hasErrors([one])),
    ...("models" in own ? [] : own.diagnostics),
    ...(whole ? await nameFindings(workspace, sketch, { ...whole, inner }) : []),
    ...(given.length > 0 ? [] : promptFindings(sketch)),
  ];
  if (found.length > 0 || !test || !whole || !("models" in own)) return found.map(place);
  const workflowFile = resolve(documentsOf(host), whole.document);
  const files = [...loaded.files, workflowFile, ...own.models.flatMap((model) => model.path ?? [])];
  const { workflow } = whole;
  const documents = documentsIn(whole, inner);
  return { loaded, test, document: whole.document, workflow, documents, models: own.models, files };
}

const NO_INNER: InnerWorkflows = new Map();

/** Lists each document once, although several nodes may run one file. */
function documentsIn(outer: Pick<TestedDocument, "workflow" | "place">, inner: InnerWorkflows): TestedDocument[] {
  const groups = groupBy(inner, ([path, { file }]) => file ?? `#${path}`);
  return [
    { ...outer, at: [""] },
    ...[...groups.values()].flatMap((group) => {
      const [first] = group;
      return first ? [{ workflow: first[1].workflow, place: first[1].place, at: group.map(([path]) => path) }] : [];
    }),
  ];
}

/** Opens the model that the test names. File names are relative to the test's folder. */
function openOwn(
  workspace: Workspace,
  { path: test, model, root }: { readonly path: string; readonly model: string | undefined; readonly root: string },
): { readonly models: readonly TestModel[] } | { readonly diagnostics: readonly Diagnostic[] } {
  if (model === undefined) return { models: [{ name: undefined, serving: undefined }] };
  const refuse = (found: Pick<Diagnostic, "code" | "message" | "hint">) => {
    return { diagnostics: [{ severity: "error" as const, path: ["model"], ...found }] };
  };
  const refuseFor = (code: Diagnostic["code"], error: unknown) => {
    const hint = error instanceof SkillflowError ? error.hint : undefined;
    return refuse({ code, message: messageOf(error), ...defined("hint", hint) });
  };
  let parsed: ReturnType<typeof parseModel>;
  try {
    parsed = parseModel(model, ownPrefixes(workspace));
  } catch (error) {
    return refuseFor("SCHEMA", error);
  }
  const { provider, name } = parsed;
  if (provider === undefined && /\.(?:ya?ml|jsonl?)$/.test(model)) {
    const kind = model.endsWith(".jsonl") ? "replay" : "script";
    return refuse({ code: "SCHEMA", message: `model ${model} has no prefix`, hint: `write ${kind}:${model}` });
  }
  if (provider !== "script" && provider !== "replay") return { models: [{ name: model, serving: undefined }] };
  const path = resolve(dirname(test), name);
  if (provider === "script") {
    const read = loadScript(path, shownPath(workspace.host, path), root);
    if ("script" in read) return { models: [{ name: model, serving: { provider, ...read }, path }] };
    return {
      diagnostics: read.diagnostics.map((found) => (found.file === undefined ? { ...found, path: ["model"] } : found)),
    };
  }
  const place = placeNamed(path, name, root);
  if ("code" in place) return refuse(place);
  try {
    const recording = readRecording(place.path);
    return { models: [{ name: model, serving: { provider, recording, resumed: "latest" }, path: place.path }] };
  } catch (error) {
    return refuseFor("IO", error);
  }
}

function promptFindings({ model, prompts }: TestSketch): Diagnostic[] {
  if (model?.startsWith("replay:")) return [];
  const message = "prompts are compared with a recording: the test needs model: replay:FILE";
  return prompts.map((path) => ({ severity: "error", code: "SCHEMA", path, message }));
}

function unknown(path: Diagnostic["path"], message: string, hint: string | undefined): Diagnostic {
  return { severity: "error", code: "TEST_NAME_UNKNOWN", path, message, ...defined("hint", hint) };
}

async function nameFindings(
  workspace: Workspace,
  { nodes, steps, tools }: TestSketch,
  { inner, ...outer }: { readonly workflow: Workflow; readonly inline: InlineSkills; readonly inner: InnerWorkflows },
): Promise<Diagnostic[]> {
  const isKnownTool = toolsOf(await gatherAll(workspace.skills, [...inner.values(), outer]));
  const flat = Object.entries(flatWorkflow(outer.workflow, inner).nodes);
  const known = flat.map(([path]) => path);
  const names = new Set(known.flatMap((path) => [path, path.slice(path.lastIndexOf("/") + 1)]));
  const knownSteps = flat.flatMap(([path, node]) => (node.steps ?? []).map(({ id }) => `${path}.${id}`));
  return [
    ...nodes.flatMap(({ name, path }) => {
      if (names.has(documentOf(name))) return [];
      const near = nearest(name, known);
      const hint = near ? `did you mean "${near}"?` : `its nodes: ${known.slice(0, MOST_LISTED).join(", ")}`;
      return [unknown(path, `the workflow has no node "${name}"`, hint)];
    }),
    ...steps.flatMap(({ name, path }) => {
      if (knownSteps.includes(documentOf(name))) return [];
      const near = nearest(documentOf(name), knownSteps);
      return [unknown(path, `the workflow has no step "${name}"`, near && `did you mean "${near}"?`)];
    }),
    ...tools.flatMap(({ name, path }) => {
      const near = isKnownTool(name);
      if (near === true) return [];
      return [unknown(path, `no skill of the workflow has a tool "${name}"`, near && `did you mean "${near}"?`)];
    }),
  ];
}

const MOST_LISTED = 12;

/** Returns a function that checks a tool name: true if it is known, otherwise the most similar name. */
function toolsOf(entries: SkillEntries): (name: string) => true | string | undefined {
  const known = new Set(OWN_TOOLS);
  const unopened: string[] = [];
  for (const [reference, entry] of entries) {
    if (!entry) continue;
    const { skill, heldTools, isUnopened } = entry;
    for (const { exposed } of describeTools(skill, [...skill.tools, ...heldTools])) known.add(exposed);
    if (isUnopened) unopened.push(parseSkillReference(reference).id);
  }
  return (name) => {
    if (known.has(name) || unopened.some((id) => bareName(id, name).length > 0)) return true;
    return nearest(name, known);
  };
}
