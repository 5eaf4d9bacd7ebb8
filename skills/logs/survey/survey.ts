import { basename } from "node:path/posix";
import type { ToolContext } from "skillflow";
import { lengthOf, limitOf } from "skillflow/internal";
import { type LineRecord, parseRecord } from "../line/record.ts";
import { shortened } from "../line/text.ts";
import { briefTime } from "../line/timestamp.ts";
import { formatOf } from "../overview.ts";
import { chooseFiles, type Files, type OpenLog, withLog } from "../read/files.ts";
import { instantOf, type Line, lineReader } from "../selector.ts";
import { numberOf } from "../series.ts";
import { createCounts, type Group, groupsOf } from "./counts.ts";
import { createEvents } from "./events.ts";
import { createLines } from "./lines.ts";
import { createMetrics, isSample } from "./metrics.ts";
import { isError } from "./severity.ts";
import { createShapes, type Shape } from "./shapes.ts";
import { createSpan, widen } from "./split.ts";

interface SurveyInput {
  readonly files: Files;
  /** Instant that the survey is about, such as an alert's start. Default: when errors rose most. */
  readonly around?: string | undefined;
  /** Time looked at before and after `around`. */
  readonly window?: string | undefined;
  /** Service, host or word that the shapes and series are about. */
  readonly focus?: string | undefined;
}

/** The group of all lines. */
const EACH: Group = ["", ""];
const MOST_FILES = 500;
const MOST_SHAPES = 2000;
/** Size below which a file is shown whole, in bytes. */
const SMALL = 2048;
const FORMATS_JUDGED = 200;
const HEAD_SHOWN = 300;
const HEAD_LINES = 4;
const MOST_FIELDS = 50;
/** Least share of numbers in a field in which other values are odd, and maximum number of such fields. */
const ODD_SHARE = 0.2;
const MOST_ODD = 5;

/** Reads every file once and summarizes it: files, errors, changes, series and events near an instant. */
export async function surveyLogs(input: SurveyInput, context: ToolContext) {
  const survey = createSurvey(input, limitOf(context));
  const files = await chooseFiles(input.files, context);
  for (const file of files.slice(0, MOST_FILES)) {
    const notes: string[] = [];
    await withLog(file, context, notes, (log) => survey.read(log, notes));
  }
  return survey.result(Math.max(0, files.length - MOST_FILES));
}

function createSurvey({ around, window = "30m", focus }: SurveyInput, limit: number) {
  const at = around === undefined ? undefined : instantOf(around);
  const reach = lengthOf(window);
  const word = focus?.toLowerCase();
  const counts = createCounts({ at, window: reach });
  const shapes = createShapes(MOST_SHAPES, at);
  const lines = createLines(at, reach);
  const metrics = createMetrics();
  const events = createEvents(at);
  const files: FileTold[] = [];
  const whole: { readonly file: string; readonly text: string }[] = [];
  const asLines = new Set<string>();
  return {
    async read(log: OpenLog, notes: readonly string[]) {
      const isSmall = log.head.length < SMALL;
      if (log.head.includes(0)) {
        files.push({ file: log.name, bytes: log.size, format: "binary", records: 0, errors: 0 });
        return;
      }
      if (log.layout === "lines") asLines.add(log.name);
      const told = createFile(log);
      const kept: string[] = [];
      const groups = groupsOf();
      const inFile = events.begin(log.name);
      const ofFile: Group = ["file", log.name];
      const isNamed = word === undefined || log.name.toLowerCase().includes(word);
      const take = (line: Line) => {
        if (isSmall) kept.push(line.text);
        const record = parseRecord(line.text);
        // A sample of a metric counts errors, but is none.
        const failed = !isSample(record.fields) && isError(record, line.text);
        const found = groups.of(record, line.text);
        told.add(record, line, failed);
        const isLog = !inFile.isNamed && log.layout === "lines" && !isSample(record.fields);
        if (line.time !== undefined) {
          counts.add(EACH, line.time, failed);
          if (isLog) counts.add(ofFile, line.time, failed);
          if (isLog) for (const group of found) counts.add(group, line.time, failed);
        }
        const isEvent = inFile.add(line);
        if (!isNamed && !line.text.toLowerCase().includes(word ?? "")) return;
        if (failed) shapes.add(log.name, line);
        if (isLog) lines.add(log.name, line, record, { isError: failed, isEvent });
        if (record.format !== "access")
          metrics.add(record.fields, { time: line.time, isExport: log.layout !== "lines", groups: found });
      };
      const isCut = await eachLine(log, limit, take);
      const bytes = isCut ? Buffer.from(kept.join("\n")) : log.head;
      if (isSmall && bytes.length > 0) whole.push({ file: log.name, text: plain(bytes) });
      files.push({ ...told.result(isCut), ...(notes.length > 0 ? { notes } : {}) });
    },
    result(filesNotRead: number) {
      const centre = counts.around();
      const near = events.result(centre);
      const brief = briefPlaces(files);
      const { first, other } = lines.changes();
      const since = centre === undefined ? {} : { since: briefTime(centre) };
      const groups = counts.changes().filter(({ by }) => by !== "file" || files.length > 1);
      return fitSections(
        {
          files: [...files].sort((a, b) => b.errors - a.errors),
          // Lines that the events show need not be there twice.
          whole: whole.filter(({ file }) => !(asLines.has(file) && near.covers(file))),
          errors: ranked(shapes.all(), { centre, reach, whole }).map(errorTold).map(brief),
          changes: [...first.map(brief), ...groups.map((group) => ({ ...group, ...since })), ...other.map(brief)],
          series: metrics.result(centre, reach),
          events: near.events.map(brief),
        },
        { files: filesNotRead, errors: shapes.other(), series: metrics.other(), events: near.other },
      );
    },
  };
}

/** Visits the lines up to a time. Returns true if there are later ones. */
async function eachLine(log: OpenLog, limit: number, visit: (line: Line) => void): Promise<boolean> {
  const read = lineReader(log.modified);
  let isCut = false;
  for await (const block of log.blocks()) {
    read(block, (line) => {
      if (line.time !== undefined && line.time > limit) isCut = true;
      else if (line.text.trim() !== "") visit(line);
    });
  }
  return isCut;
}

interface FileTold {
  readonly file: string;
  readonly bytes: number;
  readonly format: string;
  readonly records: number;
  readonly errors: number;
  readonly first?: string;
  readonly last?: string;
  readonly packed?: boolean;
  /** First lines of a file without times, unless it is shown whole, and fields with values of several kinds. */
  readonly head?: string;
  readonly odd?: readonly string[];
  readonly notes?: readonly string[];
}

function createFile(log: OpenLog) {
  const judged: LineRecord[] = [];
  const range = createSpan();
  const fields = new Map<string, { numbers: number; others: number; example: unknown }>();
  let records = 0;
  let errors = 0;
  return {
    add(record: LineRecord, { time }: Line, failed: boolean) {
      if (records++ < FORMATS_JUDGED) judged.push(record);
      if (failed) errors++;
      if (time !== undefined) return widen(range, time);
      for (const [name, value] of Object.entries(record.fields).slice(0, MOST_FIELDS)) {
        const field = fields.get(name) ?? { numbers: 0, others: 0, example: value };
        if (value === "" || value === null || (fields.size >= MOST_FIELDS && !fields.has(name))) continue;
        fields.set(name, field);
        if (numberOf(value) !== undefined) field.numbers++;
        else if (field.others++ === 0) field.example = value;
      }
    },
    result(isCut: boolean): FileTold {
      const format = log.layout === "lines" ? formatOf(judged) : log.layout;
      const times =
        range.from <= range.to
          ? { first: briefTime(range.from), last: briefTime(range.to) }
          : { ...(isCut || log.head.length < SMALL ? {} : { head: headOf(log) }), ...oddOf(fields) };
      const packed = log.packed ? { packed: true } : {};
      return { file: log.name, bytes: log.size, format, records, errors, ...times, ...packed };
    },
  };
}

function headOf(log: OpenLog): string {
  return plain(log.head.subarray(0, HEAD_SHOWN)).split("\n", HEAD_LINES).join("\n");
}

/** Finds fields that mostly have numbers, but not in each record. */
function oddOf(fields: ReadonlyMap<string, { numbers: number; others: number; example: unknown }>) {
  const odd = [...fields].flatMap(([name, { numbers, others, example }]) => {
    const all = numbers + others;
    if (others === 0 || numbers < all * ODD_SHARE) return [];
    return `${name.slice(0, 60)}: ${others} of ${all} not numeric, such as ${shortened(String(example), 40)}`;
  });
  return odd.length > 0 ? { odd: odd.slice(0, MOST_ODD) } : {};
}

function plain(bytes: Buffer): string {
  return bytes
    .toString("utf8")
    .replace(/^\ufeff/, "")
    .replaceAll("\r\n", "\n")
    .replace(CONTROLS, "\ufffd")
    .trimEnd();
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]+/g;

interface Shown {
  readonly centre: number | undefined;
  readonly reach: number;
  readonly whole: readonly { readonly file: string }[];
}

/** Sorts shapes: those that began within the window, those seen in it, the others, then those of files shown whole. */
function ranked(shapes: readonly Shape[], { centre, reach, whole }: Shown): readonly Shape[] {
  const rank = ({ first, last, at }: Shape) => {
    if (whole.some(({ file }) => at.startsWith(`${file}@`))) return 3;
    if (centre === undefined || first === undefined || last === undefined) return 2;
    if (first >= centre - reach && first < centre + reach) return 0;
    return first < centre + reach && last >= centre - reach ? 1 : 2;
  };
  return [...shapes].sort((a, b) => rank(a) - rank(b) || b.count - a.count || (a.shape < b.shape ? -1 : 1));
}

/** Shortens places, `file@offset`, to the file's name if no other file has it. `files` has the paths. */
function briefPlaces(files: readonly FileTold[]) {
  const names = files.map(({ file }) => basename(file));
  const isShared = (name: string) => names.indexOf(name) !== names.lastIndexOf(name);
  const shared = new Set(names.filter(isShared));
  return <Place extends { readonly at?: string }>(entry: Place): Place => {
    const name = basename(entry.at ?? "");
    return entry.at === undefined || shared.has(name.replace(/@\d+$/, "")) ? entry : { ...entry, at: name };
  };
}

function errorTold({ shape, count, first, last, example, at }: Shape) {
  const times = first === undefined || last === undefined ? {} : { first: briefTime(first), last: briefTime(last) };
  return { shape: shape.slice(0, SHAPE_SHOWN), count, ...times, at, example };
}

const SHAPE_SHOWN = 200;

/** Maximum length of a survey's JSON, in characters. */
const ROOM = 12_000;
/** Room for the names of the members and what was left out. */
const FRAME = 300;

type Sections<Name extends string> = Readonly<Record<Name, readonly object[]>>;

/**
 * Shortens lists so that their JSON fits into one result. Every list gets an equal share, and what short lists leave
 * over goes to the others. `left_out` counts the missing entries, with those that the caller left out before.
 */
export function fitSections<Name extends string>(
  sections: Sections<Name>,
  before: Readonly<Partial<Record<Name, number>>>,
): Sections<Name> & { readonly left_out: Readonly<Record<string, number>> } {
  const names = Object.keys(sections) as Name[];
  const sizes = new Map(names.map((name) => [name, sizeOf(sections[name])]));
  const bySize = [...names].sort((a, b) => (sizes.get(a) ?? 0) - (sizes.get(b) ?? 0));
  const kept = new Map<Name, readonly object[]>();
  let room = ROOM - FRAME;
  for (const [index, name] of bySize.entries()) {
    const part = beginning(sections[name], Math.floor(room / (bySize.length - index)));
    kept.set(name, part);
    room -= sizeOf(part);
  }
  const missing = names.map((name) => {
    return [name, sections[name].length - (kept.get(name)?.length ?? 0) + (before[name] ?? 0)] as const;
  });
  return {
    ...(Object.fromEntries(names.map((name) => [name, kept.get(name) ?? []])) as Sections<Name>),
    left_out: Object.fromEntries(missing.filter(([, count]) => count > 0)),
  };
}

function beginning(items: readonly object[], room: number): readonly object[] {
  let used = 0;
  const stop = items.findIndex((item) => {
    used += JSON.stringify(item).length + 1;
    return used > room;
  });
  return stop < 0 ? items : items.slice(0, stop);
}

function sizeOf(items: readonly object[]): number {
  return items.reduce<number>((sum, item) => sum + JSON.stringify(item).length + 1, 0);
}
