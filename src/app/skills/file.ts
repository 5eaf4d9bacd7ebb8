import { openInside, resolveInsideNow } from "../../loaders/folder/contain.ts";
import type { SkillEntry } from "../workspace.ts";

export class FileRefused extends Error {
  constructor(
    readonly reason: "missing" | "large",
    message: string,
  ) {
    super(message);
  }
}

const MOST_BYTES = 1024 * 1024;

export async function readSkillFile({ source, skill }: SkillEntry, path: string): Promise<string> {
  const missing = (why: string) => new FileRefused("missing", `the file ${path} of ${skill.id} ${why}`);
  if (source.path === null) throw missing("does not exist: the skill has no folder");
  const place = resolveInsideNow(source.path, path);
  if (!place.inside) throw missing(place.message);
  const opened = await openInside(place);
  if ("inside" in opened) throw missing(opened.message);
  try {
    if (opened.stats.size > MOST_BYTES) throw new FileRefused("large", `the file ${path} is larger than 1 MB`);
    return decode(await opened.file.readFile()) ?? refuse(missing("is not text"));
  } finally {
    await opened.file.close();
  }
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function refuse(error: Error): never {
  throw error;
}
