import { randomUUID } from "node:crypto";
import { usageError } from "../../../core/base/errors.ts";
import { defined, didYouMean } from "../../../core/base/values.ts";
import { endOf } from "../../../core/engine/result/waiting.ts";
import {
  FEEDBACK,
  type FeedbackLine,
  feedbackDelta,
  JUDGEMENTS,
  type JudgementLine,
  readFeedback,
} from "../../../core/engine/state/feedback.ts";
import { findRun } from "../../adapters/stores.ts";
import type { Workspace } from "../../host.ts";
import { environmentRedactor } from "../../secrets.ts";
import { hasEnded, readEnded } from "./verify.ts";

/** Longest true cause, in characters. */
export const MOST_CAUSE = 2000;

interface Given {
  readonly judgement: string;
  readonly cause?: string | undefined;
  readonly by: string;
  /** Identifies the judgement, so that it is recorded once. Default: a random id. */
  readonly id?: string;
}

/**
 * Records a person's judgement of a run in the state's place and returns its line. Throws a usage error if the run has
 * not ended.
 */
export async function recordFeedback(workspace: Workspace, given: string, said: Given): Promise<JudgementLine> {
  const judgement = JUDGEMENTS.find((one) => one === said.judgement);
  if (judgement === undefined) {
    const near = didYouMean(said.judgement, JUDGEMENTS);
    throw usageError(`the judgement must be ${JUDGEMENTS.join(", ")}, not "${said.judgement}"`, near);
  }
  if (said.cause?.trim() === "") throw usageError("--cause is empty", "state the true cause, or omit the option");
  if ((said.cause ?? "").length > MOST_CAUSE)
    throw usageError(`the cause has ${said.cause?.length} characters; at most ${MOST_CAUSE} are allowed`);
  if (said.by.trim() === "") throw usageError("--by is empty", "name the person who judges, or omit the option");
  const run = await findRun(workspace.store, given);
  const found = await workspace.store.read(run);
  const stored = hasEnded(found) ? found : await readEnded(workspace, run);
  const { kind, about, input } = stored.record;
  if (kind === "ask" || kind === "recheck") {
    const hint = `judge the run that it is about: skillflow feedback ${about?.run ?? input.of} ${judgement}`;
    throw usageError(`run ${run} has no finding of its own, because its kind is ${kind}`, hint);
  }
  const redactor = environmentRedactor(workspace);
  const line: JudgementLine = {
    kind: "judgement",
    run,
    workflow: stored.record.workflow.id,
    judgement,
    ...defined("cause", said.cause === undefined ? undefined : redactor.text(said.cause)),
    by: redactor.text(said.by),
    at: new Date().toISOString(),
    verdict: endOf(stored.events)?.verdict ?? null,
  };
  await appendFeedback(workspace, line, said.id);
  return line;
}

/** Appends a line to the feedback, unless its id is already there. */
export async function appendFeedback(
  { state }: Pick<Workspace, "state">,
  line: FeedbackLine,
  id: string = randomUUID(),
) {
  await state.apply(feedbackDelta(line, id));
}

export async function feedbackOf({ state }: Pick<Workspace, "state">) {
  return readFeedback((await state.read([FEEDBACK])).get(FEEDBACK) ?? []);
}
