import { statSync } from "node:fs";
import { type Diagnostic, isDiagnostic, type ShownDiagnostic, shownFinding } from "../../core/base/diagnostic.ts";
import { messageOf, SkillflowError, usageError } from "../../core/base/errors.ts";
import { createRedactor, type Secret } from "../../core/base/redact/redact.ts";
import { isObject, type Json, type JsonObject, nearest, parseDuration, toJson } from "../../core/base/values.ts";
import { workflowLimitsSchema } from "../../core/document/workflow/limits.ts";
import type { Workflow } from "../../core/document/workflow/workflow.ts";
import type { Model, StateStore, Store } from "../../core/engine/ports.ts";
import type { Skill, SkillDefinition } from "../../core/skill/skill.ts";
import { checkedSkill } from "../../loaders/formats/module/skill-module.ts";
import { reservedNameOf } from "../../loaders/registry/layers.ts";
import { findRecording, findRun } from "../adapters/stores.ts";
import { findProblems } from "../checks/validate.ts";
import { readWorkflow, type WorkflowDocument } from "../documents.ts";
import type { Host, Workspace } from "../host.ts";
import { asLibraryOption } from "../options.ts";
import { resumeRun, startRun } from "../runs/drive.ts";
import { recordedReport } from "../runs/inspect.ts";
import { newRunId, prepareRun } from "../runs/prepare.ts";
import { prepareReplay } from "../runs/replay.ts";
import { checkResumable, prepareResume } from "../runs/resume.ts";
import { markedAsOurs } from "../runs/stray.ts";
import { secretsOf } from "../secrets.ts";
import { type SkillState, skillStates } from "../skills/states.ts";
import { isReportKind, REPORT_KINDS, type ReportKind, renderReport } from "../views/reports.ts";
import { openWorkspace } from "../workspace.ts";
import { beginRun, cleanTold, type Run, refuseIn, type Watching } from "./run.ts";

export type { ReportKind, Run, SkillState };

/** Location and settings of a project. The defaults are those of the command line. */
export interface ProjectOptions {
  /** Directory of `.skillflow.yml` and skills, and base of relative paths. Default: the working directory. */
  readonly directory?: string;
  /**
   * Variables for config, provider keys, `HOME`, `XDG_CONFIG_HOME` and `SKILLFLOW_*`. Default: the process's variables
   * when the project is opened. With `{}` there is no home directory, and no config but `config`.
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Your own skills. Each overrides any other skill with its id, even a built-in one, and needs no trust. */
  readonly skills?: readonly SkillDefinition[];
  /** Config values that override `env`, by key. Use `skill.KEY` if several skills declare the key. */
  readonly config?: Readonly<Record<string, string | undefined>>;
  /** Set to false to ignore the skill folders of the project and the user. Built-in skills stay. Default: true. */
  readonly discover?: boolean;
  /** Ids of skills whose code may run and whose servers may be connected. */
  readonly trust?: readonly string[];
  /** Models by prefix: `{ acme: model }` serves "acme:large". Overrides a provider with that name. */
  readonly models?: Readonly<Record<string, Model>>;
  /** Store for runs. Default: files in `.skillflow/runs` of the directory. */
  readonly store?: Store;
  /**
   * Store for state that later runs read: a folder, `git:BRANCH` of the checkout's remote, or a custom store.
   * Default: files in `.skillflow/state` of the directory.
   */
  readonly state?: string | StateStore;
}

/** Settings of a run that override its workflow, the project and `env`. */
interface RunSettings {
  /** `provider:name`. */
  readonly model?: string;
  /** Policy for tools that write. */
  readonly writes?: "allow" | "plan" | "deny";
  /** Each given limit replaces the declared one. Amounts are in US dollars; `timeout` is in seconds, or like "10m". */
  readonly limits?: Limits;
}

export interface Limits {
  readonly max_cost_usd?: number;
  readonly max_tokens?: number;
  readonly max_steps?: number;
  readonly timeout?: number | string;
  readonly per_day?: { readonly max_cost_usd?: number; readonly max_runs?: number };
}

export interface RunOptions extends RunSettings, Watching {
  /** The run's input, as JSON. `dryRun: true` in it stops the run at its first decision. Default: `{}`. */
  readonly input?: { readonly [key: string]: unknown };
  /** Set to false to run even if a run with the same key ended within the workflow's cool-down. Default: true. */
  readonly coolDown?: boolean;
}

export interface ResumeOptions extends RunSettings, Watching {
  /** Node on the run's path to restart from. */
  readonly from?: string;
}

export interface ReplayOptions extends Watching {
  /** Source of tool results. Default: `recorded`. */
  readonly tools?: "recorded" | "live";
  /** Allows prompts to differ from the recording. If false, a replay ends with `replay.changed` (1). Default: false. */
  readonly allowChanges?: boolean;
}

/** Workflows, skills and runs of a directory. Methods fail only with a SkillflowError, and print nothing. */
export interface Project {
  /** Starts a run and returns immediately. Takes a workflow's path or its parsed value. Never throws. */
  run(workflow: string | Workflow, options?: RunOptions): Run;
  /** Resumes a run by its id, a unique prefix of it, or `latest`. Yields only the new events. */
  resume(run: string, options?: ResumeOptions): Run;
  /** Replays a run with recorded model replies. Takes a run of the store, or the path of a trace file. */
  replay(runOrFile: string, options?: ReplayOptions): Run;
  /** Returns all problems of a workflow and never rejects because of them. Makes no requests and asks no questions. */
  validate(workflow: string | Workflow): Promise<ShownDiagnostic[]>;
  /** Returns all skills, and what each of them lacks. */
  skills(): Promise<SkillState[]>;
  /** Returns the report of a recorded run as text. Takes a run of the store, or the path of a trace file. */
  report(runOrFile: string, kind: ReportKind): Promise<string>;
}

export async function createProject(host: Host, options: ProjectOptions): Promise<Project> {
  const workspace = openWorkspace(inFolder({ ...host, writeOption: asLibraryOption }), {
    overrides: new Map(textsOf("config", options.config)),
    skillDirs: [],
    discover: options.discover ?? true,
    store: options.store,
    state: options.state,
    given: await givenSkills(options.skills ?? []),
    models: givenModels(options.models ?? {}),
    skillFlags: { trustSkill: options.trust ?? [] },
  });
  const { text: clean } = createRedactor([...secretsOf(host.env, [], workspace), ...configSecrets(workspace)]);
  return {
    run: (workflow, given) => beginRun(() => runCourse(workspace, workflow, given ?? {}), given ?? {}, clean),
    resume: (run, given) => beginRun(() => resumeCourse(workspace, run, given ?? {}), given ?? {}, clean),
    replay: (run, given) => beginRun(() => replayCourse(workspace, run, given ?? {}), given ?? {}, clean),
    validate: (workflow) =>
      markedAsOurs(async () => {
        const document = documentOf(workflow);
        const found = "fault" in document ? [document.fault] : await findProblems(workspace, [document.document], {});
        return found.filter(isDiagnostic).map((each) => cleanTold(shownFinding(each, asLibraryOption), clean));
      }),
    skills: () => markedAsOurs(() => skillStates(workspace).catch(refuseIn(clean))),
    report: (given, kind) => markedAsOurs(() => reportOf(workspace, given, kind).catch(refuseIn(clean))),
  };
}

async function reportOf(workspace: Workspace, given: string, kind: ReportKind): Promise<string> {
  if (!isReportKind(kind)) throw usageError(`"${String(kind)}" is not a report: ${REPORT_KINDS.join(", ")}`);
  const { report } = await recordedReport(workspace, nameOf(given));
  return renderReport(kind, report);
}

/** Returns all config values as secrets, whether or not a skill declares them so. */
function configSecrets({ overrides }: Workspace): Secret[] {
  return [...overrides].map(([name, value]) => ({ name, value }));
}

// ---- project options

function inFolder(host: Host): Host {
  if (statSync(host.cwd, { throwIfNoEntry: false })?.isDirectory()) return host;
  throw usageError(`there is no folder ${host.cwd}`);
}

/** Returns the string values of a map, without undefined ones. */
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

/** Prefixes of files that answer all calls of a run. */
const FILES: ReadonlySet<string> = new Set(["replay", "script"]);

function givenModels(models: Readonly<Record<string, Model>>): ReadonlyMap<string, Model> {
  const entries = Object.entries(models);
  for (const [prefix, model] of entries) {
    if (FILES.has(prefix)) throw usageError(`models: the prefix ${prefix} is reserved for files`);
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

function runCourse(workspace: Workspace, workflow: string | Workflow, options: RunOptions) {
  // Copied now, so that the caller's later changes do not affect the run.
  const given = documentOf(workflow);
  const input = inputOf(options.input);
  const choices = { ...choicesOf(options), coolDown: options.coolDown };
  const run = newRunId();
  return {
    run,
    store: workspace.store,
    workflow: () => idOf(workspace, given),
    async prepare(signal: AbortSignal) {
      if ("fault" in given) {
        throw new SkillflowError("workflow.invalid", "the workflow cannot be run", { diagnostics: [given.fault] });
      }
      return prepareRun(workspace, { ...given, input, runId: run, choices, connect: { signal } });
    },
    drive: startRun.bind(undefined, workspace),
  };
}

function resumeCourse(workspace: Workspace, named: string, options: ResumeOptions) {
  const { store } = workspace;
  const given = nameOf(named);
  const choices = choicesOf(options);
  const { from } = options;
  return {
    run: given,
    store,
    workflow: () => "",
    async prepare(signal: AbortSignal) {
      const stored = await store.read(await findRun(store, given));
      checkResumable(stored, from);
      return prepareResume(workspace, stored, { choices, connect: { signal } });
    },
    drive: (prepared: Prepared, watch: Parameters<typeof resumeRun>[2]) =>
      resumeRun(workspace, prepared, watch, { from }),
  };
}

type Prepared = Parameters<typeof startRun>[1];

function replayCourse(workspace: Workspace, named: string, { tools = "recorded", allowChanges }: ReplayOptions) {
  if (tools !== "recorded" && tools !== "live")
    throw usageError(`tools: "${String(tools)}" is neither recorded nor live`);
  const given = nameOf(named);
  const run = newRunId();
  return {
    run,
    store: workspace.store,
    workflow: () => "",
    async prepare(signal: AbortSignal) {
      const recording = await findRecording(workspace, given);
      const connect = tools === "live" ? { signal } : undefined;
      return prepareReplay(workspace, recording, { runId: run, tools, connect });
    },
    drive: (prepared: Prepared, watch: Parameters<typeof startRun>[2]) =>
      startRun(workspace, prepared, { ...watch, refusesChanges: allowChanges !== true }),
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
    const copy = toJson(input ?? {});
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
  if (model !== undefined && typeof model !== "string") throw usageError("model: write PROVIDER:NAME");
  const checked = workflowLimitsSchema().safeParse(limits);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    const near = issue?.code === "unrecognized_keys" ? nearest(issue.keys[0] ?? "", LIMITS) : undefined;
    const place = ["limits", ...(issue?.path ?? [])].join(".");
    throw usageError(`${place}: ${issue?.message}`, near && `did you mean ${near}?`);
  }
  const { max_cost_usd: maxCost, max_tokens: maxTokens, max_steps: maxSteps, timeout, per_day } = checked.data;
  const day = { dayCostUsd: per_day?.max_cost_usd, dayRuns: per_day?.max_runs };
  return { model, writes, maxCost, maxTokens, maxSteps, timeout: parseDuration(timeout), ...day };
}

const LIMITS = Object.keys(workflowLimitsSchema().shape);
