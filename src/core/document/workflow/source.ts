import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";
import { flag, optional, text } from "../../skill/field.ts";

export const sourceSchema = lazy(() =>
  z
    .union([
      text(),
      z.strictObject({ inline: text().describe("Literal text, even if it looks like a path") }),
      z.strictObject({ file: text().describe("File path, relative to the document's folder, inside the project") }),
      z.strictObject({
        url: text().describe("URL, fetched once when the run starts"),
        type: optional(z.literal("fetch"), "Optional, same as without it"),
      }),
    ])
    .describe("Text, a ./path, an https:// URL, {inline}, {file} or {url}"),
);
export type Source = Fitting<typeof sourceSchema>;

export const sources = lazy(() => z.array(sourceSchema()));

export const nodeSources = lazy(() =>
  z.union([
    sources(),
    z.strictObject({
      only: optional(flag(), "true: exclude the workflow's sources at this node"),
      sources: sources().describe("Sources in order"),
    }),
  ]),
);
export type NodeSources = Fitting<typeof nodeSources>;
