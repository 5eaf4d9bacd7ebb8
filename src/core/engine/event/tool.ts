import * as z from "zod";
import { lazy } from "../../base/values.ts";
import { jsonObject, optional, toolFacts, toolReach } from "../../skill/field.ts";
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
    ...toolFacts(),
    live: optional(z.boolean(), "Repeated calls are executed again"),
    contained: optional(z.boolean(), "Changes only the run's own copy of something"),
    host: optional(z.string(), "Host of the service that the tool writes to"),
    dialect: z.enum(INPUT_DIALECTS).optional(),
    settled: optional(z.array(z.string()), "Parameters that config sets. The model does not see them."),
  }),
);
