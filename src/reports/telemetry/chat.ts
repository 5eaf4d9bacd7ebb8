import { firstOf, parseModel } from "../../core/document/model-name.ts";
import type { EventOf, RunEvent } from "../../core/engine/event/event.ts";
import type { Part } from "../../core/engine/event/prompt.ts";
import type { CallUsage } from "../../core/engine/event/reply.ts";
import { addUsage } from "../../core/engine/fold/fold-reply.ts";
import { inputContent, outputContent } from "./messages.ts";
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
