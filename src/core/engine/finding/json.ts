import * as z from "zod";
import type { Fitting } from "../../base/values.ts";
import { lazyObject, optional } from "../../skill/field.ts";

const quoteSchema = lazyObject(() => ({
  ref: z.string().describe("Reference of the result that contains the quote, or input"),
  tool: optional(z.string(), "Tool that returned the result. Absent for the run's input."),
  quote: z.string(),
  time: optional(z.string(), "Time of the quoted record, as it is written there"),
  url: optional(z.string(), "Address of the record, or else of the result"),
}));

/** Structured form of a finding: `finding.json` in templates. */
export const findingSchema = lazyObject(() => ({
  headline: optional(z.string(), "Headline in one line"),
  verdict: z.string().optional(),
  severity: z.string().optional(),
  impact: z.string().optional(),
  cause: optional(
    z.object({
      text: z.string(),
      file: z.string().optional(),
      line: z.string().optional(),
      commit: z.string().optional(),
      shown: z.boolean().describe("False if evidence was checked and does not show the cause"),
    }),
    "Cause, with its place in the code if known",
  ),
  first_step: optional(z.string(), "First step to take"),
  claims: z
    .array(
      z.object({
        claim: z.string(),
        status: z
          .enum(["found", "partial", "unbound"])
          .describe("partial: some quotes were not found. unbound: facts of the claim are not in the quoted records."),
        quotes: z.array(quoteSchema()),
        missing: optional(z.array(z.string()), "Facts of the claim that no quoted record contains"),
      }),
    )
    .describe("Claims of which quotes were found in the results"),
  ruled_out: z
    .array(z.object({ text: z.string(), why: z.string().optional() }))
    .describe("Candidates that were ruled out"),
  missing: optional(
    z.record(z.string(), z.array(z.string())),
    "Facts that neither a quoted record nor the input contains, by the field above whose text has them, or else by path",
  ),
  missing_evidence: z.array(z.string()).describe("What could not be checked"),
  counts: z.object({
    claims: z.int().describe("Claims that were checked in the run's final answers"),
    kept: z.int().describe("Claims of which quotes were found, and that no later node refuted"),
    partial: z.int(),
    unbound: z.int(),
  }),
}));

export type FindingJson = Fitting<typeof findingSchema>;
