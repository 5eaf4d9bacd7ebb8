import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";
import { json } from "../../skill/field.ts";

export const usageSchema = lazy(() =>
  z.object({
    inputTokens: z.int().describe("All input tokens, including cached ones"),
    cachedTokens: z.int(),
    outputTokens: z.int(),
    costUsd: z.number().nullable().describe("Cost in US dollars. null if a price or the token count is unknown."),
  }),
);
export type CallUsage = Fitting<typeof usageSchema>;

export const purpose = lazy(() => z.enum(["work", "route", "judge", "reflect"]));

export const part = lazy(() =>
  z.union([
    z.object({ type: z.literal("text"), text: z.string() }),
    z.object({ type: z.literal("call"), id: z.string(), tool: z.string(), input: json() }),
    z.object({ type: z.literal("broken_call"), id: z.string(), tool: z.string(), text: z.string() }),
    z.object({ type: z.literal("opaque"), provider: z.string(), value: json() }),
  ]),
);

export const stop = lazy(() => z.enum(["end", "length", "refusal"]));

/** Schema of a model's reply. */
export const replySchema = lazy(() =>
  z.object({
    parts: z.array(part()),
    stop: stop(),
    usage: usageSchema().omit({ costUsd: true }).nullable().default(null),
  }),
);

/** Purpose of a model call. Only `work` offers tools. */
export type Purpose = "work" | "route" | "judge" | "reflect";
