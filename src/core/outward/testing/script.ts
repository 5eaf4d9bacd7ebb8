import * as z from "zod";
import type { Json } from "../../base/values.ts";
import { type Fitting, lazy } from "../../base/values.ts";

/** Scripts: handwritten replies of a model. */

const json = lazy((): z.ZodType<Json> => z.json());

const scriptedReply = lazy(() =>
  z.strictObject({
    node: z.string().optional().describe("Use only at this node"),
    item: z.string().optional().describe("Use only for the map item with this key"),
    text: z.string().optional().describe("Text answer, or text next to the calls"),
    calls: z
      .array(
        z.strictObject({
          tool: z.string().describe("Tool name as the model sees it"),
          input: json().default({}).describe("Arguments (default: an empty map)"),
        }),
      )
      .optional()
      .describe("Tools to call"),
    data: json().optional().describe("Structured answer"),
    choice: z.string().optional().describe("Answer to a routing question"),
    verdict: z.string().optional().describe("Answer as a judge"),
    reasoning: z.string().optional().describe("Reasoning for verdict or choice"),
    reflection: z.string().optional().describe("Answer to a diagnosis"),
  }),
);

/** Replies in order. Each is used once, for the first model call that it matches. */
export const scriptSchema = lazy(() =>
  z.strictObject({
    replies: z
      .array(scriptedReply())
      .describe("Replies in order. Each is used once, for the first model call that it matches."),
  }),
);
export type Script = Fitting<typeof scriptSchema>;
export type ScriptedReply = z.input<ReturnType<typeof scriptedReply>>;
