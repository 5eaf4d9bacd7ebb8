import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";
import { flag, text } from "../../skill/field.ts";

export const sourceSchema = lazy(() =>
  z
    .union([
      text(),
      z.strictObject({ inline: text().describe("the text itself, also where it looks like a path") }),
      z.strictObject({ file: text().describe("a file, from the document's folder, inside the project") }),
      z.strictObject({
        url: text().describe("an address that is fetched once, when the run begins"),
        type: z.literal("fetch").optional().describe("the same, said"),
      }),
    ])
    .describe("text, or a ./path, an https:// address, {inline}, {file} or {url}"),
);
export type Source = Fitting<typeof sourceSchema>;

export const sources = lazy(() => z.array(sourceSchema()));

export const nodeSources = lazy(() =>
  z.union([
    sources(),
    z.strictObject({
      only: flag().optional().describe("true: those of the workflow are left out here"),
      sources: sources().describe("in their order"),
    }),
  ]),
);
export type NodeSources = Fitting<typeof nodeSources>;
