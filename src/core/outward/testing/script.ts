import * as z from "zod";
import type { Json } from "../../base/values.ts";
import { type Fitting, lazy } from "../../base/values.ts";

/** Scripts: handwritten replies of a model. */

const json = lazy((): z.ZodType<Json> => z.json());

const scriptedReply = lazy(() =>
  z.strictObject({
    node: z.string().optional().describe("only at this node"),
    item: z.string().optional().describe("only in a map's run of the item with this key"),
    text: z.string().optional().describe("an answer in words, or what is said beside calls"),
    calls: z
      .array(
        z.strictObject({
          tool: z.string().describe("by the name that the model sees"),
          input: json().default({}).describe("default: an empty map"),
        }),
      )
      .optional()
      .describe("the tools that it asks for"),
    data: json().optional().describe("a structured answer"),
    choice: z.string().optional().describe("answers a routing question"),
    verdict: z.string().optional().describe("answers a judge"),
    reasoning: z.string().optional().describe("with verdict or choice"),
    reflection: z.string().optional().describe("answers a diagnosis"),
  }),
);

/** Replies in order. Each is used once, for the first model call that it matches. */
export const scriptSchema = lazy(() =>
  z.strictObject({
    replies: z.array(scriptedReply()).describe("in order; each is used once, by the first call that it fits"),
  }),
);
export type Script = Fitting<typeof scriptSchema>;
export type ScriptedReply = z.input<ReturnType<typeof scriptedReply>>;
