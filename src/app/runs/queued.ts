import type { StoredRun } from "../../core/engine/ports.ts";
import { redactRecord } from "../../core/engine/record/content.ts";
import { endOf, lateWords } from "../../core/engine/result/waiting.ts";
import { recordSkill } from "../../loaders/registry/entry.ts";
import type { Workspace } from "../host.ts";
import { type FinishedRun, resumeRun, settleRun, startRun, type Watch } from "./drive.ts";
import { hasUnwritten } from "./memory.ts";
import type { PreparedRun } from "./prepare.ts";
import { prepareRecorded, prepareResume, type ResumeRequest } from "./resume.ts";
import { plannableWarnings, skillFindings, skillWarnings } from "./warnings.ts";

type TakeRequest = Pick<ResumeRequest, "choices" | "connect"> & {
  readonly watch: (prepared: PreparedRun) => Watch;
};

/**
 * Executes a queued run from its start, or resumes it.
 * Returns undefined if the run has ended, or still waits for an approval.
 */
export async function takeRun(
  workspace: Workspace,
  run: string,
  request: TakeRequest,
): Promise<FinishedRun | undefined> {
  const stored = await workspace.store.read(run);
  const isNew = stored.events.length === 0;
  if (endOf(stored.events) && lateWords(stored.events, Date.now()).length === 0) {
    if (hasUnwritten(stored)) await settleRun(workspace, run);
    return undefined;
  }
  const prepared = await (isNew ? prepareQueued : prepareResume)(workspace, stored, request);
  try {
    const watch = request.watch(prepared);
    return await (isNew ? startRun(workspace, prepared, watch) : resumeRun(workspace, prepared, watch));
  } finally {
    await prepared.close();
  }
}

/**
 * Prepares a run that was only recorded. The record has the workflow, sources, input and settings;
 * skills, config and models come from this process.
 */
async function prepareQueued(workspace: Workspace, stored: StoredRun, request: TakeRequest): Promise<PreparedRun> {
  const { settings, ...prepared } = await prepareRecorded(workspace, stored, request);
  const { entries, redactor, record } = prepared;
  const skills = [...entries].map(([id, entry]) => recordSkill(id, entry));
  const warnings = [
    ...record.warnings,
    ...prepared.warnings,
    ...[...entries].flatMap(([id, entry]) => skillFindings(id, entry)),
    ...skillWarnings(skills),
    ...plannableWarnings(entries),
  ];
  return { ...prepared, warnings: [], record: redactRecord({ ...record, settings, skills, warnings }, redactor) };
}
