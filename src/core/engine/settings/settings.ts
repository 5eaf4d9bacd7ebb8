import { deepEqual, defined } from "../../base/values.ts";
import type { Environment, ProjectConfig } from "../../document/config.ts";
import { checkModel, checkModels, defaultJudge, defaultModel, type OwnPrefixes } from "../../document/model-name.ts";
import type { Workflow } from "../../document/workflow/workflow.ts";
import type { RunEvent } from "../event/event.ts";
import type { Settings } from "../event/settings.ts";
import { type BoundChoices, chooseBounds, resumeBounds } from "./bounds.ts";

/** What governs a run when its command line says so. */
export interface RunChoices extends BoundChoices {
  readonly model?: string | undefined;
  readonly offline: boolean;
  readonly fileRoot?: string | undefined;
  /** `rules` and `context` of the input count as Sources (workflow-format D63). */
  readonly inputSources?: boolean | undefined;
  readonly nodeTimeoutMs?: number | undefined;
  readonly toolTimeoutMs?: number | undefined;
  readonly contextMode?: Settings["context_mode"] | undefined;
  readonly requireSkills: boolean;
  /** Somebody else drives the run, with skills, config and keys of their own. */
  readonly detached?: boolean | undefined;
  /** What MCP servers offer is what the lock says, or nothing runs (fine-print T32). */
  readonly frozen?: boolean | undefined;
  /** Text from private sources may be written where all the world reads it (fine-print T24). */
  readonly allowPublic?: boolean | undefined;
  /** False: a run of the same key, not long ago, is no reason to do nothing. */
  readonly coolDown?: boolean | undefined;
}

/** Who has a say beside the command line and the document. */
interface Said {
  readonly env: Environment;
  /** The nearer one first. */
  readonly files: readonly ProjectConfig[];
  readonly own?: OwnPrefixes;
}

const DEFAULT_MAX_STEPS = 200;
const DEFAULT_MAX_TURNS = 50;
const DEFAULT_TOOL_TIMEOUT_MS = 60_000;

/** What a new run goes by: the command line, then the environment, then the files; for what it may do at most, core/bounds.ts. */
export function chooseSettings(choices: RunChoices, workflow: Workflow, { env, files, own }: Said): Settings {
  const named = choices.model ?? env.SKILLFLOW_MODEL ?? first(files, (file) => file.model);
  const model = named ?? defaultModel(env, workflow.model, own);
  if (choices.detached) checkModel(model, own);
  else checkModels(model, workflow, env, own);
  const { writes = "allow", limits } = chooseBounds(choices, env, [workflow, ...files]);
  return {
    model,
    judge_model: defaultJudge(model, own),
    writes,
    limits: { max_steps: DEFAULT_MAX_STEPS, ...limits },
    max_turns: DEFAULT_MAX_TURNS,
    ...defined("node_timeout_ms", choices.nodeTimeoutMs),
    tool_timeout_ms: choices.toolTimeoutMs ?? DEFAULT_TOOL_TIMEOUT_MS,
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

/** The settings that a run last went by. */
export function recordedSettings(recorded: Settings, events: readonly RunEvent[]): Settings {
  const changes = events.flatMap((event) =>
    event.type === "run:resume" || event.type === "approval:given" ? event.settings : [],
  );
  return Object.assign({}, recorded, ...changes);
}

/** A flag not given keeps the recorded value, unless it is now tightened by who may say so; a limit given replaces it. */
export function changedSettings(choices: RunChoices, recorded: Settings, { env, files, own }: Said): Partial<Settings> {
  const { writes = recorded.writes, limits } = resumeBounds(choices, env, { recorded, declared: files });
  return {
    ...(choices.model === undefined ? {} : { model: choices.model, judge_model: defaultJudge(choices.model, own) }),
    ...(writes === recorded.writes ? {} : { writes }),
    ...defined("node_timeout_ms", choices.nodeTimeoutMs),
    ...defined("tool_timeout_ms", choices.toolTimeoutMs),
    ...defined("context_mode", choices.contextMode),
    ...(choices.allowPublic ? { allow_public: true } : {}),
    ...(deepEqual(limits, recorded.limits) ? {} : { limits: { ...recorded.limits, ...limits } }),
  };
}
