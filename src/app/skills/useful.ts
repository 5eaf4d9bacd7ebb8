import { messageOf } from "../../core/errors.ts";
import type { RunRecord } from "../../core/event/record.ts";
import { isObject, type Json } from "../../core/values.ts";
import { handlerConfig } from "../../loaders/registry/entry.ts";
import type { SkillEntry } from "../../loaders/registry/skill-set.ts";
import type { SkillEntries } from "./entries.ts";

/** The skills of a run, those unavailable that say themselves that they lack what this run would have to bring. */
export async function leaveOutUseless(
  entries: SkillEntries,
  workDir: string,
  { input, sources }: Pick<RunRecord, "input" | "sources">,
): Promise<SkillEntries> {
  const texts = [...textsIn(input), ...Object.values(sources).map(({ content }) => content)];
  const looked = [...entries].map(
    async ([id, entry]) => [id, entry && (await withLack(entry, workDir, texts))] as const,
  );
  return new Map(await Promise.all(looked));
}

async function withLack(entry: SkillEntry, workDir: string, texts: readonly string[]): Promise<SkillEntry> {
  const { lacks } = entry.skill;
  if (!lacks || entry.unavailable !== undefined || entry.plannable !== undefined) return entry;
  const run = { config: handlerConfig(entry), workDir, texts };
  const unavailable = await Promise.resolve(run).then(lacks).catch(messageOf);
  return unavailable === undefined ? entry : { ...entry, unavailable };
}

function textsIn(value: Json): readonly string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return isObject(value) ? Object.values(value).flatMap((member) => textsIn(member as Json)) : [];
}
