import { fstatSync, readSync } from "node:fs";
import { parseJson } from "../../core/base/values.ts";
import type { RunEvent } from "../../core/engine/event/event.ts";
import { isEventLine } from "../record-check.ts";
import { reading } from "./run-lines.ts";

/** Returns a function that reads the events added since its last call. It skips records that are not complete yet. */
export function tailRun(path: string): () => readonly RunEvent[] {
  let start = 0;
  let isFirst = true;
  return () => {
    const text = reading(path, (file) => readFrom(file, start));
    const events: RunEvent[] = [];
    let [line, whole] = [0, 0];
    let taken = 0;
    for (let end = text.indexOf(10); end !== -1; end = text.indexOf(10, line)) {
      const value = parseJson(text.toString("utf8", line, end));
      line = end + 1;
      if (isFirst) {
        isFirst = false;
        [whole, taken] = [line, events.length];
        continue;
      }
      if (!isEventLine(value)) break;
      events.push(value);
      if (value.more !== true) [whole, taken] = [line, events.length];
    }
    start += whole;
    return events.slice(0, taken);
  };
}

function readFrom(file: number, start: number): Buffer {
  const length = Math.max(0, fstatSync(file).size - start);
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, length === 0 ? 0 : readSync(file, bytes, 0, length, start));
}
