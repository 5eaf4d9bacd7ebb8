import { statSync } from "node:fs";
import { type Diagnostic, isDiagnostic, shownFinding } from "../../core/base/diagnostic.ts";
import { messageOf, SkillflowError, usageError } from "../../core/base/errors.ts";
import { createRedactor } from "../../core/base/redact/redact.ts";
import {
  defined,
  isObject,
  type Json,
  type JsonObject,
  nearest,
  parseDuration,
  toJson,
} from "../../core/base/values.ts";
import { modelText } from "../../core/document/model-list.ts";
import { checkedModels } from "../../core/document/model-name.ts";
import { workflowLimitsSchema } from "../../core/document/workflow/limits.ts";
import type { Workflow } from "../../core/document/workflow/workflow.ts";
import type { Model, StoredRun } from "../../core/engine/ports.ts";
import { ASK } from "../../core/engine/record/ask.ts";
import { endOf, wordOf } from "../../core/engine/result/waiting.ts";
import type { Skill, SkillDefinition } from "../../core/skill/skill.ts";
import { checkedSkill } from "../../loaders/formats/module/skill-module.ts";
import { reservedNameOf } from "../../loaders/registry/layers.ts";
import { personAtWork } from "../adapters/person.ts";
import { findRecording, findRun } from "../adapters/stores.ts";
import { findProblems } from "../checks/validate.ts";
import { readWorkflow, type WorkflowDocument } from "../documents.ts";
import type { Host, Workspace } from "../host.ts";
import { asLibraryOption } from "../options.ts";
import { answerOf, prepareAsk } from "../runs/afterwards/ask.ts";
import { resumeRun, startRun } from "../runs/drive.ts";
import { recordedReport } from "../runs/inspect.ts";
import { newRunId, prepareRun } from "../runs/prepare.ts";
import { prepareReplay } from "../runs/replay.ts";
import { checkResumable, prepareResume } from "../runs/resume.ts";
import { markedAsOurs } from "../runs/stray.ts";
import { secretsOf } from "../secrets.ts";
import { skillStates } from "../skills/states.ts";
import { openTestWorkspace } from "../testing/run-tests.ts";
import { isReportKind, REPORT_KINDS, type ReportKind, renderReport } from "../views/reports.ts";
import { openWorkspace } from "../workspace.ts";
import { applyRun, backtestCases, listOf, listRuns, recheckRun, testPlaces } from "./afterwards.ts";
import type {
  AskOptions,
  Project,
  ProjectOptions,
  ReplayOptions,
  ResultOf,
  RunOptions,
  RunSettings,
  SignalOptions,
} from "./contract.ts";
import { beginRun, type Course, cleanTold, type Run, refuseIn, type Watching, withResult } from "./run.ts";

export async function createProject(host: Host, options: ProjectOptions): Promise<Project> {
  if (!statSync(host.cwd, { throwIfNoEntry: false })?.isDirectory()) throw usageError(`there is no folder ${host.cwd}`);
  const place = { ...host, writeOption: asLibraryOption };
  const settings = {
    overrides: new Map(textsOf("config", options.config)),
    skillDirs: [],
    discover: options.discover ?? true,
    store: placeOf("store", options.store),
    state: placeOf("state", options.state),
    given: await givenSkills(options.skills ?? []),
    models: givenModels(options.models ?? {}),
    skillFlags: { trustSkill: listOf("trust", options.trust ?? []) },
  };
  const workspace = openWorkspace(place, settings);
  // All config values count as secrets, whether or not a skill declares them so.
  const configured = [...settings.overrides].map(([name, value]) => ({ name, value }));
  const { text: clean } = createRedactor([...secretsOf(workspace), ...configured]);
  const promised = <Value>(work: () => Promise<Value>) => markedAsOurs(() => work().catch(refuseIn(clean)));
  const begin = (plan: () => Course, given: Watching | undefined) => beginRun(workspace, plan, given ?? {}, clean);
  return {
    // The output schemas of the nodes have been checked when the run succeeds, so that its data have these types.
    run: <const Given extends Workflow>(workflow: string | Given, given?: RunOptions) =>
      begin(() => runCourse(workspace, workflow, given ?? {}), given) as Run<ResultOf<Given>>,
    resume(run, given) {
      const options = given ?? {};
      const check = (stored: StoredRun) => checkResumable(stored, options.from);
      return begin(() => continueCourse(workspace, run, { options, how: { from: options.from }, check }), options);
    },
    replay: (run, given) => begin(() => replayCourse(workspace, run, given ?? {}), given),
    validate: (workflow) =>
      markedAsOurs(async () => {
        const document = documentOf(workflow);
        const found = "fault" in document ? [document.fault] : await findProblems(workspace, [document.document], {});
        return found.filter(isDiagnostic).map((each) => cleanTold(shownFinding(each, asLibraryOption), clean));
      }),
    skills: () => promised(() => skillStates(workspace)),
    report: (given, kind) => promised(() => reportOf(workspace, given, kind)),
    signal: (run, node, given) => begin(() => signalCourse(workspace, { run, node }, given ?? {}), given),
    apply: (run, given = {}) => promised(async () => applyRun(workspace, nameOf(run), given)),
    runs: () => promised(() => listRuns(workspace)),
    ask(run, question, given = {}) {
      const asked: Asked = { run, question };
      return withResult(
        begin(() => askCourse(workspace, asked, given), given),
        (result) => answerOf(asked.run, result),
      );
    },
    recheck: (run) => promised(async () => recheckRun(workspace, nameOf(run))),
    test: (places = []) => promised(async () => testPlaces(openTestWorkspace(place, settings), listOf("test", places))),
    backtest: (cases, given = {}) => promised(async () => backtestCases(workspace, cases, given)),
  };
}

async function reportOf(workspace: Workspace, given: string, kind: ReportKind): Promise<string> {
  if (!isReportKind(kind)) throw usageError(`"${String(kind)}" is not a report: ${REPORT_KINDS.join(", ")}`);
  const { report } = await recordedReport(workspace, nameOf(given));
  return renderReport(kind, report);
}

// ---- project options

function placeOf<Place>(name: string, place: Place): Place {
  if (place === undefined || typeof place === "string" || isObject(place)) return place;
  throw usageError(`${name}: must be a folder or a store`);
}

function textsOf(what: string, map: Readonly<Record<string, unknown>> = {}): [name: string, text: string][] {
  return Object.entries(map).flatMap(([name, value]): [string, string][] => {
    if (value === undefined) return [];
    if (typeof value === "string") return [[name, value]];
    throw usageError(`${what}: the value of ${name} is not a string`);
  });
}

async function givenSkills(definitions: readonly SkillDefinition[]): Promise<readonly Skill[]> {
  const skills = await Promise.all(
    definitions.map((definition, index) => checkedSkill(definition, `skills[${index}]`)),
  );
  for (const [index, skill] of skills.entries()) {
    const taken = reservedNameOf(skill);
    if (taken !== undefined) throw new SkillflowError("skill.invalid", `skills[${index}]: ${taken}`);
    if (skills.findIndex(({ id }) => id === skill.id) === index) continue;
    throw new SkillflowError("skill.invalid", `skills[${index}]: an earlier skill has the id ${skill.id}`);
  }
  return skills;
}

function givenModels(models: Readonly<Record<string, Model>>): ReadonlyMap<string, Model> {
  const entries = Object.entries(models);
  for (const [prefix, model] of entries) {
    if (prefix === "replay" || prefix === "script")
      throw usageError(`models: the prefix ${prefix} is reserved for files`);
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(prefix)) {
      throw usageError(`models: "${prefix}" is not a prefix`, "use letters, digits, dots, hyphens and underscores");
    }
    if (typeof (model as Partial<Model> | null)?.reply !== "function") {
      throw usageError(`models: the model for ${prefix} has no function reply`);
    }
  }
  return new Map(entries);
}

// ---- run, resume and replay

function runCourse(workspace: Workspace, workflow: string | Workflow, options: RunOptions): Course {
  // Copied now, so that the caller's later changes do not affect the run.
  const given = documentOf(workflow);
  const input = inputOf(options.input);
  const choices = { ...choicesOf(options), coolDown: options.coolDown };
  const run = newRunId();
  return {
    run,
    workflow: () => idOf(workspace, given),
    async prepare(signal) {
      if ("fault" in given) {
        throw new SkillflowError("workflow.invalid", "the workflow cannot be run", { diagnostics: [given.fault] });
      }
      return prepareRun(workspace, { ...given, input, runId: run, choices, connect: { signal } });
    },
  };
}

interface Continuing {
  readonly options: RunSettings;
  readonly how: Parameters<typeof resumeRun>[3];
  readonly check: (stored: StoredRun) => void;
}

function continueCourse(workspace: Workspace, named: string, { options, how, check }: Continuing): Course {
  const { store } = workspace;
  const given = nameOf(named);
  const choices = choicesOf(options);
  return {
    run: given,
    async prepare(signal) {
      const stored = await store.read(await findRun(store, given));
      check(stored);
      return prepareResume(workspace, stored, { choices, connect: { signal } });
    },
    drive: (prepared, watch) => resumeRun(workspace, prepared, watch, how),
  };
}

function signalCourse(
  workspace: Workspace,
  { run, node }: { readonly run: string; readonly node: string },
  options: Partial<SignalOptions>,
): Course {
  const { approve: approved, note, by = personAtWork(workspace) } = options;
  if (typeof approved !== "boolean") throw usageError("approve: must be true or false");
  const said = { node, approved, by, note };
  const check = ({ events }: StoredRun) => {
    // An unfinished run is checked once it is locked: another process may be driving it.
    if (endOf(events)) wordOf(events, said, { now: Date.now(), settings: {} });
  };
  return continueCourse(workspace, run, { options, how: { said }, check });
}

interface Asked {
  /** Name as given at first, then the run's whole id. */
  run: string;
  readonly question: string;
}

function askCourse(workspace: Workspace, asked: Asked, { model, live }: AskOptions): Course {
  return {
    run: newRunId(),
    workflow: () => ASK,
    async prepare(signal) {
      const given = { given: nameOf(asked.run), question: String(asked.question) };
      const choices = choicesOf(model === undefined ? {} : { model });
      const prepared = await prepareAsk(workspace, given, { choices, live, connect: { signal } });
      asked.run = prepared.record.about?.run ?? asked.run;
      return prepared;
    },
  };
}

function replayCourse(
  workspace: Workspace,
  named: string,
  { tools = "recorded", allowChanges }: ReplayOptions,
): Course {
  if (tools !== "recorded" && tools !== "live")
    throw usageError(`tools: "${String(tools)}" is neither recorded nor live`);
  const given = nameOf(named);
  const run = newRunId();
  return {
    run,
    async prepare(signal) {
      const recording = await findRecording(workspace, given);
      const connect = tools === "live" ? { signal } : undefined;
      return prepareReplay(workspace, recording, { runId: run, tools, connect });
    },
    drive: (prepared, watch) => startRun(workspace, prepared, { ...watch, refusesChanges: allowChanges !== true }),
  };
}

function nameOf(run: unknown): string {
  if (typeof run === "string" && run !== "") return run;
  throw usageError("the run must be an id, the start of one, or latest");
}

/** Copies the document, or returns the reason why it is not JSON. */
function documentOf(workflow: unknown): { readonly document: WorkflowDocument } | { readonly fault: Diagnostic } {
  if (typeof workflow === "string") return { document: workflow };
  try {
    return { document: toJson(workflow) as JsonObject };
  } catch (error) {
    const message = `the workflow is not JSON: ${messageOf(error)}`;
    return { fault: { severity: "error", code: "SCHEMA", path: [], message } };
  }
}

function inputOf(input: unknown): () => Json {
  try {
    const copy = toJson(input === undefined ? {} : input);
    // JSON has neither NaN nor infinities: as null, they would count as missing.
    const lost = Object.entries(Object(input)).find(
      ([, value]) => typeof value === "number" && !Number.isFinite(value),
    );
    if (lost) throw new TypeError(`"${lost[0]}" must be a finite number`);
    return () => copy;
  } catch (error) {
    const told = new SkillflowError("input.invalid", `the input is not JSON: ${messageOf(error)}`);
    return () => {
      throw told;
    };
  }
}

function idOf(workspace: Workspace, given: ReturnType<typeof documentOf>): string {
  if ("fault" in given) return "";
  const { document } = given;
  if (isObject(document)) return typeof document.id === "string" ? document.id : "";
  return readWorkflow(workspace, document).workflow?.id ?? "";
}

function choicesOf({ model, writes, limits = {} }: RunSettings) {
  const models = typeof model === "object" ? checkedModels(model) : model;
  if (models !== undefined && [models].flat().some((name) => typeof name !== "string")) {
    throw usageError("model: write PROVIDER:NAME, or a list of such names");
  }
  const checked = workflowLimitsSchema().safeParse(limits);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    const near = issue?.code === "unrecognized_keys" ? nearest(issue.keys[0] ?? "", LIMITS) : undefined;
    const place = ["limits", ...(issue?.path ?? [])].join(".");
    throw usageError(`${place}: ${issue?.message}`, near && `did you mean ${near}?`);
  }
  const { max_cost_usd: maxCost, max_tokens: maxTokens, max_steps: maxSteps, timeout, per_day } = checked.data;
  return {
    ...defined("model", models && modelText(models)),
    writes,
    maxCost,
    maxTokens,
    maxSteps,
    timeout: parseDuration(timeout),
    dayCostUsd: per_day?.max_cost_usd,
    dayRuns: per_day?.max_runs,
  };
}

const LIMITS = Object.keys(workflowLimitsSchema().shape);
