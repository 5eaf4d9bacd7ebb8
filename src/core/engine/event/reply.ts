import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";
import { json, lazyObject } from "../../skill/field.ts";

export const usageSchema = lazyObject(() => ({
  inputTokens: z.int().describe("All input tokens, including cached ones"),
  cachedTokens: z.int(),
  outputTokens: z.int(),
  costUsd: z.number().nullable().describe("Cost in US dollars. null if a price or the token count is unknown."),
}));
export type CallUsage = Fitting<typeof usageSchema>;

const purpose = lazy(() => z.enum(["work", "route", "judge", "reflect"]));
/** Purpose of a model call. Only `work` offers tools. */
export type Purpose = Fitting<typeof purpose>;

export const part = lazy(() =>
  z.union([
    z.object({ type: z.literal("text"), text: z.string() }),
    z.object({ type: z.literal("call"), id: z.string(), tool: z.string(), input: json() }),
    z.object({ type: z.literal("broken_call"), id: z.string(), tool: z.string(), text: z.string() }),
    z.object({ type: z.literal("opaque"), provider: z.string(), value: json() }),
  ]),
);

const stop = lazy(() => z.enum(["end", "length", "refusal"]));

export const modelEvents = lazy(() => ({
  "model:reply": {
    node: z.string(),
    purpose: purpose(),
    model: z.string(),
    parts: z.array(part()),
    stop: stop(),
    usage: usageSchema().nullable(),
    prompt: z.string().describe("First 16 hexadecimal digits of the prompt's sha256"),
  },
  "model:error": {
    node: z.string(),
    purpose: purpose(),
    model: z.string(),
    code: z.string(),
    message: z.string(),
    hint: z.string().optional(),
  },
  "model:switch": {
    node: z.string(),
    visit: z.string().describe("Step key of the visit, such as 3:assess. The switch holds until the visit ends."),
    from: z.string().describe("Model that could not answer"),
    to: z.string().describe("Next model of the list"),
    reason: z.string().describe("Why the model could not answer"),
    code: z.string().describe("Error code of the failed call"),
    purpose: purpose(),
  },
}));

export const replySchema = lazyObject(() => ({
  parts: z.array(part()),
  stop: stop(),
  usage: usageSchema().omit({ costUsd: true }).nullable().default(null),
}));
