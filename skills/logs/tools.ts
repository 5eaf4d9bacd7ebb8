import type { ToolContext } from "skillflow";
import { BYTES_SHOWN, fitting, lengthOf, limitOf } from "skillflow/internal";
import { lengthText } from "./buckets.ts";
import { createEnds, createNearest, createSpread, createTally, labelBuckets, type Values } from "./collect.ts";
import { compilePattern } from "./line/pattern.ts";
import { fieldValues, parseRecord, shapeOf } from "./line/record.ts";
import { fittingLast, noted, shown } from "./line/text.ts";
import { briefTime, isoText } from "./line/timestamp.ts";
import { chooseFile, type Files, type OpenLog, withLog } from "./read/files.ts";
import { scanFiles } from "./scan.ts";
import { compileSelector, instantOf, type Line, type Selector } from "./selector.ts";
import { createAliases, createView, type KeptLine, present, withoutEmpty } from "./view.ts";

/** Input of all tools that show lines. */
interface Shown extends Selector {
  readonly files: Files;
  readonly fields?: string | readonly string[] | undefined;
  readonly limit?: number | undefined;
}

interface Search extends Shown {
  readonly order?: "first" | "last" | undefined;
  readonly skip?: number | undefined;
}

export async function searchLines(input: Search, context: ToolContext) {
  const { order = "first", limit = 50, skip = 0 } = input;
  const last = order === "last";
  const columns = columnsOf(input);
  const view = createView(columns);
  // A table shows the time that a line was selected by, or else its own.
  const isRanged = input.since !== undefined || input.until !== undefined;
  const reach = limit + skip;
  const ends = createEnds(order, reach);
  const scan = await scanFiles(
    { ...input, named: namedIn(columns) },
    { times: true, mayLackTimes: true },
    context,
    ({ selected, before, ...origin }) => {
      for (let step = 0; step < selected.count; step++) {
        // From the end on which lines are kept, so that few others are looked at.
        const index = last ? selected.count - 1 - step : step;
        const line = selected.line(index);
        ends.add(before + index, line.time, () => view(origin, isRanged ? line : { ...line, time: undefined }));
      }
    },
    () => ends.merge(),
  );
  const kept = ends.lines();
  const page = last ? kept.slice(0, skip > 0 ? -skip : undefined).slice(-limit) : kept.slice(skip, reach);
  const lines = last ? fittingLast(page) : fitting(page);
  const reached = skip + lines.length;
  const truncated = lines.length > 0 && reached < scan.matched;
  const aliases = createAliases();
  const parts = present(lines, aliases, columns);
  return {
    matched: scan.matched,
    returned: lines.length,
    truncated,
    ...parts,
    ...(truncated ? { more: `${cutTold(lines, page)}call again with skip: ${reached}, or narrow the filters` } : {}),
    ...(await scan.report(aliases, scan.matched > 0 && hasValues(lines, columns))),
  };
}

export async function sampleLines(input: Shown, context: ToolContext) {
  const columns = columnsOf(input);
  const view = createView(columns);
  const spread = createSpread(input.limit ?? 20);
  const scan = await scanFiles(
    { ...input, named: namedIn(columns) },
    {},
    context,
    ({ selected, before, ...origin }) => {
      for (let index = 0; index < selected.count; index++) {
        spread.add(before + index, () => view(origin, selected.line(index)));
      }
    },
  );
  const page = spread.lines();
  const lines = fitting(page);
  const aliases = createAliases();
  const parts = present(lines, aliases, columns);
  return {
    matched: scan.matched,
    returned: lines.length,
    truncated: lines.length < scan.matched,
    ...parts,
    more: `${cutTold(lines, page)}these are spread evenly over all that match`,
    ...(await scan.report(aliases, scan.matched > 0 && hasValues(lines, columns))),
  };
}

interface CountBy extends Selector {
  readonly files: Files;
  readonly by?: string | readonly string[] | undefined;
  readonly pattern?: string | undefined;
  readonly shape?: boolean | undefined;
  readonly bucket?: string | undefined;
  readonly limit?: number | undefined;
}

export async function countBy(input: CountBy, context: ToolContext) {
  const bucket = input.bucket === undefined ? undefined : lengthOf(input.bucket);
  const tally = createTally(bucket);
  const { names, valuesOf } = createCounted(input);
  let without = 0;
  let untimed = 0;
  const asked = { ...input, named: input.by === undefined ? [] : [input.by].flat() };
  const scan = await scanFiles(asked, { times: bucket !== undefined }, context, ({ selected }) => {
    const lines = Array.from({ length: selected.count }, (_, index) => selected.line(index));
    for (const [index, values] of valuesOf(lines).entries()) {
      const time = lines[index]?.time;
      if (bucket && time === undefined) untimed++;
      if (values.length === 0) without++;
      for (const each of values) tally.add(each, time);
    }
  });
  const { groups, distinct, other } = tally.result(input.limit ?? 20);
  const labels = bucket
    ? labelBuckets(
        groups.map(({ buckets }) => buckets),
        bucket,
      )
    : undefined;
  const rows = groups.map(({ values, count }, index) => [...values, count, ...(labels ? [labels.counts[index]] : [])]);
  const fit = fitting(rows);
  const cut = groups.slice(fit.length).reduce((sum, group) => sum + group.count, 0);
  return {
    matched: scan.matched,
    distinct,
    returned: fit.length,
    truncated: other + cut > 0,
    ...(bucket ? { bucket: input.bucket, ...labels?.day } : {}),
    ...withoutEmpty([...names, "count", ...(bucket ? ["buckets"] : [])], fit),
    ...(other + cut > 0 ? { other: other + cut, more: `${cutTold(fit, rows)}raise limit, or narrow the filters` } : {}),
    ...(without > 0 ? { without_value: without } : {}),
    ...(untimed > 0 ? { without_time: untimed } : {}),
    ...(await scan.report(createAliases(), scan.matched > 0 && distinct > 0 && without < scan.matched)),
  };
}

interface TimeWindow extends Shown {
  readonly at: string;
  readonly seconds?: number | undefined;
}

const WINDOW_PARTS = 20;

export async function timeWindow(input: TimeWindow, context: ToolContext) {
  const at = instantOf(input.at);
  const reach = (input.seconds ?? 60) * 1000;
  const columns = columnsOf(input);
  const view = createView(columns);
  const range = { since: isoText(at - reach), until: isoText(at + reach) };
  const nearest = createNearest(at, input.limit ?? 50);
  const part = (2 * reach) / WINDOW_PARTS;
  const parts = new Map<number, number>();
  const scan = await scanFiles(
    { ...input, ...range, named: namedIn(columns) },
    {},
    context,
    ({ selected, ...origin }) => {
      for (let index = 0; index < selected.count; index++) {
        const line = selected.line(index);
        const time = line.time ?? at;
        const begin = at - reach + Math.min(WINDOW_PARTS - 1, Math.floor((time - at + reach) / part)) * part;
        parts.set(begin, (parts.get(begin) ?? 0) + 1);
        nearest.add(time, () => view(origin, line));
      }
    },
  );
  const page = nearest.lines();
  const lines = fitting(page);
  const truncated = lines.length < scan.matched;
  const aliases = createAliases();
  const { day, counts } = labelBuckets([parts], part);
  const shownLines = present(lines, aliases, columns);
  return {
    from: briefTime(at - reach),
    to: briefTime(at + reach),
    matched: scan.matched,
    returned: lines.length,
    truncated,
    ...shownLines,
    every: lengthText(part),
    ...day,
    counts: counts[0] ?? {},
    ...(truncated
      ? { more: `${cutTold(lines, page)}these are the lines nearest to \`at\`; use fewer seconds, or filter` }
      : {}),
    ...(await scan.report(aliases, scan.matched > 0 && hasValues(lines, columns))),
  };
}

const AROUND_REACH = 256 * 1024;

export async function linesAround(
  input: {
    readonly file: string;
    readonly offset: number;
    readonly before?: number | undefined;
    readonly after?: number | undefined;
    readonly fields?: string | readonly string[] | undefined;
  },
  context: ToolContext,
) {
  const { offset, before = 10, after = 20 } = input;
  const columns = columnsOf(input);
  const file = await chooseFile(input.file, context);
  const notes: string[] = [];
  const place = { offset, before, after, columns, limit: limitOf(context) };
  const found = await withLog(file, context, notes, (log) => readAround(log, place));
  if (found.tail.length === 0) throw new Error(`${input.file} ends before offset ${offset}; use the number behind @`);
  // If not everything fits, keeps what is nearest to the line.
  const head = fittingLast(found.head, BYTES_BEFORE);
  const tail = fitting(found.tail, BYTES_SHOWN - BYTES_BEFORE);
  const lines = [...head, ...tail];
  const truncated = lines.length < found.head.length + found.tail.length;
  const aliases = createAliases();
  return {
    returned: lines.length,
    truncated,
    ...present(lines, aliases, columns),
    ...aliases.all(),
    ...(truncated ? { more: "no more fit; call again with the offset of the first or last of these lines" } : {}),
    ...noted(notes),
  };
}

const BYTES_BEFORE = 6 * 1024;

interface Neighbourhood {
  readonly offset: number;
  readonly before: number;
  readonly after: number;
  readonly columns: readonly string[] | undefined;
  readonly limit: number;
}

async function readAround(log: OpenLog, { offset, before, after, columns, limit }: Neighbourhood) {
  const from = log.seekable ? Math.max(0, offset - AROUND_REACH) : 0;
  const selection = compileSelector({}, { limit }).begin(log.modified);
  const view = createView(columns);
  const origin = { file: log.name, modified: log.modified };
  const head: KeptLine[] = [];
  const tail: KeptLine[] = [];
  for await (const block of log.blocks(from)) {
    if (block.offset + block.bytes.length + AROUND_REACH < offset) continue;
    const selected = selection.take(block);
    for (let index = 0; index < selected.count && tail.length <= after; index++) {
      const line = selected.line(index);
      // A read that started inside a line begins with a fragment.
      if (from > 0 && line.offset === from) continue;
      if (line.offset + line.length < offset) head.push(view(origin, line));
      else tail.push(view(origin, line));
    }
    head.splice(0, head.length - before);
    if (tail.length > after) break;
  }
  return { head, tail };
}

/** Returns the column names to count by, and a function that returns each line's values. */
function createCounted({ by, pattern, shape, ignore_case: ignoreCase }: CountBy) {
  const fields = by === undefined ? [] : [by].flat();
  const compiled = pattern === undefined ? undefined : compilePattern(pattern, ignoreCase ?? false);
  const names = [...fields, ...(compiled ? ["pattern"] : []), ...(shape ? ["shape"] : [])];
  return {
    names,
    valuesOf(lines: readonly Line[]): readonly (readonly Values[])[] {
      const found = compiled?.run(lines.map((line) => line.text));
      return lines.map((line, index) => {
        const record = fields.length > 0 ? parseRecord(line.text).fields : {};
        const parts = [
          ...fields.map((field) => fieldValues(record, field)),
          ...(compiled ? [[found?.[index] ?? []].flat()] : []),
          ...(shape ? [[shown(shapeOf(line.text), line.length)]] : []),
        ];
        return parts.length > 0 && parts.every((each) => each.length === 0) ? [] : combine(parts);
      });
    },
  };
}

const MOST_COMBINATIONS = 20;

/** Combines every value of one list with every value of the others. */
function combine(parts: readonly (readonly string[])[]): readonly Values[] {
  return parts.reduce<readonly Values[]>(
    (rows, values) =>
      rows
        .flatMap((row) => (values.length > 0 ? values : [null]).map((value) => [...row, value]))
        .slice(0, MOST_COMBINATIONS),
    [[]],
  );
}

function columnsOf({ fields }: { readonly fields?: string | readonly string[] | undefined }) {
  return fields === undefined ? undefined : [fields].flat();
}

/** Returns the columns that are fields. `time` and `line` need no field. */
function namedIn(columns: readonly string[] | undefined): readonly string[] | undefined {
  return columns?.filter((column) => column !== "time" && column !== "line");
}

/** Returns true if a table has any value that is not null. */
function hasValues(lines: readonly KeptLine[], columns: readonly string[] | undefined): boolean {
  if (!columns) return true;
  const rows = lines.map(({ content }) => content as readonly unknown[]);
  return columns.every((_, index) => rows.some((row) => row[index] !== null));
}

/** Explains that fewer lines are shown than requested. */
function cutTold(part: readonly unknown[], page: readonly unknown[]): string {
  return part.length < page.length
    ? `only ${part.length} of ${page.length} fit into one result (fields makes them shorter); `
    : "";
}
