import * as z from "zod";
import {
  argumentsOf,
  type Fault,
  type FaultName,
  type ModelService,
  pieces,
  type Script,
  type Scripted,
  startService,
  usageOf,
  type Wire,
} from "./script.ts";

/** Anthropic's Messages API, as published, limited to what a workflow uses. The base URL has no `/v1`. */
export function startAnthropic(script: Script<AnthropicRequest>): Promise<ModelService<AnthropicRequest>> {
  return startService(createWire(), "", script);
}

const cache_control = z.strictObject({ type: z.literal("ephemeral") }).optional();
const text = z.strictObject({ type: z.literal("text"), text: z.string().regex(/\S/), cache_control });
const id = z.string().regex(/^[a-zA-Z0-9_-]+$/);
const toolName = z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/);

const image = z.strictObject({
  type: z.literal("image"),
  source: z.strictObject({
    type: z.literal("base64"),
    media_type: z.enum(["image/jpeg", "image/png", "image/gif", "image/webp"]),
    data: z.base64().min(1).max(5_000_000),
  }),
});

const userBlock = z.discriminatedUnion("type", [
  text,
  image,
  z.strictObject({
    type: z.literal("tool_result"),
    tool_use_id: id,
    content: z.union([z.string(), z.array(z.discriminatedUnion("type", [text, image])).min(1)]),
    is_error: z.boolean().optional(),
    cache_control,
  }),
]);

const assistantBlock = z.discriminatedUnion("type", [
  text,
  z.strictObject({
    type: z.literal("tool_use"),
    id,
    name: toolName,
    input: z.record(z.string(), z.unknown()),
    cache_control,
  }),
  z.strictObject({ type: z.literal("thinking"), thinking: z.string(), signature: z.string().min(1) }),
  z.strictObject({ type: z.literal("redacted_thinking"), data: z.string().min(1) }),
]);

const message = z.discriminatedUnion("role", [
  z.strictObject({ role: z.literal("user"), content: z.union([z.string().regex(/\S/), z.array(userBlock).min(1)]) }),
  z.strictObject({ role: z.literal("assistant"), content: z.array(assistantBlock).min(1) }),
]);

const request = z.strictObject({
  model: z.string().min(1),
  max_tokens: z.int().min(1),
  stream: z.boolean().optional(),
  system: z.union([z.string().regex(/\S/), z.array(text).min(1)]).optional(),
  messages: z.array(message).min(1),
  tools: z
    .array(
      z.strictObject({
        name: toolName,
        description: z.string(),
        input_schema: z.looseObject({ type: z.literal("object") }),
        cache_control,
      }),
    )
    .min(1)
    .optional(),
  output_config: z
    .strictObject({
      format: z.strictObject({ type: z.literal("json_schema"), schema: z.record(z.string(), z.unknown()) }),
    })
    .optional(),
});

export type AnthropicRequest = z.infer<typeof request>;

function createWire(): Wire<AnthropicRequest> {
  const signatures = new Set<string>();
  return {
    path: "/v1/messages",
    check: (body) => {
      const parsed = request.safeParse(body);
      if (!parsed.success) return { refusal: z.prettifyError(parsed.error) };
      const refusal = refusalOf(parsed.data, signatures);
      return refusal === undefined ? { body: parsed.data } : { refusal };
    },
    faults: FAULTS,
    refuse: (message) => fault(400, "invalid_request_error", message),
    hasKey: ({ headers }) =>
      headers["anthropic-version"] !== undefined && (headers["x-api-key"] ?? headers.authorization) !== undefined,
    whole: (body, answer) => {
      if (answer.thought) signatures.add(signatureOf(answer.thought));
      return { ...messageOf(body, answer), content: contentOf(answer), stop_reason: stopOf(answer) };
    },
    stream: (body, answer) => {
      if (answer.thought) signatures.add(signatureOf(answer.thought));
      return streamOf(body, answer);
    },
    midway: ({ body }) => sse("error", body),
  };
}

function refusalOf({ system, messages, tools, output_config }: AnthropicRequest, signatures: ReadonlySet<string>) {
  const marks = JSON.stringify({ system, messages, tools }).split('"cache_control"').length - 1;
  if (marks > 4) return `A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`;
  if (output_config && !isClosed(output_config.format.schema)) {
    return "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false";
  }
  return messages.map((_, index) => refusalAt(messages, index, signatures)).find((refusal) => refusal !== undefined);
}

function refusalAt(messages: AnthropicRequest["messages"], index: number, signatures: ReadonlySet<string>) {
  const at = `messages.${index}`;
  const current = messages[index];
  if (current?.role !== (index % 2 === 0 ? "user" : "assistant")) return `${at}: roles must alternate`;
  const asked = blocksOf(messages[index - 1]).flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
  const answered = blocksOf(current).flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : []));
  const missing = asked.filter((one) => !answered.includes(one));
  if (missing.length > 0) return `${at}: \`tool_use\` ids were found without \`tool_result\` blocks: ${missing}`;
  const stray = answered.filter((one) => !asked.includes(one));
  if (stray.length > 0) return `${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray}`;
  const types = blocksOf(current).map((block) => block.type);
  if (types.lastIndexOf("tool_result") !== answered.length - 1) return `${at}: tool_result blocks must come first`;
  const forged = blocksOf(current).find((block) => block.type === "thinking" && !signatures.has(block.signature));
  return forged && `${at}: Invalid \`signature\` in \`thinking\` block`;
}

function blocksOf(message: AnthropicRequest["messages"][number] | undefined) {
  return typeof message?.content === "object" ? message.content : [];
}

const UNSUPPORTED = ["minLength", "maxLength", "minimum", "maximum", "pattern", "oneOf", "definitions", "maxItems"];

function isClosed(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isClosed);
  if (typeof schema !== "object" || schema === null) return true;
  const fields = schema as { readonly [key: string]: unknown };
  if (fields["type"] === "object" && fields["additionalProperties"] !== false) return false;
  return !UNSUPPORTED.some((key) => key in fields) && Object.values(fields).every(isClosed);
}

function fault(status: number, type: string, message: string): Fault {
  return { status, body: { type: "error", error: { type, message, details: null }, request_id: "req_1" } };
}

const FAULTS: Readonly<Record<FaultName, Fault>> = {
  key: fault(401, "authentication_error", "invalid x-api-key"),
  forbidden: fault(403, "permission_error", "Your API key does not have permission to use the specified resource."),
  model: fault(404, "not_found_error", "model: no-such-model"),
  quota: fault(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
  rate: fault(429, "rate_limit_error", "This request would exceed your organization's rate limit."),
  overloaded: fault(529, "overloaded_error", "Overloaded"),
  server: fault(500, "api_error", "Internal server error"),
  invalid: fault(400, "invalid_request_error", "messages.0: something is wrong with it"),
  too_large: fault(413, "request_too_large", "Request exceeds the maximum size"),
  no_images: fault(400, "invalid_request_error", "messages.2.content.0: this model takes no image blocks"),
  no_shape: fault(400, "invalid_request_error", "output_config.format: not supported by this model"),
  no_reasoning: fault(400, "invalid_request_error", "thinking: not supported by this model"),
  no_usage: fault(400, "invalid_request_error", "stream: not supported by this model"),
  no_system: fault(400, "invalid_request_error", "system: not supported by this model"),
};

function messageOf({ model }: AnthropicRequest, answer: Scripted) {
  const usage = usageOf(answer);
  const counts = usage && {
    input_tokens: usage.input - usage.cached,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: usage.cached,
    output_tokens: usage.output,
  };
  return {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model,
    content: [] as unknown[],
    stop_reason: null as string | null,
    stop_sequence: null,
    ...(counts ? { usage: counts } : {}),
  };
}

function signatureOf(thought: string): string {
  return `sealed(${Buffer.from(thought).toString("base64")})`;
}

function contentOf({ thought, text = "", calls = [] }: Scripted): Readonly<Record<string, unknown>>[] {
  return [
    ...(thought === undefined ? [] : [{ type: "thinking", thinking: thought, signature: signatureOf(thought) }]),
    ...(text === "" ? [] : [{ type: "text", text, citations: null }]),
    ...calls.map((call, index) => ({
      type: "tool_use",
      id: call.id ?? `toolu_${index}`,
      name: call.tool,
      input: call.input ?? {},
    })),
  ];
}

function stopOf({ stop = "end", calls = [] }: Scripted): string {
  if (stop === "length") return "max_tokens";
  if (stop === "refusal") return "refusal";
  return calls.length > 0 ? "tool_use" : "end_turn";
}

function streamOf(body: AnthropicRequest, answer: Scripted) {
  const start = messageOf(body, answer);
  const usage = start.usage && { output_tokens: start.usage.output_tokens };
  const blocks = contentOf(answer).flatMap((block, index) => blockEvents(block, index, answer));
  const begun = 1 + blocks.findIndex((event) => event.includes("text_delta"));
  const first = [
    sse("message_start", { type: "message_start", message: { ...start, stop_reason: null } }),
    sse("ping", { type: "ping" }),
  ];
  return {
    head: [...first, ...blocks.slice(0, begun)],
    tail: [
      ...blocks.slice(begun),
      sse("message_delta", {
        type: "message_delta",
        delta: { stop_reason: stopOf(answer), stop_sequence: null },
        usage,
      }),
      sse("message_stop", { type: "message_stop" }),
    ],
  };
}

function blockEvents(block: Readonly<Record<string, unknown>>, index: number, answer: Scripted): readonly string[] {
  const delta = (value: unknown) => sse("content_block_delta", { type: "content_block_delta", index, delta: value });
  const wrap = (content_block: unknown, deltas: readonly string[]) => [
    sse("content_block_start", { type: "content_block_start", index, content_block }),
    ...deltas,
    sse("content_block_stop", { type: "content_block_stop", index }),
  ];
  if (block["type"] === "text") {
    const deltas = pieces(String(block["text"])).map((piece) => delta({ type: "text_delta", text: piece }));
    return wrap({ ...block, text: "" }, deltas);
  }
  if (block["type"] === "thinking") {
    const thoughts = pieces(String(block["thinking"])).map((piece) =>
      delta({ type: "thinking_delta", thinking: piece }),
    );
    const sealed = delta({ type: "signature_delta", signature: block["signature"] });
    return wrap({ ...block, thinking: "", signature: "" }, [...thoughts, sealed]);
  }
  const call = answer.calls?.find((one, at) => (one.id ?? `toolu_${at}`) === block["id"]);
  const parts = pieces(call ? argumentsOf(call) : "").map((piece) =>
    delta({ type: "input_json_delta", partial_json: piece }),
  );
  return wrap({ ...block, input: {} }, parts);
}

function sse(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}`;
}
