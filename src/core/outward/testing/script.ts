import * as z from "zod";
import type { Fitting } from "../../base/values.ts";
import { json, lazyStrictObject, optional } from "../../skill/field.ts";

/** Scripts: handwritten replies of a model. */

const scriptedReply = lazyStrictObject(() => ({
  node: optional(z.string(), "Use only at this node"),
  item: optional(z.string(), "Use only for the map item with this key"),
  text: optional(z.string(), "Text answer, or text next to the calls"),
  calls: optional(
    z.array(
      z.strictObject({
        tool: z.string().describe("Tool name as the model sees it"),
        input: json().default({}).describe("Arguments (default: an empty map)"),
      }),
    ),
    "Tools to call",
  ),
  data: optional(json(), "Structured answer"),
  choice: optional(z.string(), "Answer to a routing question"),
  verdict: optional(z.string(), "Answer as a judge"),
  reasoning: optional(z.string(), "Reasoning for verdict or choice"),
  reflection: optional(z.string(), "Answer to a diagnosis"),
}));

/** Replies in order. Each is used once, for the first model call that it matches. */
export const scriptSchema = lazyStrictObject(() => ({
  replies: z
    .array(scriptedReply())
    .describe("Replies in order. Each is used once, for the first model call that it matches."),
}));
export type Script = Fitting<typeof scriptSchema>;
export type ScriptedReply = z.input<ReturnType<typeof scriptedReply>>;
