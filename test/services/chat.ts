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

/** A server of the Chat Completions API, with the strictness of local chat templates. The base URL ends in `/v1`. */
export function startChat(script: Script<ChatRequest>): Promise<ModelService<ChatRequest>> {
  return startService(createWire(), "/v1", script);
}

const name = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);

const message = z.discriminatedUnion("role", [
  z.strictObject({ role: z.literal("system"), content: z.string().min(1) }),
  z.strictObject({ role: z.literal("user"), content: z.string().min(1) }),
  z.strictObject({
    role: z.literal("assistant"),
    content: z.string().nullable(),
    tool_calls: z
      .array(
        z.strictObject({
          id: z.string().min(1),
          type: z.literal("function"),
          function: z.strictObject({ name, arguments: z.string() }),
        }),
      )
      .min(1)
      .optional(),
    reasoning_content: z.string().optional(),
    reasoning_details: z.array(z.record(z.string(), z.unknown())).optional(),
  }),
  z.strictObject({ role: z.literal("tool"), tool_call_id: z.string().min(1), content: z.string() }),
]);

const request = z.strictObject({
  model: z.string().min(1),
  messages: z.array(message).min(1),
  stream: z.boolean().optional(),
  stream_options: z.strictObject({ include_usage: z.boolean() }).optional(),
  tools: z
    .array(
      z.strictObject({
        type: z.literal("function"),
        function: z.strictObject({ name, description: z.string(), parameters: z.record(z.string(), z.unknown()) }),
      }),
    )
    .min(1)
    .optional(),
  response_format: z
    .strictObject({
      type: z.literal("json_schema"),
      json_schema: z.strictObject({ name, schema: z.record(z.string(), z.unknown()), strict: z.boolean() }),
    })
    .optional(),
});

export type ChatRequest = z.infer<typeof request>;

function createWire(): Wire<ChatRequest> {
  const sealed = new Set<string>();
  const remember = (answer: Scripted) => answer.thought && sealed.add(seal(answer.thought));
  return {
    path: "/chat/completions",
    check: (body) => {
      const parsed = request.safeParse(body);
      if (!parsed.success) return { refusal: z.prettifyError(parsed.error) };
      const refusal = parsed.data.messages.map((_, at) => refusalAt(parsed.data.messages, at, sealed)).find(Boolean);
      return refusal === undefined ? { body: parsed.data } : { refusal };
    },
    faults: FAULTS,
    refuse: (message) => fault(400, "invalid_request_error", message),
    hasKey: ({ headers }) => headers.authorization === undefined || /^Bearer \S/.test(headers.authorization),
    whole: (body, answer) => {
      remember(answer);
      return wholeOf(body, answer);
    },
    stream: (body, answer) => {
      remember(answer);
      return streamOf(body, answer);
    },
    midway: ({ body }) => sse(body),
  };
}

function refusalAt(messages: ChatRequest["messages"], index: number, sealed: ReadonlySet<string>): string | undefined {
  const current = messages[index];
  const before = messages[index - 1];
  if (current?.role === "system") return index === 0 ? undefined : "a system message must be the first";
  const isFirst = index === 0 || before?.role === "system";
  if (isFirst && current?.role !== "user") return "the first message must come from the user";
  if (current?.role === "user" && before?.role === "user") return "Conversation roles must alternate";
  if (current?.role === "tool") {
    const asker = messages.slice(0, index).findLast((one) => one.role !== "tool");
    const asked = asker?.role === "assistant" ? (asker.tool_calls ?? []) : [];
    if (!asked.some((call) => call.id === current.tool_call_id)) return "'tool' must answer a preceding 'tool_calls'";
  }
  if (current?.role !== "assistant") return undefined;
  if (!current.content && !current.tool_calls) return "an assistant message needs content or tool_calls";
  const answers = messages.slice(index + 1).findIndex((one) => one.role !== "tool");
  const results = messages.slice(index + 1, answers < 0 ? undefined : index + 1 + answers);
  const open = current.tool_calls?.find(
    (call) => !results.some((one) => one.role === "tool" && one.tool_call_id === call.id),
  );
  if (open) return `tool_call_ids did not have response messages: ${open.id}`;
  const forged = current.reasoning_details?.some((detail) => !sealed.has(String(detail["data"])));
  return forged ? "reasoning_details could not be verified" : undefined;
}

function fault(status: number, type: string, message: string, code: string | number | null = null): Fault {
  return { status, body: { error: { message, type, param: null, code } } };
}

const FAULTS: Readonly<Record<FaultName, Fault>> = {
  key: { status: 401, body: { detail: "Invalid API key" } },
  forbidden: { status: 403, body: { detail: "Not allowed here" } },
  model: { status: 404, body: { error: 'model "no-such-model" not found, try pulling it first' } },
  quota: fault(402, "payment_required", "This request needs more credits", 402),
  rate: fault(429, "rate_limit_error", "Too many requests", 429),
  overloaded: fault(503, "overloaded", "Loading model", 503),
  server: { status: 500, body: { detail: "Internal Server Error" } },
  invalid: { status: 422, body: { detail: [{ loc: ["body"], msg: "field required" }] } },
  too_large: fault(413, "invalid_request_error", "the request exceeds the available context size"),
  no_images: fault(400, "invalid_request_error", "this model does not see images"),
  no_shape: fault(400, "invalid_request_error", "response_format of type json_schema is not supported"),
  no_reasoning: fault(400, "invalid_request_error", "reasoning is not supported"),
  no_usage: fault(400, "invalid_request_error", "Extra inputs are not permitted: stream_options"),
  no_system: fault(400, "invalid_request_error", "System role not supported"),
};

function seal(thought: string): string {
  return `sealed(${Buffer.from(thought).toString("base64")})`;
}

function reasoningOf({ thought }: Scripted) {
  if (thought === undefined) return {};
  return { reasoning_content: thought, reasoning_details: [{ type: "reasoning.encrypted", data: seal(thought) }] };
}

function callsOf({ calls = [] }: Scripted) {
  return calls.map((call, index) => ({
    index,
    id: call.id ?? `call_${index}`,
    type: "function",
    function: { name: call.tool, arguments: argumentsOf(call) },
  }));
}

function finishOf({ stop = "end", calls = [] }: Scripted): string {
  if (stop === "length") return "length";
  if (stop === "refusal") return "content_filter";
  return calls.length > 0 ? "tool_calls" : "stop";
}

function countsOf(answer: Scripted) {
  const usage = usageOf(answer);
  if (!usage) return {};
  return {
    usage: {
      prompt_tokens: usage.input,
      completion_tokens: usage.output,
      total_tokens: usage.input + usage.output,
      prompt_tokens_details: { cached_tokens: usage.cached },
    },
  };
}

function wholeOf({ model }: ChatRequest, answer: Scripted) {
  const calls = callsOf(answer).map(({ index: _, ...call }) => call);
  const message = {
    role: "assistant",
    content: answer.text ?? null,
    ...reasoningOf(answer),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
  const choices = [{ index: 0, message, finish_reason: finishOf(answer) }];
  return { id: "chat_1", object: "chat.completion", created: 1, model, choices, ...countsOf(answer) };
}

function streamOf({ model, stream_options }: ChatRequest, answer: Scripted) {
  const chunk = (choices: unknown, rest: object = {}) =>
    sse({ id: "chat_1", object: "chat.completion.chunk", created: 1, model, choices, ...rest });
  const delta = (value: unknown, finish_reason: string | null = null) =>
    chunk([{ index: 0, delta: value, finish_reason }]);
  const [first = "", ...texts] = pieces(answer.text ?? "");
  return {
    head: [delta({ role: "assistant", content: first, ...reasoningOf(answer) })],
    tail: [
      ...texts.map((content) => delta({ content })),
      ...callsOf(answer)
        .flatMap(callDeltas)
        .map((call) => delta({ tool_calls: [call] })),
      delta({}, finishOf(answer)),
      ...(stream_options?.include_usage ? [chunk([], countsOf(answer))] : []),
      "data: [DONE]",
    ],
  };
}

function callDeltas(call: ReturnType<typeof callsOf>[number]): readonly unknown[] {
  const { index } = call;
  const named = { ...call, function: { name: call.function.name, arguments: "" } };
  return [named, ...pieces(call.function.arguments).map((piece) => ({ index, function: { arguments: piece } }))];
}

function sse(data: unknown): string {
  return `data: ${JSON.stringify(data)}`;
}
