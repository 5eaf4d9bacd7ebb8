import * as z from "zod";
import { asOurs, exitCodeOf } from "../../base/errors.ts";
import { defined, type Fitting } from "../../base/values.ts";
import { lazyObject } from "../../skill/field.ts";
import { shownErrorSchema } from "../event/end.ts";
import { stateOf } from "../fold/fold.ts";
import type { StoredRun } from "../ports.ts";
import { describeResult, type RunResult } from "./result.ts";

/** Result document of a run that could not begin, also `skillflow.result/1`. */
export const refusalSchema = lazyObject(() => ({
  schema: z.literal("skillflow.result/1"),
  run: z.null(),
  workflow: z.string().nullable(),
  status: z.literal("refused"),
  exitCode: z.int(),
  error: shownErrorSchema(),
  diagnostics: z.array(
    z.object({
      severity: z.enum(["error", "warning"]),
      code: z.string(),
      message: z.string(),
      hint: z.string().optional(),
      field: z.string().optional(),
      file: z.string().optional(),
      line: z.int().optional(),
      column: z.int().optional(),
    }),
  ),
}));
export type Refusal = Fitting<typeof refusalSchema>;

export function describeRefusal(error: unknown, workflow: string | undefined): Refusal {
  const { code, message, hint, diagnostics } = asOurs(error);
  return {
    schema: "skillflow.result/1",
    run: null,
    workflow: workflow ?? null,
    status: "refused",
    exitCode: exitCodeOf(code),
    error: { code, message, ...defined("hint", hint) },
    diagnostics: diagnostics.map(({ path, field, ...found }) => (path.length === 0 ? found : { ...found, field })),
  };
}

/** Schemas of answers about an earlier run, by command. */
const ANSWERS = { ask: "skillflow.ask/1", recheck: "skillflow.recheck/1" } as const;
type AnswerName = keyof typeof ANSWERS;

/** Document of a command that has no answer about an earlier run. */
export const unansweredSchema = (name: AnswerName) =>
  refusalSchema()
    .pick({ exitCode: true, error: true, diagnostics: true })
    .extend({
      schema: z.literal(ANSWERS[name]),
      run: z.string().nullable().describe("The run that was to answer. Null if it could not begin"),
      of: z.string().nullable().describe("The earlier run, as it was named. Null if the command line is invalid"),
    });

export interface Unanswered {
  readonly name: AnswerName;
  readonly run?: string | undefined;
  readonly of: string | undefined;
}

/** Describes why there is no answer about an earlier run, or without `answer`, why a command failed. */
export function describeFailed(refusal: Refusal, answer?: Unanswered) {
  const { exitCode, error, diagnostics } = refusal;
  const about = answer && { schema: ANSWERS[answer.name], run: answer.run ?? null, of: answer.of ?? null };
  return { ...about, exitCode, error, diagnostics };
}

/** Describes the result of a run that an error broke off. */
export function describeBrokenOff({ record, events }: StoredRun, error: unknown): RunResult {
  const { exitCode, error: reason } = describeRefusal(error, undefined);
  return { ...describeResult(record, stateOf({ record, events })), exitCode, error: reason };
}
