/// <reference types="node" preserve="true" />

export type { ShownDiagnostic as Diagnostic } from "./core/base/diagnostic.ts";
export { type ErrorCode, NothingDone, refusalOf, SkillflowError } from "./core/base/errors.ts";
export { createRedactor, type Redactor, type Secret } from "./core/base/redact/redact.ts";
export { type Json, type JsonObject, type JsonSchema, parseJson } from "./core/base/values.ts";
export type { Workflow } from "./core/document/workflow/workflow.ts";
export type { RunEvent } from "./core/engine/event/event.ts";
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
export type { RunRecord } from "./core/engine/event/record.ts";
export type { StateEntry } from "./core/engine/event/state-entry.ts";
export type { Journal, Model, ModelCall, Observer, StateDelta, StateStore, Store } from "./core/engine/ports.ts";
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
  type Limits,
  openProject,
  type Project,
  type ProjectOptions,
  type ReplayOptions,
  type ReportKind,
  type ResolvedSkills,
  type ResumeOptions,
  type Run,
  type RunOptions,
  resolveSkills,
  type SkillState,
} from "./entry/library.ts";
export { lenient, textLike } from "./kit/fields.ts";
export {
  callDigest,
  clip,
  firstOf,
  jsonSize,
  linesFrom,
  markerOf,
  type Patience,
  patiently,
  plainMarkerOf,
  type Requests,
  requestsOf,
  resultSchema,
  retryAfter,
  type Shape,
  trim,
  untoldPause,
  withoutMarkers,
} from "./kit/http.ts";
export { endOfStream, type JobLogInput, jobLogInput, jobLogShape, readJobLog } from "./kit/job-log.ts";
export { each, pick } from "./kit/members.ts";
export { wholePages } from "./kit/pages.ts";
export { causeCode } from "./kit/reason.ts";
export {
  type Ask,
  type Asking,
  authorization,
  keyOf,
  limitAdvice,
  type Refusal,
  requiredKey,
  type Service,
  ServiceFault,
  serviceUrl,
  withService,
} from "./kit/service.ts";
export {
  isoTime,
  lastLines,
  momentOf,
  type Period,
  type Point,
  periodOf,
  rounded,
  type SeriesSummary,
  seriesSummary,
  summarise,
  timeField,
} from "./kit/telemetry.ts";
export { describeTrace, type TraceSpan, traceShape } from "./kit/traces.ts";
export { type Inside, openInside, type Refused, resolveInside } from "./loaders/folder/contain.ts";
export { memoryStore } from "./stores/memory.ts";
export { memoryState } from "./stores/state/memory.ts";
