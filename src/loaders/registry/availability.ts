import { messageOf } from "../../core/base/errors.ts";
import type { RunOutlook } from "../../core/skill/skill.ts";
import { handlerConfig } from "./entry.ts";
import type { SkillEntry } from "./skill-set.ts";

/** Asks a fully configured skill what it lacks. A later answer, given more about the run, replaces an earlier one. */
export async function askForLack(entry: SkillEntry, known: Omit<RunOutlook, "config">): Promise<SkillEntry> {
  const { lacks } = entry.skill;
  if (!lacks || entry.plannable !== undefined || (entry.unavailable && !entry.isLacking)) return entry;
  const answer = await Promise.resolve({ ...known, config: handlerConfig(entry) })
    .then(lacks)
    .catch(messageOf);
  const unavailable = typeof answer === "string" ? ({ kind: "machine", reason: answer } as const) : answer;
  return { ...entry, unavailable, isLacking: unavailable !== undefined };
}
