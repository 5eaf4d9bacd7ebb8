import { invokeSkill } from "../../../app/calls/call-skill.ts";
import { openBlobs } from "../../../app/calls/execute.ts";
import type { Workspace } from "../../../app/host.ts";
import { plainLine } from "../../../core/base/inert.ts";
import { isObject, type Json } from "../../../core/base/values.ts";
import { TOKEN } from "../../../core/engine/plan/proposal.ts";

/** Kind of error in the project's logs, as `logs_survey` returns it. */
export interface LogError {
  readonly shape: string;
  readonly count: number;
  /** File with its first record, and the offset: `app.log@100`. */
  readonly at: string;
  /** Empty if its records have no time. */
  readonly last: string;
  /** A record without the mark of its cut end. */
  readonly example: string;
}

const LONGEST_SURVEY_MS = 20_000;

const MOST_ERRORS = 3;

/** Surveys the logs with the workflow's own tool. Returns the kinds of errors that occurred last, newest first. */
export async function lastErrorsIn(workspace: Workspace, logs: readonly string[]): Promise<readonly LogError[]> {
  if (logs.length === 0) return [];
  const { blobs, forget } = await openBlobs(workspace.host, "init");
  const quiet = () => undefined;
  try {
    const survey = { skill: "logs", tool: "survey", arguments: { files: [...logs] }, effects: "read" as const };
    const outcome = await invokeSkill(workspace, survey, {
      timeoutMs: LONGEST_SURVEY_MS,
      signal: new AbortController().signal,
      loggerFor: () => ({ debug: quiet, info: quiet, warn: quiet }),
      blobs,
    });
    const errors = "error" in outcome || !isObject(outcome.output) ? [] : outcome.output.errors;
    const found = (Array.isArray(errors) ? errors : []).flatMap(errorOf);
    // The longest record of one moment says most: the others are lines of a stack trace.
    const isNewer = (a: LogError, b: LogError) => a.last.localeCompare(b.last) || a.example.length - b.example.length;
    return found.sort((a, b) => isNewer(b, a)).slice(0, MOST_ERRORS);
  } finally {
    await forget();
  }
}

function errorOf(error: Json): LogError[] {
  if (!isObject(error)) return [];
  const { shape, count, at = "", last = "", example } = error;
  if (typeof shape !== "string" || typeof count !== "number" || typeof example !== "string") return [];
  const [quote = ""] = example.split(/\n| {2}|…$/);
  // The files that quote it are committed.
  if (quote.length < 12 || quote !== plainLine(quote) || TOKEN.test(example)) return [];
  return [{ shape: quote, count, at: String(at), last: String(last), example: quote }];
}
