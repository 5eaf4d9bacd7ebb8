import { statSync } from "node:fs";
import { resolve } from "node:path";
import { defined } from "../../core/base/values.ts";
import { RUN_SCHEMA, type Settings } from "../../core/engine/event/record.ts";
import type { StoredRun } from "../../core/engine/ports.ts";
import { unchainedWarnings } from "../../core/engine/record/recording.ts";
import { strictest } from "../../core/engine/settings/bounds.ts";
import type { RunChoices } from "../../core/engine/settings/settings.ts";
import { recordSkill } from "../../loaders/registry/entry.ts";
import { afterwardsIn, recallRun } from "../../run/recall.ts";
import type { Serving } from "../adapters/models.ts";
import type { Recording } from "../adapters/stores.ts";
import { boundsFor } from "../checks/settings.ts";
import type { Workspace } from "../host.ts";
import { recalledIn } from "./memory.ts";
import { type Connect, newRunId, type PreparedRun, prepareRun } from "./prepare.ts";
import { holdToNow, prepareRecorded, type ResumeRequest, unknownWarnings, unquoted } from "./resume.ts";

/**
 * Prepares a new run of a recorded workflow and input, answered from the recording.
 * Reads the current workflow file, if it exists, to show the effect of edits. The offered skills are the recorded ones.
 */
export async function prepareReplay(
  workspace: Workspace,
  { stored, path }: Recording,
  { runId, sources, tools, connect }: ReplayRequest,
): Promise<PreparedRun> {
  const { record } = stored;
  const file = record.file;
  const choices: RunChoices = { ...sources, model: `replay:${path}`, offline: false, requireSkills: false };
  const serving: Serving = { provider: "replay", recording: stored, resumed: "each" };
  const input = () => record.input;
  const prepared =
    file !== undefined && statSync(resolve(workspace.host.cwd, file), { throwIfNoEntry: false })?.isFile()
      ? await unquoted(file, () =>
          prepareRun(workspace, { document: file, input, runId, choices, connect, serving, recorded: record }),
        )
      : await prepareFromRecord(workspace, stored, { choices, connect, serving, runId });
  // Live tools obey the operator's current limits, which the recording cannot loosen.
  const operator = boundsFor(workspace, {}, []);
  const bound = (recorded: Partial<Settings>) => {
    const { writes } = strictest([
      { ...defined("writes", recorded.writes), limits: {} },
      { ...operator, limits: {} },
    ]);
    return { ...untimed(recorded), ...(connect ? defined("writes", writes) : {}) };
  };
  const settings = { ...record.settings, ...bound(record.settings), model: choices.model ?? "" };
  const known = prepared.record.skills.map((skill) => {
    const recorded = record.skills.find((other) => other.id === skill.id);
    const entry = prepared.entries.get(skill.id);
    // Tools of servers and of untrusted code are known only from the recording.
    const isUnknown = entry?.skill.mcp !== undefined || entry?.withheld !== undefined;
    if (!recorded || (recorded.available === skill.available && !isUnknown)) return skill;
    if (!recorded.available) return recorded;
    const now = recordSkill(skill.id, entry && { ...entry, unavailable: undefined });
    return isUnknown ? { ...now, tools: recorded.tools } : now;
  });
  const skills = connect
    ? known.map((skill) => holdToNow(skill, recordSkill(skill.id, prepared.entries.get(skill.id))))
    : known;
  const afterwards = afterwardsIn(stored.events).map((after) => {
    const { body } = after;
    const changes = body.type === "run:resume" || body.type === "approval:given";
    return changes ? { ...after, body: { ...body, settings: bound(body.settings) } } : after;
  });
  const replay = { recall: recallRun(stored, tools), afterwards };
  const warnings = [...unchainedWarnings(stored), ...prepared.warnings];
  return {
    ...prepared,
    warnings,
    record: { ...prepared.record, ...recalledIn(record), kind: "replay", settings, skills },
    replay,
  };
}

/** Prepares a replay whose workflow has no file any more. */
async function prepareFromRecord(
  workspace: Workspace,
  stored: StoredRun,
  request: ResumeRequest & Pick<ReplayRequest, "runId">,
): Promise<PreparedRun> {
  const { settings: _, ...prepared } = await prepareRecorded(workspace, stored, request);
  const record = { ...prepared.record, schema: RUN_SCHEMA, run: newRunId(request.runId) };
  return { ...prepared, record, warnings: [...unknownWarnings(workspace, stored), ...prepared.warnings] };
}

interface ReplayRequest {
  readonly runId: string | undefined;
  readonly sources?: Pick<RunChoices, "fileRoot" | "inputSources">;
  readonly tools: "recorded" | "live";
  readonly connect: Connect;
}

/** Returns the recorded settings that a replay obeys: all but time limits and models. */
function untimed({ model: _model, judge_model: _judge, node_timeout_ms: _time, ...settings }: Partial<Settings>) {
  if (!settings.limits) return settings;
  const { timeout_ms: _timeout, ...limits } = settings.limits;
  return { ...settings, limits };
}
