import { type Condition, compileConditions, type Wanted as WantedValue } from "./line/condition.ts";
import { compilePattern, type Pattern, requiredLiteral } from "./line/pattern.ts";
import { ACCESS_FIELDS, parseJson, parseRecord } from "./line/record.ts";
import { parseInstant, timeOfFields, timeOfText } from "./line/timestamp.ts";
import { type Block, LINE_KEPT } from "./read/blocks.ts";

/** Filter for lines. All given criteria must hold. */
export interface Selector {
  readonly contains?: string | readonly string[] | undefined;
  readonly excludes?: string | readonly string[] | undefined;
  readonly matches?: string | undefined;
  readonly ignore_case?: boolean | undefined;
  readonly where?: Readonly<Record<string, WantedValue>> | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** Lines of one block that a selector accepted, valid as long as the block. */
export interface Selected {
  readonly count: number;
  line(index: number): Line;
}

export interface Line {
  /** Offset of the line in the file. */
  readonly offset: number;
  /** Text without the line break, cut at LINE_KEPT. */
  readonly text: string;
  /** Size of the whole line in bytes. */
  readonly length: number;
  /** Time of the line or of the last line above with one. Set only if times were requested. */
  readonly time: number | undefined;
}

/** Throws an Error that explains what is wrong with the selector. `times` requests the time of every selected line. */
export function compileSelector(selector: Selector, { times = false, limit = Number.POSITIVE_INFINITY } = {}) {
  const wanted = compileWanted(selector, limit);
  return {
    /** Starts a file, whose blocks must come in order. `latest` determines the year of timestamps without one. */
    begin(latest: number) {
      const clock = wanted.range || times || Number.isFinite(limit) ? createClock(latest) : undefined;
      return {
        take: (block: Block) => select(block, wanted, clock),
        /** Returns whether any line had a time so far, or undefined if times were not requested. */
        sawTime: () => clock?.sawTime(),
      };
    },
  };
}

interface Wanted {
  /** Bytes that every selected line must contain, in lower case if `fold` is set. */
  readonly needle: Buffer | undefined;
  readonly fold: boolean;
  readonly contains: readonly Buffer[];
  readonly excludes: readonly Buffer[];
  readonly where: readonly Condition[];
  readonly range: { readonly since: number; readonly until: number } | undefined;
  readonly pattern: Pattern | undefined;
  /** Time after which no line is selected. */
  readonly limit: number;
}

function compileWanted(selector: Selector, limit: number): Wanted {
  const fold = selector.ignore_case ?? false;
  const where = compileConditions(selector.where);
  const bytes = (text: string) => foldBytes(Buffer.from(text), fold);
  const contains = [selector.contains ?? []].flat().map(bytes);
  const exact = [
    ...contains,
    bytes(requiredLiteral(selector.matches ?? "")),
    ...where.map((each) => bytes(valueRun(each))),
  ];
  const keys = where.filter(({ needsField }) => needsField).map((each) => bytes(keyRun(each)));
  // Most lines contain the key, so it is a poor search term, used only if there is no other.
  const needle = exact.some((each) => each.length > 0) ? longest(exact) : longest(keys);
  return {
    needle: needle.length > 0 ? needle : undefined,
    fold,
    contains: [...exact, ...keys].filter((each) => each.length > 0 && each !== needle),
    excludes: [selector.excludes ?? []].flat().map(bytes),
    where,
    range: rangeOf(selector),
    pattern: selector.matches === undefined ? undefined : compilePattern(selector.matches, fold),
    limit,
  };
}

function longest(candidates: readonly Buffer[]): Buffer {
  return candidates.reduce((best, next) => (next.length > best.length ? next : best), Buffer.alloc(0));
}

function rangeOf({ since, until }: Selector): Wanted["range"] {
  if (since === undefined && until === undefined) return undefined;
  return {
    since: since === undefined ? Number.NEGATIVE_INFINITY : instantOf(since),
    until: until === undefined ? Number.POSITIVE_INFINITY : instantOf(until),
  };
}

export function instantOf(text: string): number {
  const time = parseInstant(text);
  if (time === undefined) throw new Error(`${text} is not a time; write 2026-01-31T13:55:00Z or epoch seconds`);
  return time;
}

/** Returns letters and digits that a line must contain to meet the condition. Writers never escape those. */
function valueRun({ exactly = "" }: Condition): string {
  // Some numbers have several spellings, such as 1500.5 and 1.5005e3.
  const isOddNumber = exactly !== "" && Number.isFinite(Number(exactly)) && !/^\d{1,15}$/.test(exactly);
  return isOddNumber ? "" : plainRun(exactly);
}

function keyRun({ field }: Condition): string {
  const key = field.split(".").at(-1) ?? "";
  return /^\d+$/.test(key) || ACCESS_FIELDS.includes(key) ? "" : plainRun(key);
}

function plainRun(text: string): string {
  return (text.match(/[A-Za-z0-9_]+/g) ?? []).reduce((best, run) => (run.length > best.length ? run : best), "");
}

function select(block: Block, wanted: Wanted, clock: Clock | undefined): Selected {
  const hay = wanted.fold ? foldBytes(block.bytes, true) : block.bytes;
  let spans = wanted.needle ? spansWith(hay, wanted.needle) : allSpans(hay);
  if (wanted.contains.length + wanted.excludes.length > 0) spans = keepByBytes(spans, hay, wanted);
  if (wanted.where.length > 0) spans = keepByFields(spans, block, wanted);
  if (wanted.pattern) spans = keepByPattern(spans, block, wanted.pattern);
  const times: (number | undefined)[] = [];
  if (clock) spans = keepByTime(spans, block, clock, wanted, times);
  return {
    count: spans.length / 2,
    line: (index) => {
      const [start, end] = spanAt(spans, index, block.bytes);
      const length = block.cutFrom ?? end - start;
      return { offset: block.offset + start, text: textOf(block.bytes, start, end), length, time: times[index] };
    },
  };
}

/** Lines as pairs of numbers, for speed: a position in the line, and the line's end. */
type Spans = readonly number[];

function allSpans(hay: Buffer): Spans {
  const spans: number[] = [];
  for (let start = 0; start < hay.length; ) {
    const newline = hay.indexOf(10, start);
    const end = newline < 0 ? hay.length : newline;
    spans.push(start, end);
    start = end + 1;
  }
  return spans;
}

function spansWith(hay: Buffer, needle: Buffer): Spans {
  const spans: number[] = [];
  for (let from = 0; from < hay.length; ) {
    const at = hay.indexOf(needle, from);
    if (at < 0) break;
    const newline = hay.indexOf(10, at);
    const end = newline < 0 ? hay.length : newline;
    const stop = at + needle.length;
    // `from` is at or before the line's start. The exact start is only needed if that check fails.
    if (stop - from <= LINE_KEPT || stop - startOf(hay, at) <= LINE_KEPT) spans.push(at, end);
    from = end + 1;
  }
  return spans;
}

function startOf(bytes: Buffer, position: number): number {
  return position === 0 ? 0 : bytes.lastIndexOf(10, position - 1) + 1;
}

function spanAt(spans: Spans, index: number, bytes: Buffer): readonly [number, number] {
  const position = spans[index * 2] ?? 0;
  return [startOf(bytes, position), spans[index * 2 + 1] ?? position];
}

/** Returns the lines that `keeps` accepts, given their start and end. */
function keep(spans: Spans, bytes: Buffer, keeps: (start: number, end: number, index: number) => boolean): Spans {
  const kept: number[] = [];
  for (let index = 0; index * 2 < spans.length; index++) {
    const [start, end] = spanAt(spans, index, bytes);
    if (keeps(start, end, index)) kept.push(start, end);
  }
  return kept;
}

function keepByBytes(spans: Spans, hay: Buffer, { contains, excludes }: Wanted): Spans {
  return keep(spans, hay, (start, end) => {
    const line = hay.subarray(start, Math.min(end, start + LINE_KEPT));
    return contains.every((each) => line.includes(each)) && !excludes.some((each) => line.includes(each));
  });
}

function keepByFields(spans: Spans, block: Block, { where }: Wanted): Spans {
  return keep(spans, block.bytes, (start, end) => {
    const { fields } = parseRecord(textOf(block.bytes, start, end));
    return where.every((condition) => condition.holds(fields));
  });
}

function keepByPattern(spans: Spans, block: Block, pattern: Pattern): Spans {
  const texts: string[] = [];
  keep(spans, block.bytes, (start, end) => texts.push(textOf(block.bytes, start, end)) > 0);
  const found = pattern.run(texts);
  return keep(spans, block.bytes, (_start, _end, index) => found[index] !== undefined);
}

function keepByTime(
  spans: Spans,
  block: Block,
  clock: Clock,
  { range, limit }: Wanted,
  times: (number | undefined)[],
): Spans {
  const kept = keep(spans, block.bytes, (start, end) => {
    const time = clock.timeAt(block.bytes, start, end);
    if (time !== undefined && time > limit) return false;
    if (range && (time === undefined || time < range.since || time > range.until)) return false;
    times.push(time);
    return true;
  });
  clock.finish(block.bytes);
  return kept;
}

/** Returns a function that visits each line of a file's blocks, which must come in order, with the times of the lines. */
export function lineReader(latest: number): (block: Block, visit: (line: Line) => void) => void {
  let known: number | undefined;
  return ({ bytes, offset, cutFrom }, visit) => {
    for (let start = 0; start < bytes.length; ) {
      const newline = bytes.indexOf(10, start);
      const end = newline < 0 ? bytes.length : newline;
      const text = textOf(bytes, start, end);
      known = timeOfLine(timedPart(text), latest) ?? known;
      visit({ offset: offset + start, text, length: cutFrom ?? end - start, time: known });
      start = end + 1;
    }
  };
}

/** Returns the part of a line that may have its time. */
function timedPart(text: string): string {
  return /^\[?\{|\}$/.test(text) ? text : text.slice(0, TEXT_TIME_WITHIN);
}

function textOf(bytes: Buffer, start: number, end: number): string {
  const last = bytes[end - 1] === 13 && end > start ? end - 1 : end;
  return bytes.toString("utf8", start, Math.min(last, start + LINE_KEPT));
}

/** Times of a file's lines. A line without one, as in a stack trace, gets that of the lines above. */
type Clock = ReturnType<typeof createClock>;

/** Tells the times of a file's lines. A line without one, as in a stack trace, gets that of the lines above. */
function createClock(latest: number) {
  let known: number | undefined;
  let seen = -1;
  /** Returns a line's time. Must be called in the order of the lines. */
  const timeAt = (bytes: Buffer, start: number, end: number) => {
    let time = ownTime(bytes, start, end, latest);
    for (let at = start; time === undefined && at > seen + 1; ) {
      const before = startOf(bytes, at - 1);
      time = ownTime(bytes, before, at - 1, latest);
      at = before;
    }
    known = time ?? known;
    seen = end;
    return known;
  };
  return {
    timeAt,
    finish(bytes: Buffer): void {
      if (seen < bytes.length) timeAt(bytes, bytes.length, bytes.length);
      seen = -1;
    },
    sawTime: () => known !== undefined,
  };
}

const TEXT_TIME_WITHIN = 256;
const TIME_PAIR = /(?:^|\s)(?:ts|time|timestamp|t)=/;

function ownTime(bytes: Buffer, start: number, end: number, latest: number): number | undefined {
  const isJson = bytes[start] === 123 || (bytes[start] === 91 && bytes[start + 1] === 123);
  const isWhole = isJson || bytes[end - 1] === 125 || end - start <= TEXT_TIME_WITHIN;
  const stop = isWhole ? end : start + TEXT_TIME_WITHIN;
  return timeOfLine(textOf(bytes, start, stop), latest);
}

/** Returns a line's own time. `latest` determines the year of timestamps without one. */
export function timeOfLine(text: string, latest: number): number | undefined {
  if (text.startsWith("{")) {
    const { format, fields } = parseRecord(text);
    if (format === "json") return timeOfFields(fields);
  } else if (text.startsWith("[{")) {
    const value = parseJson(text);
    if (typeof value === "object" && value !== null) return timeOfFields(value);
  }
  const time = timeOfText(text.slice(0, TEXT_TIME_WITHIN), latest);
  if (time !== undefined || !/=|\}$/.test(text)) return time;
  const { format, fields } = parseRecord(text);
  return format !== "text" || TIME_PAIR.test(text) ? timeOfFields(fields) : undefined;
}

/** Converts ASCII letters to lower case if `fold` is set, four bytes at a time because it processes whole files. */
function foldBytes(bytes: Buffer, fold: boolean): Buffer {
  if (!fold) return bytes;
  const words = new Int32Array(Math.ceil(bytes.length / 4));
  const folded = Buffer.from(words.buffer, 0, bytes.length);
  bytes.copy(folded);
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? 0;
    const low = word & 0x7f7f7f7f;
    const isUpper = (low + 0x3f3f3f3f) & ~(low + 0x25252525) & ~word & 0x80808080;
    words[index] = word | (isUpper >>> 2);
  }
  return folded;
}
