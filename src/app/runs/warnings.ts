import type { Diagnostic } from "../../core/base/diagnostic.ts";
import type { JsonObject } from "../../core/base/values.ts";
import { likeSources } from "../../core/document/check/sources.ts";
import type { InnerWorkflows } from "../../core/document/inner/place.ts";
import { modelsOf } from "../../core/document/model-list.ts";
import { choicesIn, fallbackLacks, isOffline, parseModel } from "../../core/document/model-name.ts";
import type { Workflow } from "../../core/document/workflow/workflow.ts";
import type { RunRecord, Settings } from "../../core/engine/event/record.ts";
import type { SkillEntry } from "../../loaders/registry/skill-set.ts";
import { priceOf } from "../../models/prices.ts";
import { modelAccess } from "../adapters/models.ts";
import { type Host, hintText, type Workspace } from "../host.ts";
import type { SkillEntries } from "../skills/entries.ts";

export function describeLikeSources(input: JsonObject, host: Pick<Host, "writeOption">): string[] {
  const fields = likeSources(input);
  if (fields.length === 0) return [];
  const option = hintText(host, [{ option: "input-sources" }]);
  return [`not read, although it looks like files or addresses: ${fields.join(", ")} (${option} reads them)`];
}

/** Describes problems in a skill's own files, which may explain why a tool is missing. */
export function skillFindings(id: string, entry: SkillEntry | undefined): string[] {
  return (entry?.diagnostics ?? []).map(
    (found) => `skill ${id}: ${found.message}${found.file === undefined ? "" : ` (${placeOf(found)})`}`,
  );
}

export function placeOf({ file = "", line }: Diagnostic): string {
  return line === undefined ? file : `${file}:${line}`;
}

/** Findings that `skillWarnings` reports, with the reason for each skill. */
export const TOLD_BY_SKILL: ReadonlySet<string> = new Set(["UNKNOWN_SKILL", "SKILL_NOT_TRUSTED"]);

export function skillWarnings(skills: RunRecord["skills"]): string[] {
  const named = (some: RunRecord["skills"]) => some.map(({ id, reason }) => `${id} (${reason})`).join(", ");
  const lost = skills.filter((skill) => !skill.available);
  const held = skills.filter((skill) => skill.available && skill.reason !== undefined);
  return [
    ...(lost.length > 0 ? [`skills left out: ${named(lost)}`] : []),
    ...(held.length > 0 ? [`skills offered in part: ${named(held)}`] : []),
  ];
}

/** Warns about skills that lack config but can plan writes, because the run could not read from them. */
export function plannableWarnings(entries: SkillEntries): string[] {
  const named = [...entries].flatMap(([id, entry]) => (entry?.plannable ? [`${id} (${entry.plannable.reason})`] : []));
  return named.length === 0 ? [] : [`skills that cannot read, but whose writes can be planned: ${named.join(", ")}`];
}

export function limitWarnings({ limits, model, judge_model: judge }: Settings, workflow: Workflow): string[] {
  const limited = [
    ...(limits.max_cost_usd === undefined ? [] : ["max_cost_usd"]),
    ...(limits.max_cost_usd_per_day === undefined ? [] : ["per_day.max_cost_usd"]),
  ];
  if (limited.length === 0 || isOffline(model)) return [];
  const choices = [model, ...choicesIn(workflow, judge)];
  return [...new Set(choices.flatMap(modelsOf))].flatMap((name) => {
    if (priceOf(parseModel(name).name, ONE_TOKEN) !== null) return [];
    return [`the price of ${name} is unknown: ${limited.join(" and ")} cannot count its calls`];
  });
}

/** Warns about models of lists that cannot be asked here, so that the run has fewer to fall back to. */
export function fallbackWarnings(
  workspace: Workspace,
  { workflow, inner }: { readonly workflow: Workflow; readonly inner?: InnerWorkflows },
  { model = workflow.model ?? [], judge_model: judge }: Partial<Pick<Settings, "model" | "judge_model">>,
): string[] {
  return fallbackLacks(model, workflow, { ...modelAccess(workspace), judge, inner });
}

const ONE_TOKEN = { inputTokens: 1, cachedTokens: 0, outputTokens: 1 };
