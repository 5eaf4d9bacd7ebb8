import { readSync } from "node:fs";
import { SkillflowError } from "../../core/base/errors.ts";
import { isRunLine } from "../../core/engine/event/record.ts";
import {
  isOutlined,
  isTelling,
  type Skimmed,
  type SkimmedRun,
  skimEvent,
  skimRecord,
} from "../../core/engine/event/skim.ts";
import { membersOf } from "./members.ts";
import { altered, beginningOf, damaged, noRun, otherRun, reading, readLine } from "./run-lines.ts";

/**
 * Reads the parts of a run's file that a list of runs shows. Matches most lines with patterns of what the journal
 * writes instead of parsing them. Of other lines, only the members are parsed that the list needs.
 */

export function skimRun(bytes: Buffer, path: string, run: string): SkimmedRun {
  const end = bytes.indexOf(10);
  const first = end === -1 ? undefined : outlineOf(bytes, 0, end);
  if (!isRunLine(first)) throw noRun(path, run);
  const record = skimRecord(first);
  if (!record) throw damaged(path, run, { line: 1 });
  if (record.run !== run) throw altered(run, otherRun(record.run));
  const events: Skimmed[] = [];
  let [part, text] = [0, ""];
  for (let start = end + 1; start < bytes.length; ) {
    const end = bytes.indexOf(10, start);
    if (end === -1) break;
    if (end > part + text.length)
      [part, text] = [start, bytes.toString("latin1", start, Math.max(end, start + 65_536))];
    const event = glance(text, start - part, end - part) ?? skimLine(bytes, start, end);
    start = end + 1;
    if (event) events.push(event);
    else if (start < bytes.length) throw damaged(path, run, { line: events.length + 2 });
  }
  return { record, events };
}

function skimLine(bytes: Buffer, start: number, end: number): Skimmed | undefined {
  const line = outlineOf(bytes, start, end);
  return line && skimEvent(line);
}

/** Returns what a summary needs of a line, or the whole line if the journal did not write it. */
function outlineOf(bytes: Buffer, start: number, end: number): object | undefined {
  const whole = () => readLine<object>(bytes, start)?.value;
  return (end - start < SHORT ? whole() : undefined) ?? membersOf(bytes, start, end, isOutlined) ?? whole();
}

/** Parsing all of a shorter line takes less time than skipping parts of it, in bytes. */
const SHORT = 8192;

/** Matches one line of the text, as that takes less time than parsing. Returns undefined if it must be parsed. */
function glance(text: string, start: number, end: number): Skimmed | undefined {
  HEAD.lastIndex = start;
  const head = HEAD.exec(text);
  if (!head) return undefined;
  const [, time = "", epoch, at, type] = head;
  if (!isTelling(type)) return { type: "other", time, epoch: Number(epoch), at };
  if (type !== "model:reply") return undefined;
  const usage = USAGE.exec(text.slice(Math.max(start, end - 400), end))?.[1];
  return usage === undefined ? undefined : { type, time, epoch: Number(epoch), at, usage: JSON.parse(usage) };
}

/** Start of a line as the journal writes it. Lines with non-ASCII characters do not match and are parsed. */
const HEAD =
  /\{"seq":\d+,"time":"([^"\\\n]+)","epoch":(\d{1,9}),"key":"[^"\\\n]*",(?:"at":"([ !#-[\]-~]*)",)?(?:"more":true,)?"type":"([^"\\\n]+)"/y;

/** End of a model reply's line. It cannot match inside a string, where every quotation mark is escaped. */
const USAGE =
  /,"usage":(null|\{"inputTokens":\d{1,15},"cachedTokens":\d{1,15},"outputTokens":\d{1,15},"costUsd":(?:null|\d{1,9}(?:\.\d+)?(?:e-\d+)?)\}),"prompt":"[^"\\]*"(?:,"seal":"[0-9a-f]{64}")?\}$/;

/** Returns when a run began, from its file. Returns an empty string if the file is not that run's. */
export function startOf(path: string, run: string): string {
  try {
    const head = reading(path, (file) =>
      HEAD_BYTES.toString("latin1", 0, readSync(file, HEAD_BYTES, 0, HEAD_BYTES.length, 0)),
    );
    const [, id, at] = RECORD.exec(head) ?? [];
    const found = at === undefined ? beginningOf(path) : { run: id, at };
    return found?.run === run ? found.at : "";
  } catch (error) {
    if (error instanceof SkillflowError) return "";
    throw error;
  }
}

const HEAD_BYTES = Buffer.alloc(400);
const RECORD = /^\{"schema":"skillflow\.run\/[12]","run":"([^"\\]*)","kind":"[^"\\]*","at":"([^"\\]+)",/;
