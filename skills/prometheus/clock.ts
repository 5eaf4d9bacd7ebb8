import type { ToolContext } from "skillflow";
import { limitOf } from "skillflow/internal";

/** Strings and comments of PromQL. */
const SILENT = /"(?:\\[\s\S]?|[^"\\])*"?|'(?:\\[\s\S]?|[^'\\])*'?|`[^`]*`?|#.*/g;
/** Modifiers that may move a selector to a later time: an offset that is not a plain length, and a time. */
const MOVES =
  /(?<offset>\boffset\b(?! ?(?:\+? ?\d|[=!~,)}])).{0,20})|@ ?(?<time>(?:[+-] ?)?[\w.]+(?:(?<=e)[+-]\d+)?)/gi;

/** Refuses a query with selectors that may read beyond the clock of a backtest, whatever its period is. */
export function checkTimes(query: string, context: ToolContext): void {
  const limit = limitOf(context);
  if (!Number.isFinite(limit)) return;
  const plain = query.replace(SILENT, (found) => (found.startsWith("#") ? " " : '""')).replace(/\s+/g, " ");
  for (const { 0: found, groups: { offset, time = "end" } = {} } of plain.matchAll(MOVES)) {
    const at = /^(?:start|end)$/i.test(time) ? 0 : Number(time.replace(" ", "")) * 1000;
    if (offset === undefined && at <= limit) continue;
    const until = new Date(limit).toISOString();
    throw new Error(`The query must not read beyond ${until}, the time of this run: leave out \`${found.trim()}\``);
  }
}
