import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";
import { json, optional } from "../../skill/field.ts";

/** A state entry: data stored under a key across runs. One line of a state's file. */
export const stateEntrySchema = lazy(() =>
  z.object({
    key: z.string(),
    first_seen: z.string().describe("ISO 8601"),
    last_seen: z.string().describe("Time of the last write, or of the last match by a map (ISO 8601)"),
    runs: z.int().describe("Number of runs that wrote the entry"),
    seen: z.int().describe("Number of times that the entry was written, or matched by a map"),
    data: json(),
    tainted: optional(z.literal(true), "The run that wrote the entry had read text from strangers"),
  }),
);
export type StateEntry = Fitting<typeof stateEntrySchema>;
