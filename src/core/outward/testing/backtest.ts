import * as z from "zod";
import { faultOfPattern } from "../../base/schema/time-bound.ts";
import { type Fitting, type JsonObject, lazy } from "../../base/values.ts";
import { jsonObject, lazyStrictObject, matching, optional, text } from "../../skill/field.ts";

/** Past incidents that a workflow is judged by: one file with a case, or with several. */

const patterns = lazy(() =>
  z.array(
    z
      .string()
      .min(1)
      .refine((text) => faultOfPattern(text, "i") === undefined, "is not a regular expression"),
  ),
);
const input = lazy(() => z.union([jsonObject(), matching(/^@./, 'must be a map or "@file"')]));

export const truthSchema = lazy(() =>
  z
    .strictObject({
      verdict: optional(text(), "True verdict"),
      cause_kind: optional(text(), "True kind of cause"),
      commit: optional(
        matching(/^[0-9a-fA-F]{7,64}$/, "must be a commit id of at least 7 hexadecimal digits"),
        "Commit of the change that caused it",
      ),
      service: optional(text(), "Service that is at fault, compared without case"),
      cause_matches: optional(
        patterns().min(1),
        "Regular expressions, all of which match the true cause, without case",
      ),
      decoys: optional(patterns(), "Regular expressions of causes that are wrong, without case"),
    })
    .refine(
      ({ decoys: _, ...parts }) => Object.values(parts).some((part) => part !== undefined),
      "needs verdict, cause_kind, commit, service or cause_matches",
    ),
);
export type Truth = Fitting<typeof truthSchema>;

function isInside(place: string): boolean {
  return place.split("/").every((segment) => !["", ".", ".."].includes(segment) && !/[\\\0:]/.test(segment));
}

const placed = () => ({
  workflow: optional(text(), "Path of the workflow"),
  as_of: optional(
    z.iso.datetime({ offset: true, error: "must be a time with a zone, such as 2026-03-01T12:00:00Z" }),
    "Time that the run's clock shows",
  ),
  files: optional(
    z.union([text(), z.record(z.string().refine(isInside, "must be a path within the working directory"), text())]),
    "Folder of which a read-only copy becomes the run's working directory, or a map of paths in it to files and folders",
  ),
});

/** Case ids are used in file names. */
const caseId = lazy(() => matching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$/, "must be usable as a file name"));

export const backtestCaseSchema = lazyStrictObject(() => ({
  id: caseId(),
  input: input().describe('Input of the run: a map, or "@file"'),
  ...placed(),
  truth: truthSchema(),
}));

export const backtestFileSchema = lazyStrictObject(() => ({
  workflow: optional(text(), "Path of the workflow, for the cases without their own"),
  defaults: optional(z.strictObject(placed()), "Values for the cases without their own"),
  cases: z.array(backtestCaseSchema()).min(1),
}));

/** A case with what its file names. Paths are absolute. */
export interface BacktestCase {
  readonly id: string;
  readonly input: JsonObject;
  readonly workflow?: string | undefined;
  readonly as_of?: string | undefined;
  /** Paths to copy, by their place in the working directory. A place "." is the directory itself. */
  readonly files?: Readonly<Record<string, string>> | undefined;
  /** Path of the case's file, which the run must not see. */
  readonly path?: string | undefined;
  readonly truth: Truth;
}
