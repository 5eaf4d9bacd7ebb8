import { attempt } from "../../core/base/errors.ts";
import { openInside, resolveInsideNow } from "../../loaders/folder/contain.ts";
import type { SkillEntry } from "../workspace.ts";

const MOST_BYTES = 1024 * 1024;

/** Reads a text file of a skill's folder. Returns the reason if it cannot be read. */
export async function readSkillFile(
  { source, skill }: SkillEntry,
  path: string,
): Promise<string | { readonly reason: "missing" | "large"; readonly message: string }> {
  const missing = (why: string) => ({ reason: "missing" as const, message: `the file ${path} of ${skill.id} ${why}` });
  if (source.path === null) return missing("does not exist: the skill has no folder");
  const place = resolveInsideNow(source.path, path);
  if (!place.inside) return missing(place.message);
  const opened = await openInside(place);
  if ("inside" in opened) return missing(opened.message);
  try {
    if (opened.stats.size > MOST_BYTES) return { reason: "large", message: `the file ${path} is larger than 1 MB` };
    const bytes = await opened.file.readFile();
    return attempt(() => new TextDecoder("utf-8", { fatal: true }).decode(bytes)) ?? missing("is not text");
  } finally {
    await opened.file.close();
  }
}
