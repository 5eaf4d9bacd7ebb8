import type { ToolContext } from "skillflow";
import { fitting } from "skillflow/internal";
import { fieldNames, type LineRecord, parseRecord } from "./line/record.ts";
import { noted } from "./line/text.ts";
import { briefTime } from "./line/timestamp.ts";
import { type Excerpt, readEnds } from "./read/excerpt.ts";
import { chooseFiles, type Files, type OpenLog, withLog } from "./read/files.ts";
import { compileSelector } from "./selector.ts";

export async function listFiles(
  input: { readonly files?: Files | undefined; readonly limit?: number | undefined },
  context: ToolContext,
) {
  const chosen = await chooseFiles(input.files ?? USUAL_FILES, context);
  const overviews = [];
  for (const file of chosen.slice(0, input.limit ?? 30)) {
    const notes: string[] = [];
    const overview = await withLog(file, context, notes, describeLog);
    overviews.push({ ...overview, ...noted(notes) });
  }
  const fit = fitting(overviews);
  const truncated = fit.length < chosen.length;
  return {
    matched: chosen.length,
    returned: fit.length,
    truncated,
    files: fit,
    ...(truncated ? { more: "raise limit or narrow the glob" } : {}),
  };
}

const USUAL_FILES = [
  "**/*.{log,jsonl,ndjson,out,err,csv,tsv,prom}",
  "**/*.{log,jsonl,ndjson,out,err,csv,tsv,prom}.*",
  "**/*{log,trace,span,metric,event,alert,incident,otel,otlp}*.{json,txt,gz}",
  "**/*log*/**",
];
const RECORDS_PARSED = 200;
const FIELDS_SHOWN = 40;
const TAIL = 16 * 1024;
/** Maximum number of bytes to read when counting lines of a file that is not seekable. */
const MOST_COUNTED = 512 * 1024 * 1024;

async function describeLog(log: OpenLog) {
  const ends = await readEnds(log);
  const [head = { lines: [], bytes: 0, isEnd: true }] = ends;
  const isBinary = head.lines.some((line) => line.text.includes("\0"));
  if (isBinary) return { file: log.name, bytes: log.size, ...(log.packed ? { packed: true } : {}), format: "binary" };
  const records = head.lines.slice(0, RECORDS_PARSED).map((line) => parseRecord(line.text));
  const fields = [...new Set(records.flatMap((record) => fieldNames(record.fields)))];
  const all = await countLines(log, head);
  // Files may have their newest line first.
  const times = [...ends.flatMap(({ lines }) => lines), ...(all?.tail ?? [])].flatMap(({ time }) => time ?? []);
  const [first, last] =
    times.length > 0 ? [times.reduce((a, b) => Math.min(a, b)), times.reduce((a, b) => Math.max(a, b))] : [];
  return {
    file: log.name,
    bytes: log.size,
    ...linesTold(log, head, all?.count),
    ...(log.packed ? { packed: true } : {}),
    format: log.layout === "lines" ? formatOf(records) : log.layout,
    ...(first === undefined ? { time: "no line has one" } : { first: briefTime(first) }),
    ...(last === undefined ? {} : { last: briefTime(last) }),
    ...(fields.length > 0 ? { fields: fields.slice(0, FIELDS_SHOWN) } : {}),
    ...(fields.length > FIELDS_SHOWN ? { more_fields: fields.length - FIELDS_SHOWN } : {}),
  };
}

/** Counts the lines of a small or non-seekable file. Returns undefined if an estimate must do. */
async function countLines(log: OpenLog, head: Excerpt) {
  if (head.isEnd) return { count: head.lines.length, tail: [] };
  if (log.seekable) return undefined;
  let count = 0;
  let bytes = 0;
  let tail = Buffer.alloc(0);
  for await (const block of log.blocks()) {
    bytes += block.cutFrom ?? block.bytes.length;
    if (bytes > MOST_COUNTED) return undefined;
    count += linesIn(block.bytes);
    tail = Buffer.from(block.bytes.subarray(-TAIL));
  }
  const { count: length, line } = compileSelector({}, { times: true })
    .begin(log.modified)
    .take({ bytes: tail, offset: 0 });
  return { count, tail: Array.from({ length }, (_, index) => line(index)) };
}

function linesIn(bytes: Buffer): number {
  let count = bytes.at(-1) === 10 ? 0 : 1;
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) count++;
  return count;
}

function linesTold(log: OpenLog, head: Excerpt, counted: number | undefined) {
  if (counted !== undefined) return { lines: counted };
  return log.packed ? {} : { lines_estimated: Math.round((log.size / head.bytes) * head.lines.length) };
}

/** Returns the format that most records have. Without any record, it is text. */
export function formatOf(records: readonly LineRecord[]): string {
  const formats = ["json", "logfmt", "access", "text"].map((format) => ({
    format,
    count: records.filter((record) => record.format === format).length,
  }));
  return formats.reduce((best, next) => (next.count > best.count ? next : best), { format: "text", count: 0 }).format;
}
