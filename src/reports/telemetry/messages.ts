import type { Json } from "../../core/base/values.ts";
import { openingOf, type Part, type Prompt, resultText, type Turn } from "../../core/engine/event/prompt.ts";

/** Prompts and replies as JSON strings, in the message format of the GenAI semantic conventions. */

export function inputContent(prompt: Prompt): Readonly<Record<string, string>> {
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

export function outputContent(parts: readonly Part[], finish_reason: string): Readonly<Record<string, string>> {
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
