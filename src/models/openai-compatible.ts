import type OpenAI from "openai";
import type { Json } from "../core/base/values.ts";
import {
  type Opening,
  openingOf,
  openingTexts,
  type Part,
  type Prompt,
  type Reply,
  type Turn,
} from "../core/engine/event/prompt.ts";
import type { Model, ModelCall } from "../core/engine/ports.ts";
import { type Service, type ServiceOptions, serviceOf } from "./faults.ts";
import { openaiClient } from "./openai-client.ts";
import { isStrictShape, shapeText } from "./shapes.ts";
import {
  type Answer,
  callPart,
  concede,
  DONE,
  type Events,
  exchange,
  type Fields,
  fieldsOf,
  type Line,
  listOf,
  markedText,
  stringOf,
  usageFrom,
} from "./wire.ts";

/**
 * Optional features of a request. `usage`: token counts at the end of the stream. `system`: instructions in a separate
 * message, which some chat templates do not support.
 */
type Wish = "shape" | "usage" | "system";

const REFUSALS: Readonly<Record<Wish, RegExp>> = {
  system: /\bsystem\b|roles must alternate/i,
  usage: /stream_options|include_usage/i,
  shape: /response_format|json_schema|structured|schema|grammar/i,
};

const PROVIDER = "openai-compatible";

/** Creates a model for any server with a Chat Completions API, such as Ollama, vLLM, llama.cpp or a gateway. */
export function compatibleModel(options: ServiceOptions): Model {
  const usual = { name: "The model server", baseURL: "", keyName: "the server's API key" };
  // Many servers need no key.
  const service = serviceOf({ ...options, apiKey: options.apiKey?.trim() || undefined }, usual);
  return chatModel(PROVIDER, service, openaiClient);
}

export function chatModel(provider: string, service: Service, open: typeof openaiClient): Model {
  return {
    provider,
    async reply(asked, call) {
      const turns = asked.turns.map((turn) =>
        turn.role === "assistant" ? { ...turn, parts: retagged(turn.parts, provider, PROVIDER) } : turn,
      );
      const prompt = { ...asked, turns };
      const opening = openingOf(prompt);
      const reply = await concede(wishesOf(prompt, opening), REFUSALS, (wishes) => {
        const send = async (line: Line) => {
          const request = { model: call.model, ...requestOf(prompt, opening, wishes) };
          return (await open(service, line)).chat.completions.create(request, { signal: line.signal }).asResponse();
        };
        return exchange(service, call, { send, readStream, readWhole });
      });
      return { ...reply, parts: retagged(reply.parts, PROVIDER, provider) };
    },
  };
}

/** Changes the provider of reasoning. A server may refuse another one's fields, so the rest is removed. */
function retagged(parts: readonly Part[], from: string, to: string): Part[] {
  return parts.flatMap((part): Part[] => {
    if (part.type !== "opaque") return [part];
    return part.provider === from ? [{ ...part, provider: to }] : [];
  });
}

/** With tools, asks for the shape in the prompt: many servers never call tools once a response format is set. */
function wishesOf(prompt: Prompt, { instructions }: Opening): readonly Wish[] {
  return [
    "usage",
    ...(instructions === "" ? [] : (["system"] as const)),
    ...(prompt.output && prompt.tools.length === 0 ? (["shape"] as const) : []),
  ];
}

function requestOf(
  prompt: Prompt,
  opening: Opening,
  wishes: readonly Wish[],
): Omit<OpenAI.ChatCompletionCreateParamsStreaming, "model"> {
  const { output, tools } = prompt;
  const plain = { instructions: "", messages: openingTexts(prompt) };
  const { instructions, messages } = wishes.includes("system") ? opening : plain;
  const shaped = wishes.includes("shape");
  const strict = isStrictShape(output);
  const texts = [...messages, ...(output && !shaped ? [shapeText(output)] : [])];
  const system = instructions === "" ? [] : [{ role: "system", content: instructions } as const];
  return {
    messages: [...system, ...messagesOf(texts, prompt.turns)],
    stream: true,
    ...(wishes.includes("usage") ? { stream_options: { include_usage: true } } : {}),
    ...(tools.length > 0 ? { tools: tools.map(toolOf) } : {}),
    ...(output && shaped
      ? { response_format: { type: "json_schema", json_schema: { name: "output", schema: { ...output }, strict } } }
      : {}),
  };
}

function toolOf(tool: Prompt["tools"][number]): OpenAI.ChatCompletionFunctionTool {
  const { name, description, input_schema } = tool;
  return { type: "function", function: { name, description, parameters: { ...input_schema } } };
}

/** Merges adjacent user messages, because chat templates of local models require alternating roles. */
function messagesOf(texts: readonly string[], turns: readonly Turn[]): OpenAI.ChatCompletionMessageParam[] {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: texts.join("\n\n") }];
  for (const message of turns.flatMap(messagesOfTurn)) {
    const last = messages.at(-1);
    if (last?.role === "user" && message.role === "user") last.content = `${last.content}\n\n${message.content}`;
    else messages.push(message);
  }
  return messages;
}

function messagesOfTurn(turn: Turn): OpenAI.ChatCompletionMessageParam[] {
  switch (turn.role) {
    case "assistant":
      return turn.parts.length === 0 ? [] : [assistantMessage(turn.parts)];
    case "tools":
      return turn.results.map((answer) => ({ role: "tool", tool_call_id: answer.id, content: markedText(answer) }));
    case "user":
      return [{ role: "user", content: turn.text }];
  }
}

function assistantMessage(parts: readonly Part[]): OpenAI.ChatCompletionAssistantMessageParam {
  const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const calls = parts.flatMap(callOf);
  const own = parts.map((part) => (part.type === "opaque" && part.provider === PROVIDER ? fieldsOf(part.value) : {}));
  return {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    ...Object.assign({}, ...own),
  };
}

function callOf(part: Part): OpenAI.ChatCompletionMessageFunctionToolCall[] {
  if (part.type !== "call" && part.type !== "broken_call") return [];
  const text = part.type === "call" ? JSON.stringify(part.input) : "{}";
  return [{ type: "function", id: part.id, function: { name: part.tool, arguments: text } }];
}

type Message = ReturnType<typeof emptyMessage>;

interface Call {
  readonly index: unknown;
  id: string;
  tool: string;
  text: string;
}

/** Creates a message to fill. Some servers require its reasoning back with the calls that it led to. */
function emptyMessage() {
  const calls: Call[] = [];
  const details: Json[] = [];
  const usage: Fields = {};
  return { text: "", refusal: "", calls, reasoning: "", details, finish: "", usage };
}

async function readStream(answer: Answer, events: Events, call: ModelCall): Promise<Reply> {
  const message = emptyMessage();
  let begun = false;
  let done = false;
  for await (const event of events) {
    done = event === DONE;
    if (event === DONE) break;
    const [choice] = listOf(event["choices"]);
    begun ||= choice !== undefined;
    grow(message, fieldsOf(choice?.["delta"]), call);
    take(message, fieldsOf(choice), event);
  }
  if (!begun) throw answer.garbled("a stream without a choice");
  if (!done && message.finish === "") throw answer.garbled("a stream without finish_reason");
  return replyOf(message, call);
}

function readWhole(answer: Answer, body: Fields, call: ModelCall): Reply {
  const [choice] = listOf(body["choices"]);
  if (!choice || !("message" in choice)) throw answer.garbled("a completion without a message");
  const message = emptyMessage();
  grow(message, fieldsOf(choice["message"]), call);
  take(message, choice, body);
  return replyOf(message, call);
}

function grow(message: Message, delta: Fields, call: ModelCall): void {
  const text = contentOf(delta["content"]);
  if (text !== "") call.onDelta?.(text);
  message.text += text;
  message.refusal += stringOf(delta["refusal"]);
  message.reasoning += stringOf(delta["reasoning_content"]);
  message.details.push(...(listOf(delta["reasoning_details"]) as readonly Json[]));
  for (const fields of listOf(delta["tool_calls"])) growCall(message.calls, fields);
}

/** Returns the text of content, which some servers send as a list. */
function contentOf(content: unknown): string {
  return (
    stringOf(content) ||
    listOf(content)
      .map((item) => stringOf(item["text"]))
      .join("")
  );
}

/** Adds a piece of a call, found by its index. Servers that send whole calls may omit the index. */
function growCall(calls: Call[], fields: Fields): void {
  const called = fieldsOf(fields["function"]);
  const [index, id] = [fields["index"], stringOf(fields["id"])];
  const known = calls.find((call) => (index === undefined ? id === "" || call.id === id : call.index === index));
  const call = known ?? { index, id, tool: "", text: "" };
  if (!known) calls.push(call);
  call.id ||= id;
  call.tool ||= stringOf(called["name"]);
  call.text +=
    typeof called["arguments"] === "object" ? JSON.stringify(called["arguments"] ?? {}) : stringOf(called["arguments"]);
}

function take(message: Message, choice: Fields, body: Fields): void {
  message.finish = stringOf(choice["finish_reason"]) || message.finish;
  if (typeof fieldsOf(body["usage"])["prompt_tokens"] === "number") message.usage = fieldsOf(body["usage"]);
}

function replyOf(message: Message, call: ModelCall): Reply {
  const text = message.text || message.refusal;
  return {
    parts: [
      ...reasoningParts(message),
      ...(text === "" ? [] : [{ type: "text", text } as const]),
      ...message.calls.map((one, index) => callPart(idOf(message.calls, index, call), one.tool, one.text)),
    ],
    stop: message.refusal === "" ? stopOf(message.finish) : "refusal",
    usage: usageFrom(message.usage, "prompt", "completion"),
  };
}

function reasoningParts({ reasoning, details }: Message): Part[] {
  const value = {
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
  };
  return Object.keys(value).length === 0 ? [] : [{ type: "opaque", provider: PROVIDER, value }];
}

/** Returns the server's call id, or a generated one if it is missing or repeated. */
function idOf(calls: readonly Call[], index: number, call: ModelCall): string {
  const id = calls[index]?.id ?? "";
  const taken = calls.findIndex((other) => other.id === id) < index;
  return id === "" || taken ? `call_${call.key.replaceAll(/[^A-Za-z0-9_-]/g, "_")}_${index}` : id;
}

function stopOf(finish: string): Reply["stop"] {
  if (finish === "content_filter") return "refusal";
  return finish === "length" ? "length" : "end";
}
