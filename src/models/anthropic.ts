import type Anthropic from "@anthropic-ai/sdk";
import type { BaseAnthropic } from "@anthropic-ai/sdk";
import { checkedAs, isObject, type Json, LONGEST_TIMER_MS } from "../core/base/values.ts";
import {
  answerText,
  imagesIn,
  openingOf,
  type Part,
  type Prompt,
  type Reply,
  type ToolAnswer,
  type Turn,
  type Usage,
} from "../core/engine/event/prompt.ts";
import type { Model, ModelCall } from "../core/engine/ports.ts";
import { formatOf, isExpressible } from "./anthropic-shapes.ts";
import { keyed, type Service, type ServiceOptions, serviceOf } from "./faults.ts";
import { lookAt, NOTHING_SEEN, REFUSES_IMAGES, type Sight, type Sights, seenOf } from "./images.ts";
import { shapeText } from "./shapes.ts";
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
  stringOf,
  writtenToCache,
} from "./wire.ts";

/** Providers of Claude. Each accepts the reasoning that another one signed. */
type ClaudeProvider = "anthropic" | "bedrock" | "vertex";
const PROVIDERS: readonly string[] = ["anthropic", "bedrock", "vertex"] satisfies readonly ClaudeProvider[];

/** Required output limit, including thinking. All current models accept this value. */
const MAX_TOKENS = 32_000;

type Wish = "images" | "shape";

const REFUSALS: Readonly<Record<Wish, RegExp>> = {
  images: REFUSES_IMAGES,
  shape: /output_config|output_format|structured|schema/i,
};

export function anthropicModel(options: ServiceOptions): Model {
  const keyName = "ANTHROPIC_API_KEY";
  const service = serviceOf(options, { name: "Anthropic", baseURL: "https://api.anthropic.com", keyName });
  return claudeModel("anthropic", service, async (current, line) => {
    const { default: Client } = await import("@anthropic-ai/sdk");
    const { apiKey = "", shortLived } = current;
    // Short-lived tokens are bearer tokens, which need an extra header.
    const bearer = { authToken: apiKey, defaultHeaders: { "anthropic-beta": "oauth-2025-04-20" } };
    return new Client({ ...(shortLived ? bearer : { apiKey }), ...plainOptions(current, line) });
  });
}

type OpenClient = (service: Service, line: Line) => Promise<Pick<BaseAnthropic, "post">>;

/** Creates a model that uses the Messages API. The client decides where requests go and how they are authenticated. */
export function claudeModel(provider: ClaudeProvider, service: Service, open: OpenClient): Model {
  return {
    provider,
    async reply(prompt, call) {
      const asked = await concede(wishesOf(prompt), REFUSALS, async (wishes) => {
        const current = await keyed(service);
        const send = async (line: Line) => {
          const client = await open(current, line);
          const body = await requestOf(prompt, call, wishes);
          // messages.create would print deprecation warnings to the console.
          return client.post("/v1/messages", { body, stream: true, signal: line.signal }).asResponse();
        };
        return exchange(current, call, { send, readStream, readWhole });
      });
      return { ...asked, parts: asked.parts.map((part) => (part.type === "opaque" ? { ...part, provider } : part)) };
    },
  };
}

/** Returns the client options of all Claude services. The SDK neither retries, logs nor times out: `idleMs` applies. */
export function plainOptions({ baseURL }: Service, { fetch }: Line) {
  return { baseURL, fetch, maxRetries: 0, timeout: LONGEST_TIMER_MS, logLevel: "off" } as const;
}

function wishesOf({ output, turns }: Prompt): readonly Wish[] {
  return [
    ...(imagesIn(turns).length > 0 ? (["images"] as const) : []),
    ...(output && isExpressible(output) ? (["shape"] as const) : []),
  ];
}

/** Builds the request. Marks the prefix for the cache if further requests will share it. */
async function requestOf(
  prompt: Prompt,
  call: ModelCall,
  wishes: readonly Wish[],
): Promise<Anthropic.MessageCreateParamsStreaming> {
  const { output, tools, turns } = prompt;
  const { model, purpose } = call;
  const shaped = wishes.includes("shape");
  const sights = wishes.includes("images") ? await lookAt(turns, call) : NOTHING_SEEN;
  const { instructions, messages } = openingOf(prompt);
  const texts = [...messages, ...(output && !shaped ? [shapeText(output)] : [])];
  const cached = tools.length > 0 || purpose === "judge";
  return {
    model,
    max_tokens: MAX_TOKENS,
    stream: true,
    ...(instructions === "" ? {} : { system: [{ ...textBlock(instructions), ...(cached ? CACHE : {}) }] }),
    messages: messagesOf(
      texts,
      turns.map((turn) => messageOf(turn, sights)),
      cached,
    ),
    ...(tools.length > 0 ? { tools: toolsOf(tools) } : {}),
    ...(output && shaped ? { output_config: { format: await formatOf(output) } } : {}),
  };
}

function toolsOf(tools: Prompt["tools"]): Anthropic.Tool[] {
  return tools.map((tool, index) => ({
    name: tool.name,
    description: tool.description,
    input_schema: { ...tool.input_schema, type: "object" },
    ...(index === tools.length - 1 ? CACHE : {}),
  }));
}

const CACHE = { cache_control: { type: "ephemeral" } } as const;

interface Message {
  readonly role: "user" | "assistant";
  readonly content: Anthropic.ContentBlockParam[];
}

/** Builds the messages, with cache marks after the opening and at the end. */
function messagesOf(texts: readonly string[], turns: readonly Message[], cached: boolean): Anthropic.MessageParam[] {
  const opening: Message = { role: "user", content: texts.map(textBlock) };
  const messages = [opening];
  for (const { role, content } of turns) {
    const last = messages.at(-1);
    // Roles alternate, and no message is empty.
    if (last?.role === role) last.content.push(...content);
    else if (content.length > 0) messages.push({ role, content });
  }
  if (cached) {
    mark(opening.content, texts.length - 1);
    const last = messages.at(-1) ?? opening;
    mark(last.content, last.content.length - 1);
  }
  const [first] = opening.content;
  const plain = opening.content.length === 1 && first?.type === "text" && !first.cache_control;
  return plain ? [{ role: "user", content: first.text }, ...messages.slice(1)] : messages;
}

function mark(content: Anthropic.ContentBlockParam[], index: number): void {
  const block = content[index];
  if (block?.type === "text" || block?.type === "tool_result" || block?.type === "tool_use") {
    content[index] = { ...block, ...CACHE };
  }
}

function messageOf(turn: Turn, sights: Sights): Message {
  switch (turn.role) {
    case "assistant":
      return { role: "assistant", content: turn.parts.flatMap(blocksOfPart) };
    case "tools":
      return { role: "user", content: turn.results.map((answer) => resultBlock(answer, sights)) };
    case "user":
      return { role: "user", content: [textBlock(turn.text), ...seenOf(turn.images, sights).map(imageBlock)] };
  }
}

/** Returns a call's id as the API accepts it. Another provider may have given it in the same visit. */
function plainId(id: string): string {
  return id.replace(/[^\w-]/g, "_");
}

function textBlock(text: string): Anthropic.TextBlockParam {
  return { type: "text", text };
}

function imageBlock({ kind, base64 }: Sight): Anthropic.ImageBlockParam {
  return { type: "image", source: { type: "base64", media_type: kind, data: base64 } };
}

function resultBlock(answer: ToolAnswer, sights: Sights): Anthropic.ToolResultBlockParam {
  const text = answerText(answer);
  const images = seenOf(answer.images, sights).map(imageBlock);
  const content = images.length === 0 ? text : [textBlock(text), ...images];
  return {
    type: "tool_result",
    tool_use_id: plainId(answer.id),
    content,
    ...(answer.failed ? { is_error: true } : {}),
  };
}

/** Converts a part to blocks. The API rejects blank text and arguments that are not objects. */
function blocksOfPart(part: Part): Anthropic.ContentBlockParam[] {
  switch (part.type) {
    case "text":
      return part.text.trim() === "" ? [] : [textBlock(part.text)];
    case "call":
      return [
        { type: "tool_use", id: plainId(part.id), name: part.tool, input: isObject(part.input) ? part.input : {} },
      ];
    case "broken_call":
      return [{ type: "tool_use", id: plainId(part.id), name: part.tool, input: {} }];
    case "opaque":
      return PROVIDERS.includes(part.provider) ? [checkedAs<Anthropic.ThinkingBlockParam>(part.value)] : [];
  }
}

type Usages = Partial<Record<`${"" | "cache_read_" | "cache_creation_"}input_tokens` | "output_tokens", unknown>>;

async function readStream(answer: Answer, events: Events, { onDelta }: ModelCall): Promise<Reply> {
  const blocks = new Map<number, Block>();
  const usage: Usages = {};
  let stop = "";
  for await (const event of events) {
    if (event === DONE) break;
    const index = countOf(event["index"]);
    switch (event["type"]) {
      case "message_start":
        tally(usage, fieldsOf(event["message"])["usage"]);
        break;
      case "content_block_start":
        blocks.set(index, { ...fieldsOf(event["content_block"]), arguments: "" });
        break;
      case "content_block_delta":
        grow(blocks.get(index), fieldsOf(event["delta"]), onDelta);
        break;
      case "message_delta":
        stop = stringOf(fieldsOf(event["delta"])["stop_reason"]) || stop;
        tally(usage, event["usage"]);
        break;
      case "message_stop":
        return replyOf([...blocks.values()], stop, usage);
    }
  }
  throw answer.garbled("a stream without message_stop");
}

/** Content block under construction. `arguments` is the input's JSON received so far. */
type Block = Fields & { text?: unknown; thinking?: unknown; signature?: unknown; arguments: string };

function grow(block: Block | undefined, delta: Fields, onDelta: ModelCall["onDelta"]): void {
  if (!block) return;
  switch (delta["type"]) {
    case "text_delta":
      block.text = stringOf(block.text) + stringOf(delta["text"]);
      onDelta?.(stringOf(delta["text"]));
      break;
    case "input_json_delta":
      block.arguments += stringOf(delta["partial_json"]);
      break;
    case "thinking_delta":
      block.thinking = stringOf(block.thinking) + stringOf(delta["thinking"]);
      break;
    case "signature_delta":
      block.signature = stringOf(block.signature) + stringOf(delta["signature"]);
      break;
  }
}

/** Updates counts with later totals. Keeps earlier counts that are not repeated. */
function tally(usage: Usages, counts: unknown): void {
  for (const [name, count] of Object.entries(fieldsOf(counts))) {
    if (typeof count === "number") usage[name as keyof Usages] = count;
  }
}

function readWhole(answer: Answer, message: Fields, { onDelta }: ModelCall): Reply {
  if (!Array.isArray(message["content"])) throw answer.garbled("a message without content");
  const blocks: readonly Block[] = listOf(message["content"]).map((block) => ({ ...block, arguments: "" }));
  for (const block of blocks) if (block["type"] === "text") onDelta?.(stringOf(block["text"]));
  return replyOf(blocks, stringOf(message["stop_reason"]), fieldsOf(message["usage"]));
}

function replyOf(blocks: readonly Block[], stop: string, usage: Usages): Reply {
  return { parts: blocks.flatMap(partsOf), stop: stopOf(stop), usage: usageOf(usage) };
}

function partsOf(block: Block): Part[] {
  switch (block["type"]) {
    case "text":
      return block.text === "" ? [] : [{ type: "text", text: stringOf(block.text) }];
    case "tool_use": {
      const text = block.arguments || JSON.stringify(block["input"] ?? {});
      return [callPart(stringOf(block["id"]), stringOf(block["name"]), text)];
    }
    case "thinking": {
      // The API rejects thinking without its signature.
      const { thinking, signature } = block;
      return signature
        ? [opaque({ type: "thinking", thinking: stringOf(thinking), signature: stringOf(signature) })]
        : [];
    }
    case "redacted_thinking":
      return [opaque({ type: "redacted_thinking", data: stringOf(block["data"]) })];
    default:
      return [];
  }
}

function opaque(value: Json): Part {
  return { type: "opaque", provider: "anthropic", value };
}

function stopOf(reason: string): Reply["stop"] {
  if (reason === "refusal") return "refusal";
  return reason === "max_tokens" || reason === "model_context_window_exceeded" ? "length" : "end";
}

function usageOf(usage: Usages): Usage | null {
  if (usage.input_tokens === undefined && usage.output_tokens === undefined) return null;
  const cachedTokens = countOf(usage.cache_read_input_tokens);
  const written = usage.cache_creation_input_tokens;
  return {
    inputTokens: countOf(usage.input_tokens) + cachedTokens + countOf(written),
    cachedTokens,
    ...writtenToCache(written),
    outputTokens: countOf(usage.output_tokens),
  };
}
