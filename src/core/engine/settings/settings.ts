import { variableOf } from "../../base/options.ts";
import { deepEqual, defined } from "../../base/values.ts";
import type { ProjectConfig } from "../../document/config.ts";
import { type ModelChoice, modelsOf, modelText } from "../../document/model-list.ts";
import {
  asksModel,
  checkedModels,
  checkModel,
  checkModels,
  defaultJudge,
  defaultModel,
  type ModelAccess,
  parseModels,
} from "../../document/model-name.ts";
import type { LoadedPolicy } from "../../document/policy.ts";
import type { Workflow } from "../../document/workflow/workflow.ts";
import type { EventBody, RunEvent } from "../event/event.ts";
import type { Settings } from "../event/record.ts";
import type { StoredRun } from "../ports.ts";
import { type BoundChoices, chooseBounds, clampBounds, resumeBounds } from "./bounds.ts";

/** Settings of a run that the command line can set. */
export interface RunChoices extends BoundChoices {
  /** One model, or several as in `--model A,B`. */
  readonly model?: string | undefined;
  readonly offline?: boolean | undefined;
  readonly fileRoot?: string | undefined;
  /** Treats `rules` and `context` of the input as Sources. */
  readonly inputSources?: boolean | undefined;
  /** Milliseconds. */
  readonly nodeTimeout?: number | undefined;
  /** Milliseconds. */
  readonly toolTimeout?: number | undefined;
  readonly contextMode?: Settings["context_mode"] | undefined;
  readonly requireSkills?: boolean | undefined;
  /** True if another process drives the run, with its own skills, config and keys. */
  readonly detach?: boolean | undefined;
  /** Fails if an MCP server's tools differ from the lock file. */
  readonly frozen?: boolean | undefined;
  /** Allows public writes of text from private sources. */
  readonly allowPublic?: boolean | undefined;
  /** False ignores the cool-down after a recent run with the same key. */
  readonly coolDown?: boolean | undefined;
  /** Starts the working copy with the uncommitted changes of the checkout. */
  readonly workspaceDirty?: boolean | undefined;
}

/** Sources of settings besides the command line and the document. */
interface Said extends Omit<ModelAccess, "judge"> {
  /** Nearest file first. */
  readonly files: readonly ProjectConfig[];
  /** Bounds that nothing loosens. */
  readonly policies?: readonly LoadedPolicy[];
  /** Throws if a policy forbids a model. Called before the keys of models are checked. */
  readonly refuse?: (settings: ModelSettings) => void;
}

export type ModelSettings = Pick<Settings, "model" | "judge_model">;

/** Model of a workflow that asks none. */
const UNASKED_MODEL = "anthropic:claude-sonnet-4-5";
const DEFAULT_MAX_STEPS = 200;
const DEFAULT_MAX_TURNS = 50;
const DEFAULT_TOOL_TIMEOUT_MS = 60_000;

/** Chooses a new run's settings: first flags, then variables, then files. Limits: see `chooseBounds`. */
export function chooseSettings(choices: RunChoices, workflow: Workflow, said: Said): Settings {
  const { env, files, own, inner } = said;
  const fallback = asksModel(workflow, inner) ? workflow.model : UNASKED_MODEL;
  const model = namedModel(choices, said) ?? defaultModel(env, fallback, own);
  const judge = judgeOf(said, model);
  said.refuse?.({ model, judge_model: judge });
  if (choices.detach) for (const name of checkedModels(modelsOf(model))) checkModel(name, own);
  else checkModels(model, workflow, { ...said, judge });
  const { writes = "allow", limits } = chooseBounds(choices, env, [workflow, ...files]);
  return {
    model,
    judge_model: judge,
    writes,
    limits: { max_steps: DEFAULT_MAX_STEPS, ...limits },
    max_turns: DEFAULT_MAX_TURNS,
    ...defined("node_timeout_ms", choices.nodeTimeout),
    tool_timeout_ms: choices.toolTimeout ?? DEFAULT_TOOL_TIMEOUT_MS,
    context_mode: choices.contextMode ?? "full",
    ...(choices.allowPublic ? { allow_public: true } : {}),
  };
}

/** Returns the run's model as a flag, a variable or a file names it. */
export function namedModel(choices: Pick<RunChoices, "model">, { env, files }: Said): ModelChoice | undefined {
  const given = choices.model ?? env[variableOf("model")];
  return given === undefined ? files.find((file) => file.model !== undefined)?.model : parseModels(given);
}

/** Returns the judges of nodes that name none. */
function judgeOf({ files, own }: Pick<Said, "files" | "own">, model: ModelChoice): ModelChoice {
  return files.find((file) => file.judge_model !== undefined)?.judge_model ?? defaultJudge(model, own);
}

export function recordedSettings(recorded: Settings, events: readonly RunEvent[]): Settings {
  return { ...recorded, ...settingChanges(events) };
}

/** Returns the settings that resumes and approvals change. Later ones win. */
export function settingChanges(events: readonly EventBody[]): Partial<Settings> {
  const changes = events.flatMap((event) =>
    event.type === "run:resume" || event.type === "approval:given" ? event.settings : [],
  );
  return Object.assign({}, ...changes);
}

/** Returns the events that occurred while the run had this model. */
export function underModel({ record, events }: StoredRun, model: ModelChoice): readonly RunEvent[] {
  let now = record.settings.model;
  return events.filter((event) => {
    now = settingChanges([event]).model ?? now;
    return modelText(now) === modelText(model);
  });
}

/** Returns the settings that a resume changes: given flags, and bounds that files or variables tighten. */
export function changedSettings(choices: RunChoices, recorded: Settings, said: Said): Partial<Settings> {
  const { env, files, policies = [] } = said;
  const model = choices.model === undefined ? undefined : parseModels(choices.model);
  const bounds = resumeBounds(choices, env, { recorded, declared: files });
  const { writes = recorded.writes, limits } = clampBounds(bounds, policies).clamped;
  return {
    ...(model === undefined ? {} : { model, judge_model: judgeOf(said, model) }),
    ...(writes === recorded.writes ? {} : { writes }),
    ...defined("node_timeout_ms", choices.nodeTimeout),
    ...defined("tool_timeout_ms", choices.toolTimeout),
    ...defined("context_mode", choices.contextMode),
    ...(choices.allowPublic ? { allow_public: true } : {}),
    ...(deepEqual(limits, recorded.limits) ? {} : { limits: { ...recorded.limits, ...limits } }),
  };
}
