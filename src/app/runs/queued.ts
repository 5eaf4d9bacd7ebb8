import { checkModels } from "../../core/document/model-name.ts";
import type { RunRecord } from "../../core/engine/event/record.ts";
import type { StoredRun } from "../../core/engine/ports.ts";
import { redactRecord } from "../../core/engine/record/content.ts";
import { endOf, lateWords } from "../../core/engine/result/waiting.ts";
import { changedSettings, type RunChoices } from "../../core/engine/settings/settings.ts";
import { recordSkill } from "../../loaders/registry/entry.ts";
import { openServing, ownPrefixes } from "../adapters/models.ts";
import { recordedSkills } from "../documents.ts";
import type { Workspace } from "../host.ts";
import { configFiles } from "../workspace.ts";
import { type FinishedRun, resumeRun, settleRun, startRun, type Watch } from "./drive.ts";
import { recordedInner } from "./inner.ts";
import { hasUnwritten } from "./memory.ts";
import { type Connect, gatherReach, openServers, type PreparedRun } from "./prepare.ts";
import { prepareResume, unquoted } from "./resume.ts";
import { plannableWarnings, skillFindings, skillWarnings } from "./warnings.ts";

interface TakeRequest {
  readonly choices: RunChoices;
  readonly connect: Connect;
  /** Called once the run is prepared, before it executes. */
  readonly watch: (prepared: PreparedRun) => Watch;
}

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
    return await (isNew ? startRun(workspace, prepared, watch) : resumeRun(workspace, prepared, watch, undefined));
  } finally {
    await prepared.close();
  }
}

/**
 * Prepares a run that was only recorded. The record has the workflow, sources, input and settings;
 * skills, config and models come from this process.
 */
async function prepareQueued(
  workspace: Workspace,
  { record }: StoredRun,
  { choices, connect }: TakeRequest,
): Promise<PreparedRun> {
  const { host } = workspace;
  const { workflow, input, sources } = record;
  const said = { env: host.env, files: configFiles(workspace), own: ownPrefixes(workspace) };
  const changed = changedSettings(choices, record.settings, said);
  const settings = { ...record.settings, ...changed };
  const wanted = { workflow, input, inline: recordedSkills(workflow), inner: recordedInner(record) };
  const { gathered, secrets, redactor } = await gatherReach(workspace, wanted, {
    ...choices,
    writes: settings.writes,
  });
  checkModels(settings.model, workflow, host.env, ownPrefixes(workspace));
  const open = () => openServing(settings.model, workspace);
  const serving = await (changed.model === undefined ? unquoted(settings.model, open) : open());
  const opening = { workflow, input, sources, gathered, redactor, limitMs: settings.limits.timeout_ms };
  const { entries, ...servers } = await openServers(host, opening, { choices, connect });
  const skills = [...entries].map(([id, entry]) => recordSkill(id, entry));
  const warnings = [
    ...record.warnings,
    ...servers.warnings,
    ...[...entries].flatMap(([id, entry]) => skillFindings(id, entry)),
    ...skillWarnings(skills),
    ...plannableWarnings(entries),
  ];
  const begun: RunRecord = { ...record, settings, skills, warnings };
  const prepared = { entries, redactor, secrets, choices, serving, warnings: [] };
  return { ...prepared, record: redactRecord(begun, redactor), spentMs: servers.spentMs, close: servers.close };
}
