import type { ToolContext } from "skillflow";
import { chooseFiles, type Files, type OpenLog, withLog } from "./files.ts";
import { fieldNames, type LineRecord, parseRecord } from "./record.ts";
import { compileSelector, type Line } from "./selector.ts";
import { fitting, noted } from "./text.ts";
import { isoText } from "./timestamp.ts";

export async function listFiles(
  input: { readonly files?: Files | undefined; readonly limit?: number | undefined },
  context: ToolContext,
) {
  const chosen = await chooseFiles(input.files ?? USUAL_FILES, context);
  const overviews = [];
  for (const file of chosen.slice(0, input.limit ?? 30)) {
    const notes: string[] = [];
    const overview = await withLog(file, context, (note) => notes.push(note), describeLog);
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

const USUAL_FILES = ["**/*.{log,jsonl,ndjson,out,err}", "**/*.{log,jsonl,ndjson,out,err}.*", "**/*log*/**"];
const LOOKED_AT = 64 * 1024;
const RECORDS_PARSED = 200;
const FIELDS_SHOWN = 40;

async function describeLog(log: OpenLog) {
  const head = await readPart(log, 0);
  const isWhole = head.whole || log.size <= head.bytes;
  const tail = isWhole || log.packed ? head : await readPart(log, Math.max(0, log.size - LOOKED_AT));
  const records = head.lines.slice(0, RECORDS_PARSED).map((line) => parseRecord(line.text));
  const fields = [...new Set(records.flatMap((record) => fieldNames(record.fields)))].slice(0, FIELDS_SHOWN);
  const first = head.lines.find((line) => line.time !== undefined)?.time;
  const last = tail.lines.findLast((line) => line.time !== undefined)?.time;
  return {
    file: log.name,
    bytes: log.size,
    ...(isWhole ? { lines: head.lines.length } : {}),
    ...(isWhole || log.packed ? {} : { lines_estimated: Math.round((log.size / head.bytes) * head.lines.length) }),
    ...(log.packed ? { packed: true } : {}),
    format: formatOf(head.lines, records),
    ...(first === undefined ? {} : { first: isoText(first) }),
    ...(last === undefined || (log.packed && !isWhole) ? {} : { last: isoText(last) }),
    ...(fields.length > 0 ? { fields } : {}),
  };
}

async function readPart(log: OpenLog, from: number) {
  const select = compileSelector({}, { times: true }).begin(log.modified);
  const lines: Line[] = [];
  let bytes = 0;
  for await (const block of log.blocks(from)) {
    const part = block.bytes.subarray(0, LOOKED_AT);
    const selected = select({ ...block, bytes: part });
    for (let index = 0; index < selected.count; index++) lines.push(selected.line(index));
    bytes += block.cutFrom ?? part.length;
    if (bytes >= LOOKED_AT) return { lines, bytes, whole: false };
  }
  return { lines, bytes, whole: true };
}

function formatOf(lines: readonly Line[], records: readonly LineRecord[]): string {
  if (lines.some((line) => line.text.includes("\0"))) return "binary";
  const formats = ["json", "logfmt", "text"].map((format) => ({
    format,
    count: records.filter((record) => record.format === format).length,
  }));
  return formats.reduce((best, next) => (next.count > best.count ? next : best)).format;
}
