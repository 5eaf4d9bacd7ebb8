import type { ToolContext } from "skillflow";
import { bucketLength } from "../buckets.ts";
import { parseRecord } from "../line/record.ts";
import { briefTime } from "../line/timestamp.ts";
import { formatOf } from "../overview.ts";
import { chooseFiles, type Files, type OpenLog, withLog } from "../read/files.ts";
import { compileSelector, instantOf, type Line } from "../selector.ts";
import { createCounts } from "./counts.ts";
import { createEvents } from "./events.ts";
import { groupsOf } from "./groups.ts";
import { createMetrics, isSample } from "./metrics.ts";
import { fitSections } from "./room.ts";
import { isError } from "./severity.ts";
import { createShapes, type Shape } from "./shapes.ts";

interface SurveyInput {
  readonly files: Files;
  /** Instant that the survey is about, such as an alert's start. Default: when errors rose most. */
  readonly around?: string | undefined;
  /** Time looked at before and after `around`. */
  readonly window?: string | undefined;
  /** Service, host or word that the shapes and series are about. */
  readonly focus?: string | undefined;
}

const MOST_FILES = 500;
const MOST_SHAPES = 2000;
/** Size below which a file is shown whole, in bytes. */
const SMALL = 2048;
const FORMATS_JUDGED = 200;

/** Reads every file once and summarizes it: files, errors, changes, series and events near an instant. */
export async function surveyLogs(input: SurveyInput, context: ToolContext) {
  const survey = createSurvey(input);
  const files = await chooseFiles(input.files, context);
  for (const file of files.slice(0, MOST_FILES)) {
    const notes: string[] = [];
    await withLog(
      file,
      context,
      (note) => notes.push(note),
      (log) => survey.read(log, notes),
    );
  }
  return survey.result(Math.max(0, files.length - MOST_FILES));
}

function createSurvey({ around, window = "30m", focus }: SurveyInput) {
  const at = around === undefined ? undefined : instantOf(around);
  const reach = bucketLength(window);
  const word = focus?.toLowerCase();
  const counts = createCounts({ at, window: reach });
  const shapes = createShapes(MOST_SHAPES, at);
  const metrics = createMetrics();
  const events = createEvents(at);
  const files: FileTold[] = [];
  const whole: Readonly<Record<"file" | "text", string>>[] = [];
  const asLines = new Set<string>();
  return {
    async read(log: OpenLog, notes: readonly string[]) {
      const isSmall = log.head.length < SMALL;
      if (log.head.includes(0)) {
        files.push({ file: log.name, bytes: log.size, format: "binary", records: 0, errors: 0 });
        return;
      }
      if (log.layout === "lines") asLines.add(log.name);
      if (isSmall && log.head.length > 0) whole.push({ file: log.name, text: plain(log.head) });
      const told = createFile(log);
      const groups = groupsOf();
      const inFile = events.begin(log.name);
      const isNamed = word === undefined || log.name.toLowerCase().includes(word);
      const take = (line: Line) => {
        const record = parseRecord(line.text);
        // A sample of a metric counts errors, but is none.
        const failed = !isSample(record.fields) && isError(record, line.text);
        const found = groups.of(record, line.text);
        told.add(record, line.time, failed);
        if (line.time !== undefined) {
          for (const [by, name] of [["", ""], ["file", log.name], ...found] as const) {
            counts.add(by, name, { time: line.time, isError: failed });
          }
        }
        inFile(line);
        if (!isNamed && !line.text.toLowerCase().includes(word ?? "")) return;
        if (failed) shapes.add(log.name, line);
        metrics.add(record.fields, { time: line.time, isExport: log.layout !== "lines", groups: found });
      };
      await eachLine(log, take);
      files.push({ ...told.result(), ...(notes.length > 0 ? { notes } : {}) });
    },
    result(filesNotRead: number) {
      const centre = counts.around();
      const isFirst = files.length === 1;
      const near = events.result(centre);
      const changes = counts.changes().filter(({ by }) => by !== "file" || !isFirst);
      return fitSections(
        {
          files: [...files].sort((a, b) => b.errors - a.errors),
          // Lines that the events show need not be there twice.
          whole: whole.filter(({ file }) => !(asLines.has(file) && near.covers(file))),
          errors: ranked(shapes.all(), centre, reach).map(errorTold),
          changes: changes.map(({ since, ...change }) => ({ ...change, since: briefTime(since) })),
          series: metrics.result(centre, reach),
          events: near.events,
        },
        { files: filesNotRead, errors: shapes.other(), series: metrics.other(), events: near.other },
      );
    },
  };
}

async function eachLine(log: OpenLog, visit: (line: Line) => void): Promise<void> {
  const selection = compileSelector({}, { times: true }).begin(log.modified);
  for await (const block of log.blocks()) {
    const selected = selection.take(block);
    for (let index = 0; index < selected.count; index++) {
      const line = selected.line(index);
      if (line.text.trim() !== "") visit(line);
    }
  }
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
  readonly notes?: readonly string[];
}

/** Gathers the description of one file. */
function createFile(log: OpenLog) {
  const judged: ReturnType<typeof parseRecord>[] = [];
  const range = { first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY };
  let records = 0;
  let errors = 0;
  return {
    add(record: ReturnType<typeof parseRecord>, time: number | undefined, failed: boolean) {
      if (records++ < FORMATS_JUDGED) judged.push(record);
      if (failed) errors++;
      if (time === undefined) return;
      range.first = Math.min(range.first, time);
      range.last = Math.max(range.last, time);
    },
    result(): FileTold {
      const format = log.layout === "lines" ? formatOf(judged) : log.layout;
      const times =
        range.first <= range.last ? { first: briefTime(range.first), last: briefTime(range.last) } : undefined;
      const packed = log.packed ? { packed: true } : {};
      return { file: log.name, bytes: log.size, format, records, errors, ...times, ...packed };
    },
  };
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

/** Sorts shapes: those that began within the window, then those seen in it, then the others, by count. */
function ranked(shapes: readonly Shape[], centre: number | undefined, reach: number): readonly Shape[] {
  const rank = ({ first, last }: Shape) => {
    if (centre === undefined || first === undefined || last === undefined) return 2;
    if (first >= centre - reach && first < centre + reach) return 0;
    return first < centre + reach && last >= centre - reach ? 1 : 2;
  };
  return [...shapes].sort((a, b) => rank(a) - rank(b) || b.count - a.count || (a.shape < b.shape ? -1 : 1));
}

function errorTold({ shape, count, first, last, example, at }: Shape) {
  const times = first === undefined || last === undefined ? {} : { first: briefTime(first), last: briefTime(last) };
  return { shape: shape.slice(0, SHAPE_SHOWN), count, ...times, at, example };
}

const SHAPE_SHOWN = 200;
