import type { ToolContext } from "skillflow";
import { limitOf } from "skillflow/internal";
import { noted } from "./line/text.ts";
import { chooseFiles, type Files, withLog } from "./read/files.ts";
import { compileSelector, type Selected } from "./selector.ts";
import type { Aliases } from "./view.ts";
import { type Asked, explain } from "./why.ts";

/** Selected lines of one block of a file. */
interface Batch {
  readonly file: string;
  /** Last modification time in Unix milliseconds. */
  readonly modified: number;
  readonly selected: Selected;
  /** Number of matches before this batch, over all files. */
  readonly before: number;
}

interface Wanted extends Asked {
  readonly files: Files;
}

const MOST_FILES = 500;
const FILES_REPORTED = 20;

/** Scans the files in order: passes each block's selected lines to `onBatch` and calls `onFile` after each file. */
export async function scanFiles(
  wanted: Wanted,
  { times = false, mayLackTimes = false }: { readonly times?: boolean; readonly mayLackTimes?: boolean },
  context: ToolContext,
  onBatch: (batch: Batch) => void,
  onFile: (file: string) => void = () => undefined,
) {
  const selector = compileSelector(wanted, { times, limit: limitOf(context) });
  const files = await chooseFiles(wanted.files, context);
  if (files.length > MOST_FILES) throw new Error(`${files.length} files match; select at most ${MOST_FILES} at once`);
  const perFile: (readonly [string, number])[] = [];
  const notes: string[] = [];
  let matched = 0;
  for (const file of files) {
    const before = matched;
    await withLog(file, context, notes, async (log) => {
      const selection = selector.begin(log.modified);
      for await (const block of log.blocks()) {
        const selected = selection.take(block);
        onBatch({ file: log.name, modified: log.modified, selected, before: matched });
        matched += selected.count;
      }
      const isUntimed = selection.sawTime() === false && log.size > 0;
      if (isUntimed && (!mayLackTimes || wanted.since !== undefined || wanted.until !== undefined))
        notes.push(`${log.name}: no line has a recognized time`);
    });
    onFile(file.name);
    if (matched > before) perFile.push([file.name, matched - before]);
  }
  return {
    matched,
    /** Returns the result's part about the files. `found` is false if the matching lines lacked the requested data. */
    async report(aliases: Aliases, found = matched > 0): Promise<object> {
      const counts = perFile.sort(([, a], [, b]) => b - a).slice(0, FILES_REPORTED);
      const told = Object.fromEntries(counts.map(([name, count]) => [aliases.of(name), count]));
      const why = found ? [] : await explain(wanted, files, context);
      return {
        ...(files.length > 1 ? { searched: files.length } : {}),
        ...(files.length > 1 && matched > 0 ? { per_file: told } : {}),
        ...aliases.all(),
        ...noted(notes),
        ...(why.length > 0 ? { why } : {}),
      };
    },
  };
}
