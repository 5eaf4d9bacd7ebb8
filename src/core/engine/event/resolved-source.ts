import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";
import { json } from "../../skill/field.ts";

export const resolvedSourceSchema = lazy(() =>
  z.object({
    content: z.string(),
    kind: z.enum(["inline", "file", "url"]),
    origin: json(),
    resolver: z.enum(["inline", "file", "fetch"]),
    hash: z.string().describe("sha256 of the content, first 16 hexadecimal digits"),
    fetchedAt: z.string().optional().describe("url only"),
    sourcePath: z.string().optional().describe("file only, absolute"),
  }),
);
export type ResolvedSource = Fitting<typeof resolvedSourceSchema>;
