import { plainLine, plainText } from "../../../core/base/inert.ts";
import type { StateEntry } from "../../../core/engine/event/state-entry.ts";
import { byLastSeen } from "../../../core/engine/state/entries.ts";
import type { Action, Paint } from "../../io.ts";
import { jsonText, painter } from "../../terminal/terminal.ts";
import { entriesIn, statesAt, unknownKey } from "./states.ts";

export const showState: Action = async (io, [name = "", key], flags) => {
  const entries = await entriesIn(statesAt(io, flags), name);
  const shown = key === undefined ? [...entries].sort(byLastSeen) : entries.filter((entry) => entry.key === key);
  if (key !== undefined && shown.length === 0) throw unknownKey(name, key, entries);
  if (flags.json === true) {
    await io.out(jsonText({ schema: "skillflow.state/1", state: name, entries: shown }));
    return 0;
  }
  const paint = painter(io, flags);
  for (const entry of shown) await io.outText(key === undefined ? describe(entry, paint) : whole(entry, paint));
  return 0;
};

const MOST_DATA = 160;

/** Describes an entry in two lines: its key and counts, then its data. */
function describe(entry: StateEntry, paint: Paint): string {
  const data = plainLine(JSON.stringify(entry.data));
  return `${head(entry, paint)}\n  ${paint("dim", data.length > MOST_DATA ? `${data.slice(0, MOST_DATA)}…` : data)}\n`;
}

function whole(entry: StateEntry, paint: Paint): string {
  return `${head(entry, paint)}\n  first seen ${plainLine(entry.first_seen)}\n${plainText(JSON.stringify(entry.data, undefined, 2))}\n`;
}

function head({ key, last_seen, runs, seen, tainted }: StateEntry, paint: Paint): string {
  const when = plainLine(last_seen).slice(0, 16).replace("T", " ");
  const facts = `last seen ${when} · written by ${runs} ${runs === 1 ? "run" : "runs"} · seen ${seen} ${seen === 1 ? "time" : "times"}`;
  const mark = tainted ? ` ${paint("yellow", "untrusted text")}` : "";
  return `${paint("bold", plainLine(key))}  ${paint("dim", facts)}${mark}`;
}
