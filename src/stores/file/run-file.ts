import { randomUUID } from "node:crypto";
import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { storeError } from "../store-error.ts";
import { openStored, parseRun, readBytes, type Stored } from "./run-lines.ts";

/** Creates the file with a complete first line, so that a run without its record can never exist. */
export function createFile(path: string, line: string): { readonly file: number; readonly length: number } {
  const draft = `${path}.${randomUUID()}`;
  let file: number | undefined;
  try {
    file = openSync(draft, "wx", 0o600);
    const length = appendWhole(file, 0, line);
    fdatasyncSync(file);
    renameSync(draft, path);
    syncDirectory(dirname(path));
    return { file, length };
  } catch (error) {
    if (file !== undefined) closeSync(file);
    rmSync(draft, { force: true });
    throw storeError(error, `${path} cannot be written`);
  }
}

/** Opens a run's file for appending after its last complete record. */
export function openFile(path: string, run: string): { readonly file: number; readonly stored: Stored } {
  const file = openStored(path, "r+");
  try {
    const stored = parseRun(readBytes(file, path), path, run);
    ftruncateSync(file, stored.length);
    return { file, stored };
  } catch (error) {
    closeSync(file);
    throw storeError(error, `${path} cannot be written`);
  }
}

/** Appends text and returns the new length. After a failure the file is as before. */
export function appendWhole(file: number, length: number, text: string): number {
  const bytes = Buffer.from(text, "utf8");
  try {
    for (let written = 0; written < bytes.length; ) {
      written += writeSync(file, bytes, written, bytes.length - written, length + written);
    }
  } catch (error) {
    cutBack(file, length);
    throw storeError(error, "the run cannot be recorded");
  }
  return length + bytes.length;
}

/** Removes what a failed append has left. Ignores errors, because the failure itself is what the caller reports. */
export function cutBack(file: number, length: number): void {
  try {
    if (fstatSync(file).size > length) ftruncateSync(file, length);
  } catch {
    // A later append or the next process overwrites an incomplete record.
  }
}

function syncDirectory(directory: string): void {
  const handle = openSync(directory, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
