export { type Diagnostic, type ErrorCode, SkillflowError } from "./core/errors.ts";
export type { RunEvent, RunRecord } from "./core/event.ts";
export type { Journal, Model, ModelCall, Observer, Store } from "./core/ports.ts";
export type { Part, Prompt, Reply, Turn, Usage } from "./core/prompt.ts";
export { createRedactor, type Redactor, type Secret } from "./core/redact/redact.ts";
export {
  type Category,
  type ConfigField,
  defineSkill,
  defineTool,
  type Logger,
  type SkillDefinition,
  type Tool,
  type ToolContext,
} from "./core/skill.ts";
export type { Json, JsonObject, JsonSchema } from "./core/values.ts";
export type { Workflow } from "./core/workflow.ts";
export { type Inside, openInside, type Refused, resolveInside } from "./loaders/folder/contain.ts";
export {
  callDigest,
  clip,
  jsonSize,
  markerOf,
  type Patience,
  patiently,
  retryAfter,
  trim,
  untoldPause,
  withoutMarkers,
} from "./skill-http.ts";
