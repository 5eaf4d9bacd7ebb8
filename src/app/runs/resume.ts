import { SkillflowError, usageError } from "../../core/base/errors.ts";
import type { Hint } from "../../core/base/options.ts";
import { deepEqual, defined, didYouMean, toJson } from "../../core/base/values.ts";
import { modelText } from "../../core/document/model-list.ts";
import { checkModels } from "../../core/document/model-name.ts";
import type { EventOf, RunEvent } from "../../core/engine/event/event.ts";
import type { ChangedSkills, SkillRecord } from "../../core/engine/event/record.ts";
import { changedSkillsIn } from "../../core/engine/fold/degraded.ts";
import { stateOf } from "../../core/engine/fold/fold.ts";
import type { StoredRun } from "../../core/engine/ports.ts";
import { unchainedWarnings } from "../../core/engine/record/recording.ts";
import { clampBounds } from "../../core/engine/settings/bounds.ts";
import { changedSettings, type RunChoices, recordedSettings } from "../../core/engine/settings/settings.ts";
import { RUN_SCRIPT } from "../../core/engine/tools/own-tools.ts";
import { recordSkill } from "../../loaders/registry/entry.ts";
import type { SkillEntry } from "../../loaders/registry/skill-set.ts";
import { modelAccess, openServing, type Serving } from "../adapters/models.ts";
import { refuseModels } from "../checks/settings.ts";
import { recordedSkills } from "../documents.ts";
import type { Workspace } from "../host.ts";
import { configFiles, unknownSkills } from "../workspace.ts";
import { recordedInner } from "./inner.ts";
import { hasUnwritten } from "./memory.ts";
import { type Connect, gatherReach, openServers, type PreparedRun } from "./prepare.ts";

export interface ResumeRequest {
  readonly choices: RunChoices;
  readonly connect: Connect;
  readonly serving?: Serving;
}

/** Prepares to resume a stored run with its recorded settings and skills, without tools that are gone. */
export async function prepareResume(
  workspace: Workspace,
  stored: StoredRun,
  request: ResumeRequest,
): Promise<PreparedRun> {
  const prepared = await prepareRecorded(workspace, stored, request);
  const { record, entries } = prepared;
  const warnings = [...unknownWarnings(workspace, stored), ...prepared.warnings];
  const taken = record.skills.map((skill) => takeUp(skill, entries.get(skill.id)));
  const lost = taken.flatMap((each) => each.lost);
  const unmet = taken.flatMap(({ skill, lost }) => {
    const entry = entries.get(skill.id);
    const now = recordSkill(skill.id, entry);
    // The user trusts the id, but that does not cover a skill from a record.
    const isUnmet = entry?.withheld !== undefined && workspace.choices.trust.ids.has(entry.skill.id);
    if (skill.reason === undefined) return isUnmet && lost.length === 0 ? [`${skill.id}: ${entry.withheld}`] : [];
    const more = skill.available ? "is offered in part, as" : "is left out, as it was";
    const advice = `${skill.id} ${more} when the run started: start a new run to use ${skill.available ? "the rest" : "it"}`;
    if (isUnmet) return [`${advice} (${entry.withheld})`];
    return now.reason === undefined ? [advice] : [];
  });
  return {
    ...prepared,
    record: { ...record, skills: taken.map(({ skill }) => skill) },
    changed: taken.flatMap(({ changed }) => changed),
    warnings: [...unchainedWarnings(stored), ...warnings, ...lost, ...unmet],
  };
}

/** Opens what a recorded run needs: skills, config and models of this process, and the recorded settings. */
export async function prepareRecorded(workspace: Workspace, stored: StoredRun, request: ResumeRequest) {
  const { record, events } = stored;
  const { host } = workspace;
  const { choices } = request;
  const { workflow, input, sources } = record;
  const wanted = { workflow, input, inline: recordedSkills(workflow), inner: recordedInner(record) };
  const changed = changesNow(workspace, choices, stored);
  const settings = { ...recordedSettings(record.settings, events), ...changed };
  const { model, limits } = settings;
  const { gathered, secrets, redactor } = await gatherReach(workspace, wanted, settings);
  if (!request.serving) refuseModels(workspace, settings, wanted);
  checkModels(model, workflow, { ...modelAccess(workspace), judge: settings.judge_model, inner: wanted.inner });
  const open = () => openServing(model, workspace);
  const serving = request.serving ?? (await (changed.model === undefined ? unquoted(modelText(model), open) : open()));
  const opening = { workflow, input, sources, gathered, redactor, limitMs: limits.timeout_ms, stored };
  const opened = await openServers(host, opening, request);
  const notes = notesOf(workspace, choices, stored);
  return { ...opened, warnings: [...notes, ...opened.warnings], record, settings, redactor, secrets, choices, serving };
}

export function unknownWarnings(workspace: Workspace, { record }: StoredRun): string[] {
  return unknownSkills(workspace, [record.workflow]).map(({ message }) => message);
}

/** Keeps errors about a file that only the record names from quoting the file's content. */
export async function unquoted<Value>(named: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    const quotes = error instanceof SkillflowError && QUOTING.has(error.code);
    if (!quotes) throw error;
    throw new SkillflowError(
      error.code,
      `${named}, which the run's record names, cannot be used: it is missing or not valid`,
      { hint: "check the file, or restore it as it was when the run started" },
    );
  }
}

const QUOTING: ReadonlySet<string> = new Set(["workflow.invalid", "input.invalid", "recording.invalid"]);

/** Updates a recorded skill's tools. Keeps tools that are gone, because earlier decisions refer to them. */
function takeUp(recorded: SkillRecord, entry: SkillEntry | undefined) {
  const now = recordSkill(recorded.id, entry);
  const skill = { ...holdToNow(recorded, now), ...defined("scripts", recorded.scripts) };
  const gone = skill.tools.filter(({ name }) => !now.tools.some((tool) => tool.name === name));
  const isWithoutScripts = recorded.scripts !== undefined && !now.scripts;
  if (!recorded.available || (gone.length === 0 && !isWithoutScripts)) return { skill, changed: [], lost: [] };
  const why = now.reason ?? "it no longer has them";
  const available = now.available && (gone.length < skill.tools.length || now.scripts !== undefined);
  const scripts = isWithoutScripts ? [RUN_SCRIPT] : [];
  const names = [...gone.map(({ exposed }) => exposed), ...scripts].join(", ");
  const cause = defined("cause", entry?.withheld === undefined ? now.cause : ("untrusted" as const));
  const lost = [...gone.map(({ name }) => name), ...scripts];
  return {
    skill,
    changed: [{ id: recorded.id, available, ...cause, reason: why, lost }],
    lost: [`${recorded.id} has lost ${names} since the run started: ${why}`],
  };
}

/** Returns a recorded skill whose tools are defined as they are now, because they will be called. */
export function holdToNow({ scripts, ...recorded }: SkillRecord, now: SkillRecord): SkillRecord {
  const own = recorded.tools.filter((tool) => tool.skill === recorded.id);
  const tools = own.map((tool) => {
    return { ...(now.tools.find(({ name }) => name === tool.name) ?? tool), exposed: tool.exposed };
  });
  return { ...recorded, tools, ...(scripts && now.scripts ? { scripts: now.scripts } : {}) };
}

/** Throws if a run cannot be resumed. Nodes that an earlier `--from` removed are no longer on the path. */
export function checkResumable({ record, events }: StoredRun, from: string | undefined): void {
  const { run } = record;
  const visited = new Set(stateOf({ record, events }).path.map((step) => step.node));
  if (from !== undefined && !visited.has(from)) {
    const path: Hint =
      visited.size > 0
        ? `choose a node on its path: ${[...visited].join(", ")}`
        : ["resume it without ", { option: "from" }];
    throw usageError(`run ${run} has no node "${from}" on its path`, didYouMean(from, visited) ?? path);
  }
  const last = events.findLast(({ type }) => type === "workflow:end" || type === "run:resume");
  if (from === undefined && last?.type === "workflow:end" && ["succeeded", "skipped"].includes(last.status)) {
    if (hasUnwritten({ record, events })) return;
    throw new SkillflowError(
      "run.finished",
      `run ${run} has ${last.status === "skipped" ? "done nothing: it started within the cool-down" : "succeeded: there is nothing to continue"}`,
      {
        hint:
          last.status === "skipped"
            ? ["run it with ", { option: "no-cool-down" }]
            : ["repeat a part of it with ", { option: "from", value: "NODE" }],
      },
    );
  }
}

/** Returns the skills as they are now, unless the record already has the same. */
export function changedSkills(
  events: readonly RunEvent[],
  now: ChangedSkills = [],
): { skills: ChangedSkills } | undefined {
  return deepEqual(toJson(now), toJson(changedSkillsIn(events))) ? undefined : { skills: now };
}

export function changesNow(workspace: Workspace, choices: PreparedRun["choices"], { record, events }: StoredRun) {
  const { policies = [] } = workspace.host;
  const said = { ...modelAccess(workspace), files: configFiles(workspace), policies };
  return changedSettings(choices, recordedSettings(record.settings, events), said);
}

/** Describes what policies change in the settings with which a run resumes. */
function notesOf({ host, ...workspace }: Workspace, choices: PreparedRun["choices"], stored: StoredRun) {
  const { policies = [], ...free } = host;
  const asked = changesNow({ ...workspace, host: free }, choices, stored);
  return clampBounds({ ...recordedSettings(stored.record.settings, stored.events), ...asked }, policies).notes;
}

export function resumption(events: readonly RunEvent[], { from, ...how }: Resumption) {
  const key = `resume/${events.filter(({ type }) => type === "run:resume").length + 1}`;
  return { key, body: { type: "run:resume", ...defined("from", from), ...how } } as const;
}

type Resumption = Omit<EventOf<"run:resume">, "type" | "from"> & { readonly from: string | undefined };
