import { stringsIn } from "../../core/base/values.ts";
import type { RunRecord } from "../../core/engine/event/record.ts";
import { askForLack } from "../../loaders/registry/availability.ts";
import type { SkillEntries } from "./entries.ts";

/** Asks the skills again what they lack, now that the run's input and sources are known. */
export async function leaveOutUseless(
  entries: SkillEntries,
  workDir: string,
  { input, sources }: Pick<RunRecord, "input" | "sources">,
): Promise<SkillEntries> {
  const texts = [...stringsIn(input), ...Object.values(sources).map(({ content }) => content)];
  const asked = [...entries].map(
    async ([id, entry]) => [id, entry && (await askForLack(entry, { workDir, texts }))] as const,
  );
  return new Map(await Promise.all(asked));
}
