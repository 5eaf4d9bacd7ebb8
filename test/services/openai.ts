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

/** OpenAI's Responses API, as published, limited to what a workflow uses. The base URL ends in `/v1`. */
export function startOpenai(script: Script<OpenaiRequest>): Promise<ModelService<OpenaiRequest>> {
  return startService(createWire(), "/v1", script);
}

const name = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);

const content = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("input_text"), text: z.string() }),
  z.strictObject({
    type: z.literal("input_image"),
    image_url: z.string().regex(/^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*$/),
    detail: z.enum(["low", "high", "auto"]).optional(),
  }),
]);

const messageItem = z.strictObject({
  type: z.literal("message").optional(),
  role: z.enum(["user", "assistant"]),
  content: z.union([z.string(), z.array(content).min(1)]),
});

const callItem = z.strictObject({
  type: z.literal("function_call"),
  call_id: z.string().min(1).max(64),
  name,
  arguments: z.string(),
});

const outputItem = z.strictObject({
  type: z.literal("function_call_output"),
  call_id: z.string().min(1).max(64),
  output: z.union([z.string(), z.array(content).min(1)]),
});

const reasoningItem = z.strictObject({
  type: z.literal("reasoning"),
  id: z.string().min(1),
  summary: z.array(z.unknown()),
  encrypted_content: z.string().min(1),
});

const item = z.union([messageItem, callItem, outputItem, reasoningItem]);

const request = z.strictObject({
  model: z.string().min(1),
  instructions: z.string().min(1).optional(),
  input: z.array(item).min(1),
  stream: z.boolean().optional(),
  store: z.boolean().optional(),
  include: z.array(z.literal("reasoning.encrypted_content")).min(1).optional(),
  tools: z
    .array(
      z.strictObject({
        type: z.literal("function"),
        name,
        description: z.string(),
        parameters: z.record(z.string(), z.unknown()),
        strict: z.boolean(),
      }),
    )
    .min(1)
    .optional(),
  text: z
    .strictObject({
      format: z.strictObject({
        type: z.literal("json_schema"),
        name,
        schema: z.looseObject({ type: z.literal("object") }),
        strict: z.boolean(),
      }),
    })
    .optional(),
});

export type OpenaiRequest = z.infer<typeof request>;

function createWire(): Wire<OpenaiRequest> {
  const sealed = new Set<string>();
  const remember = (answer: Scripted) => answer.thought && sealed.add(seal(answer.thought));
  return {
    path: "/responses",
    check: (body) => {
      const parsed = request.safeParse(body);
      if (!parsed.success) return { refusal: z.prettifyError(parsed.error) };
      const refusal = refusalOf(parsed.data, sealed);
      return refusal === undefined ? { body: parsed.data } : { refusal };
    },
    faults: FAULTS,
    refuse: (message) => fault(400, "invalid_request_error", null, message),
    hasKey: ({ headers }) => /^Bearer \S/.test(headers.authorization ?? ""),
    whole: (body, answer) => {
      remember(answer);
      return responseOf(body, answer);
    },
    stream: (body, answer) => {
      remember(answer);
      return streamOf(body, answer);
    },
    midway: ({ body }) => {
      const { code, message } = (body as { readonly error: { readonly code: string; readonly message: string } }).error;
      return sse({ type: "error", sequence_number: 9, code, message, param: null });
    },
  };
}

function refusalOf({ input, text }: OpenaiRequest, sealed: ReadonlySet<string>): string | undefined {
  const asked = new Set<string>();
  const answered = new Set<string>();
  for (const [index, one] of input.entries()) {
    if (!("type" in one) || one.type === undefined) continue;
    if (one.type === "function_call") asked.add(one.call_id);
    if (one.type === "function_call_output") {
      if (!asked.has(one.call_id)) return `No tool call found for function call output with call_id ${one.call_id}.`;
      answered.add(one.call_id);
    }
    if (one.type === "reasoning") {
      if (!sealed.has(one.encrypted_content)) return `input[${index}]: the encrypted content could not be verified.`;
      const next = input[index + 1];
      const follows = next && (next.type === "function_call" || ("role" in next && next.role === "assistant"));
      if (!follows) return `Item '${one.id}' of type 'reasoning' was provided without its required following item.`;
    }
  }
  const open = [...asked].find((call) => !answered.has(call));
  if (open !== undefined) return `No tool output found for function call ${open}.`;
  if (text?.format.strict && !isStrict(text.format.schema)) return "Invalid schema for response_format 'output'";
  return undefined;
}

function isStrict(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isStrict);
  if (typeof schema !== "object" || schema === null) return true;
  const { type, properties, required, additionalProperties } = schema as { readonly [key: string]: unknown };
  if (type === "object") {
    const names = Object.keys(properties ?? {});
    if (additionalProperties !== false || names.some((one) => !(required as string[])?.includes(one))) return false;
  }
  return !("minLength" in schema || "oneOf" in schema) && Object.values(schema).every(isStrict);
}

function fault(status: number, type: string, code: string | null, message: string): Fault {
  return { status, body: { error: { message, type, param: null, code } } };
}

const FAULTS: Readonly<Record<FaultName, Fault>> = {
  key: fault(401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided: sk-t***key."),
  forbidden: fault(403, "request_forbidden", "unsupported_country_region_territory", "Country not supported"),
  model: fault(404, "invalid_request_error", "model_not_found", "The model `no-such-model` does not exist"),
  quota: fault(429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota."),
  rate: fault(429, "requests", "rate_limit_exceeded", "Rate limit reached for requests per min."),
  overloaded: fault(503, "server_error", "server_is_overloaded", "The engine is currently overloaded."),
  server: fault(500, "server_error", "server_error", "The server had an error."),
  invalid: fault(400, "invalid_request_error", "unknown_parameter", "Unknown parameter: 'x'."),
  too_large: fault(413, "invalid_request_error", "payload_too_large", "Payload too large"),
  no_images: fault(400, "invalid_request_error", null, "image_url is only supported by certain models."),
  no_shape: fault(
    400,
    "invalid_request_error",
    null,
    "'text.format' of type 'json_schema' is not supported with this model",
  ),
  no_reasoning: fault(400, "invalid_request_error", null, "Encrypted content is not supported with this model."),
  no_usage: fault(400, "invalid_request_error", null, "Unknown parameter: 'stream_options'."),
  no_system: fault(400, "invalid_request_error", null, "Unsupported parameter: 'instructions'."),
};

function seal(thought: string): string {
  return `sealed(${Buffer.from(thought).toString("base64")})`;
}

function outputOf({ include }: OpenaiRequest, answer: Scripted): Readonly<Record<string, unknown>>[] {
  const { thought, text = "", calls = [], stop } = answer;
  const encrypted_content = include && thought !== undefined ? seal(thought) : null;
  const content =
    stop === "refusal"
      ? { type: "refusal", refusal: text }
      : { type: "output_text", text, annotations: [], logprobs: [] };
  return [
    ...(thought === undefined ? [] : [{ type: "reasoning", id: "rs_1", summary: [], encrypted_content }]),
    ...(text === ""
      ? []
      : [{ type: "message", id: "msg_1", status: "completed", role: "assistant", content: [content] }]),
    ...calls.map((call, index) => ({
      type: "function_call",
      id: `fc_${index}`,
      call_id: call.id ?? `call_${index}`,
      name: call.tool,
      arguments: argumentsOf(call),
      status: "completed",
    })),
  ];
}

function responseOf(body: OpenaiRequest, answer: Scripted) {
  const usage = usageOf(answer);
  const long = answer.stop === "length";
  return {
    id: "resp_1",
    object: "response",
    created_at: 1,
    model: body.model,
    status: long ? "incomplete" : "completed",
    error: null,
    incomplete_details: long ? { reason: "max_output_tokens" } : null,
    output: outputOf(body, answer),
    usage: usage && {
      input_tokens: usage.input,
      input_tokens_details: { cached_tokens: usage.cached, cache_write_tokens: 0 },
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: usage.input + usage.output,
    },
  };
}

function streamOf(body: OpenaiRequest, answer: Scripted) {
  const response = responseOf(body, answer);
  const begun = { ...response, status: "in_progress", output: [], usage: null };
  const items = response.output.flatMap((one, output_index) => itemEvents(one, output_index));
  const first = 1 + items.findIndex((event) => event.includes("output_text.delta"));
  return {
    head: [sse({ type: "response.created", response: begun }), ...items.slice(0, first)],
    tail: [...items.slice(first), sse({ type: `response.${response.status}`, response })],
  };
}

function itemEvents(one: Readonly<Record<string, unknown>>, output_index: number): readonly string[] {
  const [content] = (one["content"] ?? []) as { readonly type: string; readonly text?: string }[];
  const texts = pieces(content?.text ?? "").map((delta) =>
    sse({ type: "response.output_text.delta", item_id: one["id"], output_index, content_index: 0, delta }),
  );
  return [
    sse({ type: "response.output_item.added", output_index, item: { ...one, status: "in_progress" } }),
    ...texts,
    sse({ type: "response.output_item.done", output_index, item: one }),
  ];
}

function sse(data: { readonly type: string; readonly [key: string]: unknown }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}`;
}
