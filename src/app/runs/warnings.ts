import type { Diagnostic } from "../../core/base/diagnostic.ts";
import type { JsonObject } from "../../core/base/values.ts";
import { likeSources } from "../../core/document/check/sources.ts";
import { isOffline, parseModel } from "../../core/document/model-name.ts";
import type { Workflow } from "../../core/document/workflow/workflow.ts";
import type { RunRecord } from "../../core/engine/event/record.ts";
import type { Settings } from "../../core/engine/event/settings.ts";
import type { SkillEntry } from "../../loaders/registry/skill-set.ts";
import { priceOf } from "../../models/prices.ts";
import { type Host, hintText } from "../host.ts";
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

export function limitWarnings({ limits, model }: Settings, workflow: Workflow): string[] {
  if (limits.max_cost_usd === undefined) return [];
  const names = new Set([model, workflow.model, ...Object.values(workflow.nodes).map((node) => node.model)]);
  return [...names].flatMap((name) => {
    if (name === undefined || isOffline(model) || priceOf(parseModel(name).name, ONE_TOKEN) !== null) return [];
    return [`the price of ${name} is unknown: max_cost_usd cannot count its calls`];
  });
}

const ONE_TOKEN = { inputTokens: 1, cachedTokens: 0, outputTokens: 1 };
