import { openState } from "../../app/adapters/states.ts";
import { openStore } from "../../app/adapters/stores.ts";
import { type SkillflowError, usageError } from "../../core/base/errors.ts";
import { logJson, logText, plainLine, plainText } from "../../core/base/inert.ts";
import { didYouMean } from "../../core/base/values.ts";
import type { StateEntry } from "../../core/engine/event/record.ts";
import type { StateStore } from "../../core/engine/ports.ts";
import { APPLIED, byLastSeen, entryLine } from "../../core/engine/state/entries.ts";
import { projectOptions, text } from "../flags.ts";
import { type Action, confirms, type Flags, type Io, type Paint } from "../io.ts";
import { jsonText, painter, printJson, programName } from "../terminal/terminal.ts";

export const listStates: Action = async (io, _args, flags) => {
  const store = statesAt(io, flags);
  const names = await namesIn(store);
  const states = [...(await store.read(names))].map(([name, entries]) => {
    return { name, entries: entries.length, last_seen: [...entries].sort(byLastSeen)[0]?.last_seen ?? null };
  });
  if (flags.json === true) return printJson(io, { schema: "skillflow.states/1", states });
  const paint = painter(io, flags);
  if (states.length === 0) await io.err(`no states yet: ${programName(io)} state --help\n`);
  for (const { name, entries, last_seen } of states) {
    const count = entries === 1 ? "1 entry" : `${entries} entries`;
    const when = last_seen === null ? "" : ` · last seen ${plainLine(last_seen).slice(0, 16).replace("T", " ")}`;
    await io.outText(`${paint("bold", plainLine(name))}  ${paint("dim", `${count}${when}`)}\n`);
  }
  return 0;
};

export const showState: Action = async (io, [name = "", key], flags) => {
  const entries = await entriesIn(statesAt(io, flags), name);
  const shown = key === undefined ? [...entries].sort(byLastSeen) : entries.filter((entry) => entry.key === key);
  if (key !== undefined && shown.length === 0) throw unknownKey(name, key, entries);
  if (flags.json === true) return printJson(io, { schema: "skillflow.state/1", state: name, entries: shown });
  const paint = painter(io, flags);
  for (const entry of shown) {
    const data = plainLine(JSON.stringify(entry.data));
    const rest =
      key === undefined
        ? `  ${paint("dim", data.length > MOST_DATA ? `${data.slice(0, MOST_DATA)}…` : data)}`
        : `  first seen ${plainLine(entry.first_seen)}\n${plainText(JSON.stringify(entry.data, undefined, 2))}`;
    await io.outText(`${head(entry, paint)}\n${rest}\n`);
  }
  return 0;
};

const MOST_DATA = 160;

function head({ key, last_seen, runs, seen, tainted }: StateEntry, paint: Paint): string {
  const when = plainLine(last_seen).slice(0, 16).replace("T", " ");
  const facts = `last seen ${when} · written by ${runs} ${runs === 1 ? "run" : "runs"} · seen ${seen} ${seen === 1 ? "time" : "times"}`;
  const mark = tainted ? ` ${paint("yellow", "untrusted text")}` : "";
  return `${paint("bold", plainLine(key))}  ${paint("dim", facts)}${mark}`;
}

export const forgetState: Action = async (io, [name = "", ...keys], flags) => {
  const isAll = flags.all === true;
  if (isAll === keys.length > 0) {
    throw usageError("no keys were given", `pass keys from skillflow state show ${name}, or --all`);
  }
  const store = statesAt(io, flags);
  const entries = await entriesIn(store, name);
  const missing = keys.find((key) => !entries.some((entry) => entry.key === key));
  if (missing !== undefined) throw unknownKey(name, missing, entries);
  if (isAll && flags.yes !== true) {
    if (!io.ask || !io.isTerminal) {
      throw usageError(
        `cannot ask before all of ${name} is forgotten: this is not a terminal`,
        "pass --yes to forget all of it",
      );
    }
    if (!(await confirms(io, `Forget all ${entries.length} entries of ${plainLine(name)}?`))) {
      await io.err("nothing was forgotten\n");
      return 0;
    }
  }
  const forgotten = await store.forget(name, isAll ? "all" : keys);
  if (flags.json === true) await io.out(jsonText({ state: name, forgotten }));
  else await io.outText(`${forgotten.length} of ${plainLine(name)} forgotten\n`);
  return 0;
};

export const exportState: Action = async (io, [name = ""], flags) => {
  const entries = await entriesIn(statesAt(io, flags), name);
  const format = flags.json === true ? "json" : (text(flags, "format") ?? "json");
  if (format === "jsonl") await io.out(entries.map((entry) => logJson(entryLine(entry))).join(""));
  else if (format === "csv") await io.out(csvOf(entries));
  else await io.out(jsonText({ schema: "skillflow.state/1", state: name, entries }));
  return 0;
};

const COLUMNS = ["key", "first_seen", "last_seen", "runs", "seen", "tainted", "data"] as const;

function csvOf(entries: readonly StateEntry[]): string {
  const rows = entries.map(({ tainted = false, data, ...entry }) => {
    const values = { ...entry, tainted, data: logJson(JSON.stringify(data)) };
    return COLUMNS.map((column) => cell(String(values[column]))).join(",");
  });
  return `${[COLUMNS.join(","), ...rows].join("\r\n")}\r\n`;
}

/** Formats a CSV cell without formulas, commands for a CI system's log, and control characters. */
function cell(value: string): string {
  const plain = logText(value.replace(/\p{Cc}|\p{Cf}/gu, " "));
  const inert = /^[=+\-@]/.test(plain) ? `'${plain}` : plain;
  return /[",]/.test(inert) || inert !== value ? `"${inert.replaceAll('"', '""')}"` : inert;
}

function statesAt(io: Io, flags: Flags): StateStore {
  return openState(io.host, text(flags, "state"), { queue: openStore(io.host, projectOptions(flags).store).queue });
}

/** Lists all states except the internal list of applied deltas. */
async function namesIn(store: StateStore): Promise<readonly string[]> {
  return (await store.list()).filter((name) => name !== APPLIED);
}

/** Returns the entries of a state. Throws if it does not exist. */
async function entriesIn(store: StateStore, name: string): Promise<readonly StateEntry[]> {
  const names = await namesIn(store);
  if (names.includes(name)) return (await store.read([name])).get(name) ?? [];
  throw usageError(`there is no state "${name}"`, didYouMean(name, names) ?? "run skillflow state list");
}

function unknownKey(name: string, key: string, entries: readonly StateEntry[]): SkillflowError {
  const keys = entries.map((entry) => entry.key);
  return usageError(`${name} has no entry "${key}"`, didYouMean(key, keys) ?? `run skillflow state show ${name}`);
}
