import type { Diagnostic } from "../../src/core/base/diagnostic.ts";
import { fieldPath } from "../../src/core/base/diagnostic.ts";
import { next } from "../../src/core/engine/decide/interpreter.ts";
import { linkProgram } from "../../src/core/engine/decide/link.ts";
import { fold } from "../../src/core/engine/fold/fold.ts";
import { begin, type State } from "../../src/core/engine/fold/state.ts";
import type { AskStep, SingleStep, Step } from "../../src/core/engine/fold/step.ts";

export type { AskStep };

import { defined, type Json, type JsonObject } from "../../src/core/base/values.ts";
import { sourceFields } from "../../src/core/document/check/sources.ts";
import { inlineWorkflow } from "../../src/core/document/inner/inline.ts";
import { type Workflow, workflowSchema } from "../../src/core/document/workflow/workflow.ts";
import { callEvents } from "../../src/core/engine/decide/turn-calls.ts";
import type { Call } from "../../src/core/engine/event/call.ts";
import type { Entry, EventBody, EventOf, RunEvent } from "../../src/core/engine/event/event.ts";
import type { Part, Reply } from "../../src/core/engine/event/prompt.ts";
import type { RunRecord, Settings, SkillRecord } from "../../src/core/engine/event/record.ts";
import type { Purpose } from "../../src/core/engine/event/reply.ts";
import { answerQuestion } from "../../src/core/engine/evidence/question.ts";
import { MAKER_TOOLS, TOOL_MAKER } from "../../src/core/engine/tools/tool-maker.ts";
import type { Audience, Outcome, ToolDescriptor } from "../../src/core/skill/skill.ts";
import { exposedName } from "../../src/core/skill/tool-names.ts";

/** Helpers of the tests of core: small workflows, and a run driven by hand. */

export type NodeParts = Partial<Workflow["nodes"][string]>;
type EdgeText = string | Workflow["edges"][number];

/** A workflow of the named nodes. The first is the entry. An edge may be written `a -> b` or `a -> b: condition`. */
export function workflowOf(
  nodes: Readonly<Record<string, NodeParts>>,
  edges: readonly EdgeText[] = [],
  rest: Readonly<Record<string, unknown>> = {},
): Workflow {
  return { id: "flow", name: "Flow", ...inline(nodes, edges), ...rest };
}

/** A workflow like `workflowOf`, as the inline workflow of a map's node. */
export function inline(nodes: Readonly<Record<string, NodeParts>>, edges: readonly EdgeText[] = []) {
  const full = Object.entries(nodes).map(([id, node]) => [id, { name: id, ...doing(id, node), ...node }]);
  return { entry: Object.keys(nodes)[0] ?? "", nodes: Object.fromEntries(full), edges: edges.map(edgeOf) };
}

function doing(id: string, { map, call, approval, steps }: NodeParts): NodeParts {
  return map || call !== undefined || approval || steps ? {} : { instruction: `do ${id}` };
}

function edgeOf(edge: EdgeText): Workflow["edges"][number] {
  if (typeof edge !== "string") return edge;
  const [, from = "", to = "", when] = /^(\S+) -> ([^\s:]+)(?:: (.*))?$/.exec(edge) ?? [];
  return { from, to, ...(when === undefined ? {} : { when }) };
}

export const SETTINGS: Settings = {
  model: "script:none",
  judge_model: "small",
  writes: "allow",
  limits: { max_steps: 200 },
  max_turns: 50,
  tool_timeout_ms: 60_000,
  context_mode: "full",
};

export interface RecordParts {
  readonly input?: JsonObject;
  readonly skills?: readonly SkillRecord[];
  readonly settings?: Partial<Settings>;
  readonly warnings?: readonly string[];
  /** Content of Source fields that are not inline text. */
  readonly sources?: Readonly<Record<string, string>>;
  /** The workflows that nodes name, by the name in the node. */
  readonly files?: Readonly<Record<string, Workflow>>;
}

/** Builds a run's record. Inline texts are resolved to themselves. */
export function recordOf(workflow: Workflow, parts: RecordParts = {}): RunRecord {
  const input = parts.input ?? {};
  const inner = innerOf(workflow, parts);
  return {
    schema: "skillflow.run/2",
    run: "r1",
    kind: "run",
    at: "2026-01-01T00:00:00.000Z",
    workflow: workflowSchema().parse(workflow),
    input,
    sources: sourcesOf(workflow, input, parts.sources),
    ...(Object.keys(inner).length > 0 ? { inner } : {}),
    skills: [...(parts.skills ?? [])],
    settings: { ...SETTINGS, ...parts.settings },
    warnings: [...(parts.warnings ?? [])],
  };
}

function sourcesOf(workflow: Workflow, input: JsonObject, contents: RecordParts["sources"]): RunRecord["sources"] {
  const sources = sourceFields(workflow, input).map(({ path, value }) => {
    const place = fieldPath(path);
    return [
      place,
      { content: contents?.[place] ?? String(value), kind: "inline", origin: value, resolver: "inline", hash: "" },
    ];
  });
  return Object.fromEntries(sources);
}

/** The documents of the workflows that nodes run. */
function innerOf(outer: Workflow, parts: RecordParts, path = ""): NonNullable<RunRecord["inner"]> {
  const all = Object.entries(outer.nodes).flatMap(([id, node]) => {
    const file = node.call ?? node.workflow;
    const workflow = file === undefined ? node.nodes && inlineWorkflow(outer, id, node) : parts.files?.[file];
    if (!workflow) return [];
    const sources = sourcesOf(workflow, file === undefined ? (parts.input ?? {}) : {}, parts.sources);
    const document = { workflow: workflowSchema().parse(workflow), sources, ...defined("file", file) };
    return [[path + id, document], ...Object.entries(innerOf(workflow, parts, `${path}${id}/`))];
  });
  return Object.fromEntries(all);
}

export function toolOf(skill: string, name: string, parts: Partial<ToolDescriptor> = {}): ToolDescriptor {
  const effect = parts.effect ?? "read";
  return {
    skill,
    name,
    exposed: exposedName(skill, name),
    description: `${name} of ${skill}`,
    input_schema: { type: "object" },
    effect,
    idempotent: effect === "read",
    ...parts,
  };
}

export function skillOf(id: string, tools: readonly ToolDescriptor[], parts: Partial<SkillRecord> = {}): SkillRecord {
  return { id, name: id, format: "module", available: true, tools: [...tools] as SkillRecord["tools"], ...parts };
}

/** The skill `ops` with two reads, a write and a write that may be repeated. */
export const OPS = skillOf("ops", [
  toolOf("ops", "look"),
  toolOf("ops", "peek"),
  toolOf("ops", "act", { effect: "write" }),
  toolOf("ops", "put", { effect: "write", idempotent: true }),
  toolOf("ops", "strict", {
    input_schema: {
      type: "object",
      properties: { id: { type: "string" } },
      required: ["id"],
      additionalProperties: false,
    },
  }),
]);

/** The skill that defines tools, allowed. */
export const MAKER = skillOf(
  TOOL_MAKER,
  MAKER_TOOLS.map((tool) => toolOf(TOOL_MAKER, tool.name, tool)),
);

// ---- a run by hand

/** Result of a model call: the events that replace it. */
export type Answer = EventBody | readonly EventBody[] | ReplyParts | string;
export interface ReplyParts {
  readonly parts: readonly Part[];
  readonly stop?: Reply["stop"];
  readonly tokens?: number;
  readonly costUsd?: number | null;
}

export const says = (text: string, rest: Omit<ReplyParts, "parts"> = {}): ReplyParts => ({
  parts: text === "" ? [] : [{ type: "text", text }],
  ...rest,
});

export const gives = (data: Json): ReplyParts => says(JSON.stringify(data));

/** Calls of one turn: `calls("ops_look", ["ops_act", { id: 1 }])`. */
export function calls(...list: (string | readonly [string, Json])[]): ReplyParts {
  const parts = list.map((call, index): Part => {
    const [tool, input] = typeof call === "string" ? [call, {}] : call;
    return { type: "call", id: `c${index}`, tool, input };
  });
  return { parts };
}

export const INTERRUPT: EventBody = { type: "run:interrupt", reason: "interrupted" };
export const NODE_TIMEOUT: EventBody = {
  type: "limit:reached",
  limit: "node_timeout",
  message: "the node took too long",
};

export interface Broken {
  readonly broken: string;
  readonly message?: string;
}
export const breaks = (broken = "model.overloaded", message = "the model is busy"): Broken => ({ broken, message });

export interface PlayOptions {
  /** Answers in order, or by step. A used-up list answers "done". */
  readonly answers?: readonly (Answer | Broken)[] | ((step: AskStep) => Answer | Broken);
  /** The result of a call. Several calls of a step return together. */
  readonly tools?: (call: Call) => Outcome;
  /** Replaces the recorded result of a `call` step. */
  readonly onCalls?: (step: Extract<SingleStep, { kind: "call" }>) => readonly EventBody[];
  /** Chooses which of the parallel steps of inner runs finish next. All by default. */
  readonly over?: (steps: readonly SingleStep[]) => readonly SingleStep[];
  /** The audience of writes. The public by default. */
  readonly audience?: Audience;
  /** The texts of blobs, by id. */
  readonly blobs?: readonly (readonly [string, string])[];
  /** Earlier events, which are folded first. */
  readonly past?: readonly RunEvent[];
  readonly epoch?: number;
  /** The resume entry, for a run that has ended. */
  readonly resume?: Omit<EventOf<"run:resume">, "type" | "settings"> & { readonly settings?: Partial<Settings> };
  /** The decision for a waiting run, and the inner run that it is for. */
  readonly word?: Entry;
  /** Milliseconds between events. */
  readonly tick?: number;
  readonly mostSteps?: number;
}

export interface Played {
  readonly events: readonly RunEvent[];
  readonly steps: readonly Step[];
  readonly asks: readonly AskStep[];
  readonly called: readonly Call[];
  readonly state: State;
}

/** Drives a run without a journal and without waiting: next, answer, fold. */
export function play(record: RunRecord, options: PlayOptions = {}): Played {
  const { answers = [], tools = () => ({ output: "ok" }), epoch = 0, tick = 0, mostSteps = 2000 } = options;
  const program = linkProgram(record);
  const list = typeof answers === "function" ? undefined : [...answers];
  const answer = typeof answers === "function" ? answers : () => list?.shift() ?? "done";
  const played = {
    events: [...(options.past ?? [])],
    steps: [] as Step[],
    asks: [] as AskStep[],
    called: [] as Call[],
  };
  let state = begin(record, epoch);
  for (const event of played.events) state = fold(state, event);
  const note = (key: string, bodies: readonly Entry[], at?: string) => {
    for (const body of bodies) {
      const seq = played.events.length;
      const place = body.type === "run:interrupt" ? {} : defined("at", at);
      const event = { seq, time: new Date(seq * tick).toISOString(), epoch, key, ...place, ...body } as RunEvent;
      played.events.push(event);
      state = fold(state, event);
    }
  };
  if (options.word) note(`word/${state.run.resumes + 1}`, [options.word], options.word.at);
  if (options.resume) note("resume/1", [{ type: "run:resume", settings: {}, ...options.resume }]);
  for (let step = next(program, state); step; step = next(program, state)) {
    if (played.steps.push(step) > mostSteps) throw new Error(`the run does not end: ${step.key}`);
    const { over = (steps) => steps } = options;
    for (const each of step.kind === "together" ? over(step.steps) : [step]) take(each);
  }
  return { ...played, state };

  function take(step: SingleStep): void {
    const { at } = step;
    if (step.kind === "decide") note(step.key, step.bodies, at);
    if (step.kind === "ask") {
      played.asks.push(step);
      note(step.key, bodiesOf(step, answer(step)), at);
    }
    if (step.kind === "examine") note(step.key, [answerQuestion(step.question, new Map(options.blobs))], at);
    if (step.kind === "reach") {
      const { audience = "public" } = options;
      note(step.key, [{ type: "tool:audience", node: step.node, audience, id: step.call.key }], at);
    }
    if (step.kind === "call") {
      played.called.push(...step.calls);
      const came = options.onCalls?.(step) ?? step.calls.flatMap((call) => callEvents(step.node, call, tools(call)));
      note(step.key, came, at);
    }
  }
}

function bodiesOf(step: AskStep, answer: Answer | Broken): readonly EventBody[] {
  const { node, purpose, model } = step;
  if (typeof answer === "string") return bodiesOf(step, says(answer));
  if ("broken" in answer) {
    return [{ type: "model:error", node, purpose, model, code: answer.broken, message: answer.message ?? "broken" }];
  }
  if ("type" in answer) return [answer];
  if (!("parts" in answer)) return answer;
  const { parts, stop = "end", tokens = 1, costUsd = 0 } = answer;
  const usage = { inputTokens: tokens, cachedTokens: 0, outputTokens: 0, costUsd };
  return [{ type: "model:reply", node, purpose, model, parts: [...parts], stop, usage, prompt: "0" }];
}

// ---- inspecting the events

/** The events in one line each: `node:exit a failed`, `route a>b only path`. */
export function lines(events: readonly RunEvent[]): string[] {
  return events.map((event) => {
    switch (event.type) {
      case "workflow:start":
        return `workflow:start ${event.workflow}`;
      case "node:enter":
        return `node:enter ${event.node} ${event.iteration}`;
      case "node:exit":
        return `node:exit ${event.node} ${event.result.status}`;
      case "node:retry":
        return `node:retry ${event.node} ${event.attempt}`;
      case "route":
        return `route ${event.from}>${event.to} ${event.reason}`;
      case "workflow:end":
        return `workflow:end ${event.status}`;
      case "model:reply":
      case "model:error":
        return `${event.type} ${event.purpose}`;
      case "tool:call":
        return `tool:call ${event.tool}`;
      case "tool:result":
        return `tool:result ${event.tool} ${event.error === undefined ? "ok" : "error"}`;
      case "limit:reached":
        return `limit:reached ${event.limit}`;
      default:
        return event.type;
    }
  });
}

export function eventsOf<Type extends EventBody["type"]>(events: readonly RunEvent[], type: Type) {
  return events.filter((event): event is Extract<RunEvent, { type: Type }> => event.type === type);
}

/** The last result of a node. */
export function resultAt({ state }: Played, node: string) {
  const result = state.results.get(node);
  if (!result) throw new Error(`node ${node} has no result`);
  return result;
}

export function purposes({ asks }: Played): Purpose[] {
  return asks.map((step) => step.purpose);
}

export function codes(diagnostics: readonly Diagnostic[]): string[] {
  return diagnostics.map((found) => found.code);
}
