import { deepEqual, defined, toJson } from "../../core/base/values.ts";
import type { EventOf, RunEvent } from "../../core/engine/event/event.ts";
import type { ChangedSkills } from "../../core/engine/event/record.ts";
import { changedSkillsIn } from "../../core/engine/fold/degraded.ts";
import type { StoredRun } from "../../core/engine/ports.ts";
import { changedSettings, recordedSettings } from "../../core/engine/settings/settings.ts";
import { ownPrefixes } from "../adapters/models.ts";
import type { Workspace } from "../host.ts";
import { configFiles } from "../workspace.ts";
import type { PreparedRun } from "./prepare.ts";

/** Returns the skills as they are now, unless the record already has the same. */
export function changedSkills(
  events: readonly RunEvent[],
  now: ChangedSkills = [],
): { skills: ChangedSkills } | undefined {
  return deepEqual(toJson(now), toJson(changedSkillsIn(events))) ? undefined : { skills: now };
}

export function changesNow(workspace: Workspace, choices: PreparedRun["choices"], { record, events }: StoredRun) {
  return changedSettings(choices, recordedSettings(record.settings, events), {
    env: workspace.host.env,
    files: configFiles(workspace),
    own: ownPrefixes(workspace),
  });
}

/** Returns the event that resumes an ended run, and its key. */
export function resumption(events: readonly RunEvent[], { from, ...how }: Resumption) {
  const key = `resume/${events.filter(({ type }) => type === "run:resume").length + 1}`;
  return { key, body: { type: "run:resume", ...defined("from", from), ...how } } as const;
}

type Resumption = Omit<EventOf<"run:resume">, "type" | "from"> & { readonly from: string | undefined };
