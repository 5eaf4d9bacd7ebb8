import type { OptionRow } from "../../app/options.ts";
import { COMMANDS } from "../table/commands.ts";
import { type CommandSpec, optionsOf } from "../table/options.ts";

/** Kind of candidates for the word under the cursor. */
export type Wanted =
  | { readonly kind: "command"; readonly commands: readonly CommandSpec[]; readonly isTop: boolean }
  | { readonly kind: "flag"; readonly options: readonly OptionRow[] }
  /** `name` is the placeholder in the help, such as `run` for `<run>`. */
  | { readonly kind: "value"; readonly name: string; readonly choices: readonly string[] }
  | { readonly kind: "nothing" };

export interface Line {
  readonly wanted: Wanted;
  /** Typed part of a value, without a flag before it as in `--writes=pl`. */
  readonly typed: string;
  /** Text before the value in the same word. */
  readonly lead: string;
  readonly path: string;
  readonly args: readonly string[];
  readonly flags: ReadonlyMap<string, readonly string[]>;
}

/** Reads the words as typed. The word at `index` is being completed, and the first is the program. */
export function readLine(words: readonly string[], index: number): Line {
  const [, ...before] = words.slice(0, index).map(bareWord);
  const word = bareWord(words[index] ?? "");
  const reading: Reading = { level: COMMANDS, spec: undefined, path: [], args: [], flags: new Map(), open: undefined };
  let isOver = false;
  for (const each of before) {
    if (isOver) reading.args.push(each);
    else if (each === "--" && !reading.open) isOver = true;
    else take(reading, each);
  }
  const { path, args, flags } = reading;
  const about = { path: path.join(" "), args, flags };
  if (isOver) return { ...about, wanted: wantedArgument(reading), typed: word, lead: "" };
  if (reading.open && isValueOf(reading.open, word))
    return { ...about, wanted: wantedValue(reading.open), typed: word, lead: "" };
  const [, flag, typed] = /^(--?[^=]+)=(.*)$/s.exec(word) ?? [];
  const option = flag === undefined ? undefined : optionOf(reading, flag);
  if (option && typed !== undefined) return { ...about, wanted: wantedValue(option), typed, lead: `${flag}=` };
  const options = word.startsWith("-") ? optionsAt(reading).filter((each) => isFree(each, flags)) : undefined;
  return { ...about, wanted: options ? { kind: "flag", options } : wantedWord(reading), typed: word, lead: "" };
}

interface Reading {
  level: readonly CommandSpec[];
  spec: CommandSpec | undefined;
  readonly path: string[];
  readonly args: string[];
  readonly flags: Map<string, string[]>;
  /** Flag that waits for its value. */
  open: OptionRow | undefined;
}

function take(reading: Reading, word: string): void {
  const { open } = reading;
  reading.open = undefined;
  if (open && isValueOf(open, word)) {
    note(reading, open, word);
  } else if (word.startsWith("-") && word !== "-") {
    const [name = "", ...value] = word.split("=");
    const option = optionOf(reading, name);
    if (!option) return;
    if (!placeholderOf(option)) note(reading, option, "");
    else if (value.length > 0) note(reading, option, value.join("="));
    else reading.open = option;
  } else if (reading.spec && !reading.spec.commands) {
    reading.args.push(word);
  } else {
    const found = reading.level.find(({ usage }) => nameOf(usage) === word);
    reading.path.push(word);
    reading.spec = found ?? UNKNOWN;
    reading.level = found?.commands ?? [];
  }
}

/** Unknown command, whose arguments cannot be completed. */
const UNKNOWN: CommandSpec = { usage: "", summary: "" };

function note({ flags }: Reading, option: OptionRow, value: string): void {
  const name = namesOf(option).at(-1) ?? "";
  flags.set(name, [...(flags.get(name) ?? []), value]);
}

function optionsAt({ spec }: Reading): readonly OptionRow[] {
  return spec && !spec.commands ? [...optionsOf(spec), HELP] : spec ? [HELP] : [HELP, VERSION];
}

const HELP: OptionRow = ["-h, --help", "show this help"];
const VERSION: OptionRow = ["-V, --version", "the program's version"];

function optionOf(reading: Reading, name: string): OptionRow | undefined {
  return optionsAt(reading).find((option) => namesOf(option).includes(name));
}

/** Returns the names of an option, such as `-i` for `-i <key=value>`. */
export function namesOf([flags]: OptionRow): readonly string[] {
  return flags.replace(/ ?[<[].*/s, "").split(", ");
}

function placeholderOf([flags]: OptionRow): string | undefined {
  return /^[^<[]*[<[](.+)[>\]]$/.exec(flags)?.[1];
}

/** Checks whether a word is the option's value. An optional value never starts with a dash. */
function isValueOf([flags]: OptionRow, word: string): boolean {
  return !(flags.endsWith("]") && word.startsWith("-"));
}

function isFree(option: OptionRow, given: Line["flags"]): boolean {
  return option[2]?.repeatable === true || !given.has(namesOf(option).at(-1) ?? "");
}

function wantedValue(option: OptionRow): Wanted {
  const name = `${namesOf(option).at(-1)} ${placeholderOf(option) ?? ""}`;
  return { kind: "value", name, choices: option[2]?.choices ?? [] };
}

function wantedWord(reading: Reading): Wanted {
  const { spec, level } = reading;
  if (!spec || spec.commands) return { kind: "command", commands: level, isTop: spec === undefined };
  return wantedArgument(reading);
}

function wantedArgument({ spec, args }: Reading): Wanted {
  const places = [...(spec?.usage ?? "").matchAll(/[<[]([^<>[\]]+?)(\.\.\.)?[>\]]/g)];
  const place = places[args.length] ?? (places.at(-1)?.[2] ? places.at(-1) : undefined);
  return place ? { kind: "value", name: place[1] ?? "", choices: [] } : { kind: "nothing" };
}

export function nameOf(usage: string): string {
  return usage.split(" ")[0] ?? "";
}

/** Removes quotes from a word as the shell would, even unclosed ones. Expands nothing. */
function bareWord(word: string): string {
  let bare = "";
  let quote = "";
  for (let at = 0; at < word.length; at++) {
    const mark = word.charAt(at);
    const next = word.charAt(at + 1);
    if (mark === quote) quote = "";
    else if (quote === "" && (mark === "'" || mark === '"')) quote = mark;
    else if (mark === "\\" && quote !== "'" && next !== "" && (quote === "" || '"\\$`'.includes(next))) {
      bare += next;
      at += 1;
    } else bare += mark;
  }
  return bare;
}
