import { variableOf } from "../../base/options.ts";
import { deepEqual, defined } from "../../base/values.ts";
import type { Environment, ProjectConfig } from "../../document/config.ts";
import {
  asksModel,
  checkModel,
  checkModels,
  defaultJudge,
  defaultModel,
  type OwnPrefixes,
} from "../../document/model-name.ts";
import type { LoadedPolicy } from "../../document/policy.ts";
import type { Workflow } from "../../document/workflow/workflow.ts";
import type { EventBody, RunEvent } from "../event/event.ts";
import type { Settings } from "../event/settings.ts";
import { type BoundChoices, chooseBounds, clampBounds, resumeBounds } from "./bounds.ts";

/** Settings of a run that the command line can set. */
export interface RunChoices extends BoundChoices {
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
}

/** Sources of settings besides the command line and the document. */
interface Said {
  readonly env: Environment;
  /** Nearest file first. */
  readonly files: readonly ProjectConfig[];
  readonly own?: OwnPrefixes;
  /** Bounds that nothing loosens. */
  readonly policies?: readonly LoadedPolicy[];
}

/** Model of a workflow that asks none. */
const UNASKED_MODEL = "anthropic:claude-sonnet-4-5";
const DEFAULT_MAX_STEPS = 200;
const DEFAULT_MAX_TURNS = 50;
const DEFAULT_TOOL_TIMEOUT_MS = 60_000;

/** Chooses a new run's settings: first flags, then variables, then files. Limits: see `chooseBounds`. */
export function chooseSettings(choices: RunChoices, workflow: Workflow, { env, files, own }: Said): Settings {
  const named = choices.model ?? env[variableOf("model")] ?? first(files, (file) => file.model);
  const fallback = asksModel(workflow) ? workflow.model : UNASKED_MODEL;
  const model = named ?? defaultModel(env, fallback, own);
  if (choices.detach) checkModel(model, own);
  else checkModels(model, workflow, env, own);
  const { writes = "allow", limits } = chooseBounds(choices, env, [workflow, ...files]);
  return {
    model,
    judge_model: defaultJudge(model, own),
    writes,
    limits: { max_steps: DEFAULT_MAX_STEPS, ...limits },
    max_turns: DEFAULT_MAX_TURNS,
    ...defined("node_timeout_ms", choices.nodeTimeout),
    tool_timeout_ms: choices.toolTimeout ?? DEFAULT_TOOL_TIMEOUT_MS,
    context_mode: choices.contextMode ?? "full",
    ...(choices.allowPublic ? { allow_public: true } : {}),
  };
}

function first<Value>(
  files: readonly ProjectConfig[],
  pick: (file: ProjectConfig) => Value | undefined,
): Value | undefined {
  return files.map(pick).find((value) => value !== undefined);
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

/** Returns the settings that a resume changes: given flags, and bounds that files or variables tighten. */
export function changedSettings(choices: RunChoices, recorded: Settings, said: Said): Partial<Settings> {
  const { env, files, own, policies = [] } = said;
  const bounds = resumeBounds(choices, env, { recorded, declared: files });
  const { writes = recorded.writes, limits } = clampBounds(bounds, policies).clamped;
  return {
    ...(choices.model === undefined ? {} : { model: choices.model, judge_model: defaultJudge(choices.model, own) }),
    ...(writes === recorded.writes ? {} : { writes }),
    ...defined("node_timeout_ms", choices.nodeTimeout),
    ...defined("tool_timeout_ms", choices.toolTimeout),
    ...defined("context_mode", choices.contextMode),
    ...(choices.allowPublic ? { allow_public: true } : {}),
    ...(deepEqual(limits, recorded.limits) ? {} : { limits: { ...recorded.limits, ...limits } }),
  };
}
