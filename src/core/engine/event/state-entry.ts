import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";
import { json } from "../../skill/field.ts";

/** A state entry: data stored under a key across runs. One line of a state's file. */
export const stateEntrySchema = lazy(() =>
  z.object({
    key: z.string(),
    first_seen: z.string().describe("ISO 8601"),
    last_seen: z.string().describe("when it was last put, or met by a map"),
    runs: z.int().describe("how many runs put it"),
    seen: z.int().describe("how often it was put, or met by a map"),
    data: json(),
    tainted: z.literal(true).optional().describe("written by a run that had read text from strangers"),
  }),
);
export type StateEntry = Fitting<typeof stateEntrySchema>;
