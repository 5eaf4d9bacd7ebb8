import type { StateEntry } from "../../../core/engine/event/state-entry.ts";
import { entryLine } from "../../../core/engine/state/entries.ts";
import { text } from "../../flags.ts";
import type { Action } from "../../io.ts";
import { jsonText } from "../../terminal/terminal.ts";
import { entriesIn, statesAt } from "./states.ts";

export const exportState: Action = async (io, [name = ""], flags) => {
  const entries = await entriesIn(statesAt(io, flags), name);
  const format = flags.json === true ? "json" : (text(flags, "format") ?? "json");
  if (format === "jsonl") await io.out(entries.map(entryLine).join(""));
  else if (format === "csv") await io.out(table(entries));
  else await io.out(jsonText({ schema: "skillflow.state/1", state: name, entries }));
  return 0;
};

const COLUMNS = ["key", "first_seen", "last_seen", "runs", "seen", "tainted", "data"] as const;

function table(entries: readonly StateEntry[]): string {
  const rows = entries.map(({ tainted = false, data, ...entry }) => {
    const values = { ...entry, tainted, data: JSON.stringify(data) };
    return COLUMNS.map((column) => cell(String(values[column]))).join(",");
  });
  return `${[COLUMNS.join(","), ...rows].join("\r\n")}\r\n`;
}

/** Formats a CSV cell. Prefixes possible formulas with a quote and replaces control characters with spaces. */
function cell(value: string): string {
  const plain = value.replace(/\p{Cc}|\p{Cf}/gu, " ");
  const inert = /^[=+\-@]/.test(plain) ? `'${plain}` : plain;
  return /[",]/.test(inert) || inert !== value ? `"${inert.replaceAll('"', '""')}"` : inert;
}
