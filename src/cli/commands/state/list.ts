import { plainLine } from "../../../core/base/inert.ts";
import { byLastSeen } from "../../../core/engine/state/entries.ts";
import type { Action } from "../../io.ts";
import { jsonText, painter, programName } from "../../terminal/terminal.ts";
import { namesIn, statesAt } from "./states.ts";

export const listStates: Action = async (io, _args, flags) => {
  const store = statesAt(io, flags);
  const names = await namesIn(store);
  const states = [...(await store.read(names))].map(([name, entries]) => {
    return { name, entries: entries.length, last_seen: [...entries].sort(byLastSeen)[0]?.last_seen ?? null };
  });
  if (flags.json === true) {
    await io.out(jsonText({ schema: "skillflow.states/1", states }));
    return 0;
  }
  const paint = painter(io, flags);
  if (states.length === 0) await io.err(`no states yet: ${programName(io)} state --help\n`);
  for (const { name, entries, last_seen } of states) {
    const count = entries === 1 ? "1 entry" : `${entries} entries`;
    const when = last_seen === null ? "" : ` · last seen ${plainLine(last_seen).slice(0, 16).replace("T", " ")}`;
    await io.outText(`${paint("bold", plainLine(name))}  ${paint("dim", `${count}${when}`)}\n`);
  }
  return 0;
};
