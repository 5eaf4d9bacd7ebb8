import type { Json } from "../../core/base/values.ts";
import { firstOf, parseModel } from "../../core/document/model-name.ts";
import type { EventOf, RunEvent } from "../../core/engine/event/event.ts";
import { openingOf, type Part, type Prompt, resultText, type Turn } from "../../core/engine/event/prompt.ts";
import type { CallUsage } from "../../core/engine/event/reply.ts";
import { addUsage } from "../../core/engine/fold/fold-reply.ts";
import { type Attributes, errorOf, openSpan, placeAttributes, visitAt, type Walk } from "./walk.ts";

export function takeAnswer(walk: Walk, event: RunEvent & (EventOf<"model:reply"> | EventOf<"model:error">)): void {
  const { record, content } = walk;
  const { key, purpose, model, time, epoch } = event;
  // A name without a provider belongs to the default model's.
  const { name, provider = firstOf(record.settings.model).split(":")[0] ?? "" } = parseModel(model);
  const reply = event.type === "model:reply" ? event : undefined;
  if (reply) addUsage(walk.usage, reply.usage);
  const asked = content && reply ? walk.promptOf(reply) : undefined;
  const span = openSpan(walk, {
    key,
    parent: visitAt(walk, event).key,
    name: `chat ${name}`,
    time,
    attributes: {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": provider,
      "gen_ai.request.model": name,
      ...placeAttributes(walk, event),
      "skillflow.purpose": purpose,
      ...(reply ? { ...usageOf(reply.usage), "gen_ai.response.finish_reasons": [finishReason(reply)] } : {}),
      ...(asked ? inputContent(asked) : {}),
      ...(content && reply ? outputContent(reply.parts, finishReason(reply)) : {}),
    },
  });
  Object.assign(span, {
    kind: "client",
    // The call started when the previous event was recorded, unless another process recorded that event.
    startedAt: walk.last.epoch === epoch ? walk.last.time : time,
    error: event.type === "model:error" ? errorOf(walk, event.code, event.message) : undefined,
  });
}

function usageOf(usage: CallUsage | null): Attributes {
  if (!usage) return {};
  const { inputTokens, cachedTokens, outputTokens, costUsd } = usage;
  return {
    "gen_ai.usage.input_tokens": { int: inputTokens },
    "gen_ai.usage.output_tokens": { int: outputTokens },
    "gen_ai.usage.cache_read.input_tokens": { int: cachedTokens },
    ...(costUsd === null ? {} : { "skillflow.cost_usd": costUsd }),
  };
}

function finishReason({ stop, parts }: { readonly stop: string; readonly parts: readonly Part[] }): string {
  if (stop === "length") return "length";
  if (stop === "refusal") return "content_filter";
  return parts.some(({ type }) => type === "call" || type === "broken_call") ? "tool_call" : "stop";
}

// -- Prompts and replies as JSON strings, in the message format of the GenAI semantic conventions

function inputContent(prompt: Prompt): Readonly<Record<string, string>> {
  const { instructions, messages } = openingOf(prompt);
  const opening = messages.map((content) => ({ role: "user", parts: [{ type: "text", content }] }));
  const told = prompt.tools.map(({ name, description, input_schema }) => {
    return { type: "function", name, description, parameters: input_schema };
  });
  return {
    ...(instructions === ""
      ? {}
      : { "gen_ai.system_instructions": JSON.stringify([{ type: "text", content: instructions }]) }),
    "gen_ai.input.messages": JSON.stringify([...opening, ...prompt.turns.map(messageOf)]),
    ...(told.length === 0 ? {} : { "gen_ai.tool.definitions": JSON.stringify(told) }),
  };
}

function outputContent(parts: readonly Part[], finish_reason: string): Readonly<Record<string, string>> {
  const message = { role: "assistant", parts: parts.flatMap(partOf), finish_reason };
  return { "gen_ai.output.messages": JSON.stringify([message]) };
}

function messageOf(turn: Turn): Json {
  if (turn.role === "user") return { role: "user", parts: [{ type: "text", content: turn.text }] };
  if (turn.role === "assistant") return { role: "assistant", parts: turn.parts.flatMap(partOf) };
  const parts = turn.results.map(({ id, output }) => ({
    type: "tool_call_response",
    id,
    response: resultText(output),
  }));
  return { role: "tool", parts };
}

/** Omits parts that only their provider understands. */
function partOf(part: Part): Json[] {
  if (part.type === "text") return [{ type: "text", content: part.text }];
  if (part.type === "opaque") return [];
  const { id, tool: name } = part;
  return [{ type: "tool_call", id, name, arguments: part.type === "call" ? part.input : part.text }];
}
