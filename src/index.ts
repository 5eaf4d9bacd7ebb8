/// <reference types="node" preserve="true" />

export type { BlobInfo, Blobs } from "./core/base/blobs.ts";
export type { ShownDiagnostic as Diagnostic } from "./core/base/diagnostic.ts";
export { type ErrorCode, NothingDone, refusalOf, SkillflowError } from "./core/base/errors.ts";
export { createRedactor, type Redactor, type Secret } from "./core/base/redact/redact.ts";
export { type Json, type JsonObject, type JsonSchema, parseJson } from "./core/base/values.ts";
export type { Workflow } from "./core/document/workflow/workflow.ts";
export type { Entry, EventBody, RunEvent, StepKey } from "./core/engine/event/event.ts";
export {
  type Opening,
  openingOf,
  openingTexts,
  type Part,
  type Prompt,
  type Reply,
  type Turn,
  type Usage,
} from "./core/engine/event/prompt.ts";
export type { RunRecord, StateEntry } from "./core/engine/event/record.ts";
export type { SkimmedRun } from "./core/engine/event/skim.ts";
export type {
  Journal,
  Model,
  ModelCall,
  Observer,
  ProcessMark,
  RecordCheck,
  RecordProblem,
  SkillLog,
  StateChange,
  StateChanges,
  StateDelta,
  StateLimits,
  StateStore,
  States,
  Store,
  StoredRun,
} from "./core/engine/ports.ts";
export type { RunResult } from "./core/engine/result/result.ts";
export type { Lack } from "./core/skill/availability/unavailable.ts";
export {
  type AnyToolDefinition as Tool,
  type Category,
  type ConfigField,
  defineSkill,
  defineTool,
  type Logger,
  type RunOutlook,
  type SkillDefinition as Skill,
  type ToolContext,
} from "./core/skill/skill.ts";
export {
  type ApplyOptions,
  type ApplyResult,
  type Ask,
  type AskOptions,
  type BacktestOptions,
  type BacktestResult,
  type Limits,
  openProject,
  type Project,
  type ProjectOptions,
  type Recheck,
  type ReplayOptions,
  type ReportKind,
  type ResolvedSkills,
  type ResultOf,
  type ResumeOptions,
  type Run,
  type RunOptions,
  type RunRow,
  resolveSkills,
  type SignalOptions,
  type SkillState,
  type TestResult,
} from "./entry/library.ts";
export { type Requests, requestsOf } from "./kit/http.ts";
export { type Inside, openInside, type Refused, resolveInside } from "./loaders/folder/contain.ts";
export { memoryStore } from "./stores/memory.ts";
export { memoryState } from "./stores/state/memory.ts";
