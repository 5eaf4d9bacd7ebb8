import * as z from "zod";
import { lazy } from "../../base/values.ts";
import { jsonObject, toolReach } from "../../skill/field.ts";
import { INPUT_DIALECTS } from "../../skill/skill.ts";

export const toolDescriptorSchema = lazy(() =>
  z.object({
    skill: z.string(),
    name: z.string(),
    exposed: z.string(),
    description: z.string(),
    input_schema: jsonObject(),
    output_schema: jsonObject().optional(),
    effect: z.enum(["read", "write"]),
    idempotent: z.boolean(),
    ...toolReach(),
    live: z.boolean().optional().describe("the same call again is carried out again"),
    host: z.string().optional().describe("of the service that it writes to"),
    dialect: z.enum(INPUT_DIALECTS).optional(),
    settled: z.array(z.string()).optional().describe("parameters that config settles: the model is not told of them"),
  }),
);
