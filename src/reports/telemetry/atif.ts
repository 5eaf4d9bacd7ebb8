import { defined, isObject, type Json, type JsonObject } from "../../core/base/values.ts";
import type { EventOf, RunEvent } from "../../core/engine/event/event.ts";
import { openingOf, type Part, type Prompt, resultText, textOf } from "../../core/engine/event/prompt.ts";
import type { CallUsage } from "../../core/engine/event/reply.ts";
import { recordedPrompts } from "../../core/engine/record/recorded-prompts.ts";
import type { Report } from "../model/report.ts";
import { switchText } from "../model/visit.ts";

/** Converts a run to the Agent Trajectory Interchange Format (ATIF), with an agent step for each model reply. */

const VERSION = "ATIF-v1.8";

export function atifTrajectory({ record, events, result }: Report, agent: { readonly version: string }): Json {
  const steps = stepsOf({ record, events });
  const { inputTokens, outputTokens, cachedTokens, costUsd } = result.usage;
  const tools = record.skills.flatMap((skill) => skill.tools);
  return {
    schema_version: VERSION,
    session_id: record.run,
    trajectory_id: record.run,
    agent: {
      name: "skillflow",
      version: agent.version,
      model_name: record.settings.model,
      ...(tools.length === 0
        ? {}
        : {
            tool_definitions: tools.map(({ exposed, description, input_schema }) => ({
              type: "function",
              function: { name: exposed, description, parameters: input_schema },
            })),
          }),
      extra: { workflow: record.workflow.id },
    },
    steps: steps.map((step, index) => ({ step_id: index + 1, ...step })),
    final_metrics: {
      total_prompt_tokens: inputTokens,
      total_completion_tokens: outputTokens,
      total_cached_tokens: cachedTokens,
      ...(costUsd === null ? {} : { total_cost_usd: costUsd }),
      total_steps: steps.length,
    },
    extra: { kind: record.kind, status: result.status, ...defined("verdict", result.verdict) },
  };
}

function stepsOf({ record, events }: Pick<Report, "record" | "events">): JsonObject[] {
  const promptOf = recordedPrompts({ record, events });
  const results = resultsOf(events);
  const steps: JsonObject[] = [
    { source: "user", timestamp: record.at, message: JSON.stringify(record.input), extra: { part: "input" } },
  ];
  const visits = new Map<string | undefined, EventOf<"node:enter">>();
  for (const event of events) {
    if (event.type === "node:enter") visits.set(event.at, event);
    if (event.type === "reply:rejected") steps.push(said("user", event, event.reason));
    if (event.type === "model:switch") steps.push(said("system", event, switchText(event)));
    if (event.type === "model:error") steps.push(said("system", event, `the model failed: ${event.message}`));
    if (event.type !== "model:reply") continue;
    const prompt = promptOf(event);
    // Later prompts of a visit only continue its conversation.
    if (prompt && (event.purpose !== "work" || prompt.turns.length === 0)) steps.push(...openingSteps(event, prompt));
    steps.push(agentStep(event, visits.get(event.at), results.get(event.seq) ?? []));
  }
  return steps;
}

function said(
  source: "user" | "system",
  { time, node }: { readonly time: string; readonly node: string },
  message: string,
): JsonObject {
  return { source, timestamp: time, message, extra: { node } };
}

function openingSteps(event: RunEvent & EventOf<"model:reply">, prompt: Prompt): JsonObject[] {
  const { instructions, messages } = openingOf(prompt);
  return [
    ...(instructions === "" ? [] : [said("system", event, instructions)]),
    ...messages.map((message) => said("user", event, message)),
  ];
}

type Result = RunEvent & EventOf<"tool:result">;

/** Returns the results of each reply's calls, by the position of the reply. */
function resultsOf(events: readonly RunEvent[]): ReadonlyMap<number, readonly Result[]> {
  const results = new Map<number, Result[]>();
  /** Results of the latest reply, for the run and for each inner run by path. */
  const replies = new Map<string | undefined, Result[]>();
  for (const event of events) {
    if (event.type === "model:reply" && event.purpose === "work") {
      const reply: Result[] = [];
      replies.set(event.at, reply);
      results.set(event.seq, reply);
    }
    if (event.type === "tool:result") replies.get(event.at)?.push(event);
  }
  return results;
}

function agentStep(
  event: RunEvent & EventOf<"model:reply">,
  visit: EventOf<"node:enter"> | undefined,
  results: readonly Result[],
): JsonObject {
  const { parts, model, usage, time, node, at, purpose, stop, key } = event;
  const calls = callsOf(parts);
  const reasoning = parts.flatMap(reasoningOf).join("\n");
  const observed = results.map((result) => observation(result, calls));
  return {
    source: "agent",
    timestamp: time,
    model_name: model,
    message: textOf(parts),
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(observed.length === 0 ? {} : { observation: { results: observed } }),
    ...(usage ? { metrics: metricsOf(usage) } : {}),
    llm_call_count: 1,
    extra: { node, ...defined("at", at), visit: visit?.iteration ?? 1, purpose, stop, key },
  };
}

function metricsOf({ inputTokens, cachedTokens, outputTokens, costUsd }: CallUsage): Json {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    cached_tokens: Math.min(cachedTokens, inputTokens),
    ...(costUsd === null ? {} : { cost_usd: costUsd }),
  };
}

/** Makes call ids unique by position, because providers may omit or repeat them. */
function callsOf(parts: readonly Part[]): (JsonObject & { readonly tool_call_id: string })[] {
  const taken = new Set<string>();
  return parts.flatMap((part, index) => {
    if (part.type !== "call" && part.type !== "broken_call") return [];
    const tool_call_id = part.id === "" || taken.has(part.id) ? `${part.id}#${index}` : part.id;
    taken.add(tool_call_id);
    const { tool: function_name } = part;
    if (part.type === "broken_call") {
      return [{ tool_call_id, function_name, arguments: {}, extra: { unreadable: part.text } }];
    }
    const given = isObject(part.input) ? (part.input as JsonObject) : { value: part.input };
    return [{ tool_call_id, function_name, arguments: given }];
  });
}

/** Finds the call of a result: the result's id ends with the index of the call in its reply. */
function observation({ id, output, error, ref, planned }: Result, calls: ReturnType<typeof callsOf>): Json {
  const call = calls[Number(/\/(\d+)(?:~\d+)?$/.exec(id)?.[1] ?? Number.NaN)];
  return {
    ...defined("source_call_id", call?.tool_call_id),
    content: error === undefined ? resultText(output ?? null) : error,
    extra: { ...defined("ref", ref), ...(error === undefined ? {} : { failed: true }), ...defined("planned", planned) },
  };
}

/** Returns the model's reasoning, if the provider returns it as text. */
function reasoningOf(part: Part): string[] {
  if (part.type !== "opaque" || !isObject(part.value)) return [];
  const { thinking } = part.value;
  return typeof thinking === "string" && thinking !== "" ? [thinking] : [];
}
