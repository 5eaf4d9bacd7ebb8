import type { ToolContext } from "skillflow";
import { limitOf } from "skillflow/internal";

/** Strings and comments of PromQL, or what moves the time of a selector: a negative or computed offset, or a time. */
const MOVES =
  /"(?:\\[\s\S]?|[^"\\])*"?|'(?:\\[\s\S]?|[^'\\])*'?|`[^`]*`?|#.*|(?<offset>\boffset\s*[-(])|@\s*(?<time>(?:[+-]\s*)?[\w.]+(?:(?<=e)[+-]\d+)?)/gi;

/** Refuses a query with selectors that may read beyond the clock of a backtest, whatever its period is. */
export function checkTimes(query: string, context: ToolContext): void {
  const limit = limitOf(context);
  if (!Number.isFinite(limit)) return;
  for (const { 0: found, groups: { offset, time = "end" } = {} } of query.matchAll(MOVES)) {
    const at = /^(?:start|end)$/i.test(time) ? 0 : Number(time.replaceAll(/\s/g, "")) * 1000;
    if (offset === undefined && at <= limit) continue;
    const until = new Date(limit).toISOString();
    throw new Error(`The query must not read beyond ${until}, the time of this run: leave out \`${found}\``);
  }
}
