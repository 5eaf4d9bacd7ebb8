import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";
import { json, optional } from "../../skill/field.ts";

export const resolvedSourceSchema = lazy(() =>
  z.object({
    content: z.string(),
    kind: z.enum(["inline", "file", "url"]),
    origin: json(),
    resolver: z.enum(["inline", "file", "fetch"]),
    hash: z.string().describe("First 16 hexadecimal digits of the content's sha256"),
    fetchedAt: optional(z.string(), "Only for url"),
    sourcePath: optional(z.string(), "Absolute path, only for file"),
  }),
);
export type ResolvedSource = Fitting<typeof resolvedSourceSchema>;
