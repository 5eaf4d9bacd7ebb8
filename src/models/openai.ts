import type OpenAI from "openai";
import { checkedAs, type Json } from "../core/base/values.ts";
import { imagesIn, openingOf, type Part, type Prompt, type Reply, type Turn } from "../core/engine/event/prompt.ts";
import type { Model, ModelCall } from "../core/engine/ports.ts";
import { keyed, type ServiceOptions, serviceOf } from "./faults.ts";
import { lookAt, NOTHING_SEEN, REFUSES_IMAGES, type Sight, type Sights, seenOf } from "./images.ts";
import { openaiClient } from "./openai-client.ts";
import { isStrictShape, shapeText } from "./shapes.ts";
import {
  type Answer,
  callPart,
  concede,
  countOf,
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

const PROVIDER = "openai";
const FORMAT = { type: "json_schema", name: "output" } as const;

/** Optional features. `images`: images in results. `reasoning`: encrypted reasoning to send back. */
type Wish = "images" | "shape" | "reasoning";

const REFUSALS: Readonly<Record<Wish, RegExp>> = {
  images: REFUSES_IMAGES,
  reasoning: /encrypted|\binclude\b/i,
  shape: /text\.format|response_format|json_schema|structured|schema/i,
};

/** Creates a model that uses OpenAI's Responses API, without storing anything there. */
export function openaiModel(options: ServiceOptions): Model {
  const keyName = "OPENAI_API_KEY";
  const service = serviceOf(options, { name: "OpenAI", baseURL: "https://api.openai.com/v1", keyName });
  const withoutReasoning = new Set<string>();
  return {
    provider: PROVIDER,
    reply: (prompt, call) =>
      concede(wishesOf(prompt, withoutReasoning.has(call.model)), REFUSALS, async (wishes) => {
        const sights = wishes.includes("images") ? await lookAt(prompt.turns, call) : NOTHING_SEEN;
        const request = requestOf(prompt, { model: call.model, wishes, sights });
        const current = await keyed(service);
        const send = async (line: Line) => {
          const client = await openaiClient(current, line);
          return client.responses.create(request, { signal: line.signal }).asResponse();
        };
        const reply = await exchange(current, call, { send, readStream, readWhole });
        if (prompt.tools.length > 0 && !wishes.includes("reasoning")) withoutReasoning.add(call.model);
        return reply;
      }),
  };
}

/** Requests reasoning only if tools are offered, because it is only sent back with tool calls. */
function wishesOf(prompt: Prompt, withoutReasoning: boolean): readonly Wish[] {
  return [
    ...(imagesIn(prompt.turns).length > 0 ? (["images"] as const) : []),
    ...(prompt.tools.length > 0 && !withoutReasoning ? (["reasoning"] as const) : []),
    ...(prompt.output ? (["shape"] as const) : []),
  ];
}

interface Asking {
  readonly model: string;
  readonly wishes: readonly Wish[];
  readonly sights: Sights;
}

function requestOf(prompt: Prompt, { model, wishes, sights }: Asking): OpenAI.Responses.ResponseCreateParamsStreaming {
  const { output, tools } = prompt;
  const shaped = wishes.includes("shape");
  const { instructions, messages } = openingOf(prompt);
  const texts = [...messages, ...(output && !shaped ? [shapeText(output)] : [])];
  return {
    model,
    ...(instructions === "" ? {} : { instructions }),
    input: [openingItem(texts), ...prompt.turns.flatMap((turn) => itemsOf(turn, sights))],
    stream: true,
    store: false,
    ...(wishes.includes("reasoning") ? { include: ["reasoning.encrypted_content"] } : {}),
    ...(tools.length > 0
      ? {
          tools: tools.map(({ name, description, input_schema }) => ({
            type: "function",
            ...{ name, description, parameters: { ...input_schema }, strict: false },
          })),
        }
      : {}),
    ...(output && shaped
      ? { text: { format: { ...FORMAT, schema: { ...output }, strict: isStrictShape(output) } } }
      : {}),
  };
}

function openingItem(texts: readonly string[]): OpenAI.Responses.EasyInputMessage {
  const [only = ""] = texts;
  if (texts.length <= 1) return { role: "user", content: only };
  return { role: "user", content: texts.map((text) => ({ type: "input_text", text })) };
}

function itemsOf(turn: Turn, sights: Sights): OpenAI.Responses.ResponseInputItem[] {
  switch (turn.role) {
    case "assistant":
      return turn.parts.flatMap(itemsOfPart);
    case "tools":
      return turn.results.map((answer) => {
        const output = withImages(markedText(answer), seenOf(answer.images, sights));
        return { type: "function_call_output", call_id: answer.id, output };
      });
    case "user":
      return [{ role: "user", content: withImages(turn.text, seenOf(turn.images, sights)) }];
  }
}

function withImages(text: string, images: readonly Sight[]) {
  if (images.length === 0) return text;
  const seen = images.map(({ kind, base64 }) => {
    return { type: "input_image", image_url: `data:${kind};base64,${base64}`, detail: "auto" } as const;
  });
  return [{ type: "input_text", text } as const, ...seen];
}

function itemsOfPart(part: Part): OpenAI.Responses.ResponseInputItem[] {
  switch (part.type) {
    case "text":
      return [{ role: "assistant", content: part.text }];
    case "call":
      return [callItem(part.id, part.tool, JSON.stringify(part.input))];
    case "broken_call":
      return [callItem(part.id, part.tool, "{}")];
    case "opaque":
      return part.provider === PROVIDER ? [checkedAs<OpenAI.Responses.ResponseReasoningItem>(part.value)] : [];
  }
}

function callItem(id: string, tool: string, text: string): OpenAI.Responses.ResponseFunctionToolCall {
  return { type: "function_call", call_id: id, name: tool, arguments: text };
}

async function readStream(answer: Answer, events: Events, { onDelta }: ModelCall): Promise<Reply> {
  const items: Fields[] = [];
  for await (const event of events) {
    if (event === DONE) break;
    const response = fieldsOf(event["response"]);
    switch (event["type"]) {
      case "response.output_text.delta":
        onDelta?.(stringOf(event["delta"]));
        break;
      case "response.output_item.done":
        items[countOf(event["output_index"])] = fieldsOf(event["item"]);
        break;
      case "response.failed":
        throw answer.failureIn(response) ?? answer.garbled("response.failed without an error");
      case "response.completed":
      case "response.incomplete":
        return replyOf(
          listOf(response["output"]).length > 0 ? response : { ...response, output: items.filter(Boolean) },
        );
    }
  }
  throw answer.garbled("a stream without response.completed");
}

function readWhole(answer: Answer, response: Fields, { onDelta }: ModelCall): Reply {
  if (!Array.isArray(response["output"])) throw answer.garbled("a response without output");
  const reply = replyOf(response);
  for (const part of reply.parts) if (part.type === "text") onDelta?.(part.text);
  return reply;
}

function replyOf(response: Fields): Reply {
  const items = listOf(response["output"]);
  const refused = items.some((item) => listOf(item["content"]).some((content) => content["type"] === "refusal"));
  return {
    parts: items.flatMap(partsOf),
    stop: refused ? "refusal" : stopOf(response),
    usage: usageFrom(fieldsOf(response["usage"]), "input", "output"),
  };
}

function partsOf(item: Fields): Part[] {
  switch (item["type"]) {
    case "message":
      return listOf(item["content"]).flatMap((content): Part[] => {
        const text = stringOf(content["text"]) || stringOf(content["refusal"]);
        return text === "" ? [] : [{ type: "text", text }];
      });
    case "function_call":
      return [callPart(stringOf(item["call_id"]), stringOf(item["name"]), stringOf(item["arguments"]))];
    case "reasoning":
      return reasoningPart(item);
    default:
      return [];
  }
}

/** Drops reasoning that is not encrypted into the item. It is stored nowhere and cannot be sent back. */
function reasoningPart(item: Fields): Part[] {
  const { id, summary, encrypted_content } = item as { readonly [key: string]: Json };
  if (typeof encrypted_content !== "string" || encrypted_content === "") return [];
  const value = { type: "reasoning", id: id ?? "", summary: summary ?? [], encrypted_content };
  return [{ type: "opaque", provider: PROVIDER, value }];
}

function stopOf(response: Fields): Reply["stop"] {
  if (response["status"] !== "incomplete") return "end";
  return fieldsOf(response["incomplete_details"])["reason"] === "content_filter" ? "refusal" : "length";
}
