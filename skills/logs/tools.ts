import type { ToolContext } from "skillflow";
import { createNearest, createSpread, createTally, type KeptLine, keptLine } from "./collect.ts";
import { chooseFile, chooseFiles, type Files, type OpenLog, withLog } from "./files.ts";
import { compilePattern } from "./pattern.ts";
import { fieldValues, parseRecord, shapeOf } from "./record.ts";
import {
  type CompiledSelector,
  compileSelector,
  instantOf,
  type Line,
  type Selected,
  type Selector,
} from "./selector.ts";
import { BYTES_SHOWN, fitting, noted, shown } from "./text.ts";
import { isoText } from "./timestamp.ts";

interface Search extends Selector {
  readonly files: Files;
  readonly order?: "first" | "last" | undefined;
  readonly limit?: number | undefined;
  readonly skip?: number | undefined;
}

export async function searchLines(input: Search, context: ToolContext) {
  const { order = "first", limit = 50, skip = 0 } = input;
  const last = order === "last";
  let kept: KeptLine[] = [];
  const scan = await scanFiles(input.files, compileSelector(input), context, ({ name, selected, before }) => {
    const from = last ? Math.max(0, selected.count - limit - skip) : Math.max(0, skip - before);
    const to = last ? selected.count : Math.min(selected.count, skip + limit - before);
    for (let index = from; index < to; index++) kept.push(keep(name, selected.line(index)));
    if (last && kept.length > 2 * (limit + skip)) kept = kept.slice(-limit - skip);
  });
  const page = last ? kept.slice(-limit - skip, skip > 0 ? -skip : undefined) : kept;
  const lines = last ? [...fitting(present(page).reverse())].reverse() : fitting(present(page));
  const reached = skip + lines.length;
  const truncated = lines.length > 0 && reached < scan.matched;
  return {
    matched: scan.matched,
    returned: lines.length,
    truncated,
    lines,
    ...(truncated
      ? { more: `call again with skip: ${reached}, or narrow the filters; count_by sums up many matches` }
      : {}),
    ...scan.report,
  };
}

export async function sampleLines(
  input: Selector & { readonly files: Files; readonly limit?: number | undefined },
  context: ToolContext,
) {
  const spread = createSpread(input.limit ?? 20);
  const scan = await scanFiles(input.files, compileSelector(input), context, ({ name, selected, before }) => {
    for (let index = 0; index < selected.count; index++) {
      spread.add(before + index, () => keep(name, selected.line(index)));
    }
  });
  const lines = fitting(present(spread.lines()));
  return {
    matched: scan.matched,
    returned: lines.length,
    truncated: lines.length < scan.matched,
    lines,
    more: "these lines are spread evenly over all that match; search returns them one after another",
    ...scan.report,
  };
}

interface CountBy extends Selector {
  readonly files: Files;
  readonly by?: { readonly field: string } | { readonly pattern: string } | { readonly shape: true } | undefined;
  readonly bucket?: string | undefined;
  readonly top?: number | undefined;
}

export async function countBy(input: CountBy, context: ToolContext) {
  const bucket = input.bucket === undefined ? undefined : bucketLength(input.bucket);
  const tally = createTally(bucket);
  const valuesOf = createValuesOf(input);
  const selector = compileSelector(input, { times: bucket !== undefined });
  let without = 0;
  let untimed = 0;
  const scan = await scanFiles(input.files, selector, context, ({ selected }) => {
    const lines = Array.from({ length: selected.count }, (_, index) => selected.line(index));
    for (const [index, values] of valuesOf(lines).entries()) {
      const time = lines[index]?.time;
      if (bucket && time === undefined) untimed++;
      if (values.length === 0) without++;
      for (const value of values) tally.add(value, time);
    }
  });
  const { groups, distinct, other } = tally.result(input.top ?? 20);
  const fit = fitting(groups);
  const cut = groups.slice(fit.length).reduce((sum, group) => sum + group.count, 0);
  return {
    matched: scan.matched,
    distinct,
    returned: fit.length,
    truncated: other + cut > 0,
    groups: fit,
    ...(other + cut > 0 ? { other: other + cut, more: "raise top, or narrow the filters or the buckets" } : {}),
    ...(without > 0 ? { without_value: without } : {}),
    ...(untimed > 0 ? { without_time: untimed } : {}),
    ...scan.report,
  };
}

interface TimeWindow extends Selector {
  readonly files: Files;
  readonly at: string;
  readonly seconds?: number | undefined;
  readonly limit?: number | undefined;
}

const WINDOW_PARTS = 20;

export async function timeWindow(input: TimeWindow, context: ToolContext) {
  const at = instantOf(input.at);
  const reach = (input.seconds ?? 60) * 1000;
  const range = { since: isoText(at - reach), until: isoText(at + reach) };
  const nearest = createNearest(at, input.limit ?? 50);
  const part = (2 * reach) / WINDOW_PARTS;
  const parts = new Array<number>(WINDOW_PARTS).fill(0);
  const selector = compileSelector({ ...input, ...range });
  const scan = await scanFiles(input.files, selector, context, ({ name, selected }) => {
    for (let index = 0; index < selected.count; index++) {
      const line = selected.line(index);
      const time = line.time ?? at;
      const which = Math.min(WINDOW_PARTS - 1, Math.floor((time - at + reach) / part));
      parts[which] = (parts[which] ?? 0) + 1;
      nearest.add(time, () => keep(name, line));
    }
  });
  const lines = fitting(present(nearest.lines()));
  const truncated = lines.length < scan.matched;
  return {
    from: range.since,
    to: range.until,
    matched: scan.matched,
    returned: lines.length,
    truncated,
    lines,
    counts: Object.fromEntries(parts.map((count, index) => [isoText(at - reach + index * part), count])),
    ...(truncated ? { more: "these are the lines nearest to `at`; use fewer seconds, or move `at`, or filter" } : {}),
    ...scan.report,
  };
}

const AROUND_REACH = 256 * 1024;

export async function linesAround(
  input: {
    readonly file: string;
    readonly offset: number;
    readonly before?: number | undefined;
    readonly after?: number | undefined;
  },
  context: ToolContext,
) {
  const { offset, before = 10, after = 20 } = input;
  const file = await chooseFile(input.file, context);
  const notes: string[] = [];
  const found = await withLog(
    file,
    context,
    (note) => notes.push(note),
    (log) => readAround(log, offset, before, after),
  );
  if (found.tail.length === 0) throw new Error(`${input.file} ends before offset ${offset}; use the number behind @`);
  // What lies nearest to the line is kept when not everything fits.
  const head = [...fitting(present(found.head).reverse(), BYTES_BEFORE)].reverse();
  const tail = fitting(present(found.tail), BYTES_SHOWN - BYTES_BEFORE);
  const lines = [...head, ...tail];
  const truncated = lines.length < found.head.length + found.tail.length;
  return {
    returned: lines.length,
    truncated,
    lines,
    ...(truncated ? { more: "call again with the offset of the first or last of these lines" } : {}),
    ...noted(notes),
  };
}

const BYTES_BEFORE = 6 * 1024;

async function readAround(log: OpenLog, offset: number, before: number, after: number) {
  const from = log.packed ? 0 : Math.max(0, offset - AROUND_REACH);
  const select = compileSelector({}).begin(log.modified);
  const head: KeptLine[] = [];
  const tail: KeptLine[] = [];
  for await (const block of log.blocks(from)) {
    if (block.offset + block.bytes.length + AROUND_REACH < offset) continue;
    const selected = select(block);
    for (let index = 0; index < selected.count && tail.length <= after; index++) {
      const line = selected.line(index);
      // A read that began in the middle of a line begins with a part of one.
      if (from > 0 && line.offset === from) continue;
      if (line.offset + line.length < offset) head.push(keep(log.name, line));
      else tail.push(keep(log.name, line));
    }
    head.splice(0, head.length - before);
    if (tail.length > after) break;
  }
  return { head, tail };
}

interface Batch {
  readonly name: string;
  readonly selected: Selected;
  /** Matches before this batch, over all files. */
  readonly before: number;
}

/** Shows every block's selected lines to `onBatch`, file after file, and sums up. */
async function scanFiles(
  wanted: Files,
  selector: CompiledSelector,
  context: ToolContext,
  onBatch: (batch: Batch) => void,
): Promise<{ readonly matched: number; readonly report: object }> {
  const files = await chooseFiles(wanted, context);
  if (files.length > MOST_FILES) throw new Error(`${files.length} files match; name at most ${MOST_FILES} at once`);
  const perFile: (readonly [string, number])[] = [];
  const notes: string[] = [];
  let matched = 0;
  for (const file of files) {
    const before = matched;
    await withLog(
      file,
      context,
      (note) => notes.push(note),
      async (log) => {
        const select = selector.begin(log.modified);
        for await (const block of log.blocks()) {
          const selected = select(block);
          onBatch({ name: log.name, selected, before: matched });
          matched += selected.count;
        }
      },
    );
    if (matched > before) perFile.push([file.name, matched - before]);
  }
  const counts = perFile.sort(([, a], [, b]) => b - a).slice(0, FILES_REPORTED);
  const report = { searched: files.length, ...(files.length > 1 ? { per_file: Object.fromEntries(counts) } : {}) };
  return { matched, report: { ...report, ...noted(notes) } };
}

const MOST_FILES = 500;
const FILES_REPORTED = 20;

function createValuesOf({
  by,
  ignore_case: ignoreCase,
}: CountBy): (lines: readonly Line[]) => readonly (readonly string[])[] {
  if (by === undefined) return (lines) => lines.map(() => ["all lines"]);
  if ("shape" in by) return (lines) => lines.map((line) => [shapeOf(shown(line.text, line.length))]);
  if ("field" in by) return (lines) => lines.map((line) => fieldValues(parseRecord(line.text).fields, by.field));
  const pattern = compilePattern(by.pattern, ignoreCase ?? false);
  return (lines) => pattern.run(lines.map((line) => line.text)).map((value) => (value === undefined ? [] : [value]));
}

function bucketLength(text: string): number {
  const unit = { s: 1, m: 60, h: 3600, d: 86_400 }[text.slice(-1)] ?? 1;
  return Number(text.slice(0, -1)) * unit * 1000;
}

function keep(file: string, line: Line): KeptLine {
  return keptLine(file, line, shown(line.text, line.length));
}

/** Lines as the model sees them: `at` says where, for `around`. */
function present(lines: readonly KeptLine[]): { readonly at: string; readonly text: string }[] {
  return lines.map((line) => ({ at: `${line.file}@${line.offset}`, text: line.text }));
}
