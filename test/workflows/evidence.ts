import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { isObject, type Json } from "../../src/core/base/values.ts";
import type { Incident } from "./truth.ts";

/**
 * The files that a responder may see of an incident: the alert, and the folder without the files that contain the
 * answer.
 */

const HIDDEN = new Set(["README.md", "truth.yml", "make.mjs", "make", "history"]);

/** Copies the evidence below a separate folder, at the paths that the alert names. Returns the result of `work`. */
export async function withEvidence<T>(incident: Incident, work: (directory: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), "skillflow-score-"));
  try {
    const folder = join(directory, "workflows/incidents", incident.name);
    mkdirSync(dirname(folder), { recursive: true });
    const isShown = (path: string) => dirname(path) !== incident.folder || !HIDDEN.has(basename(path));
    cpSync(incident.folder, folder, { recursive: true, filter: isShown });
    touch(folder, readAlert(incident.alert).at);
    return await work(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** A log whose lines have no year uses that of its file. */
function touch(path: string, at: string): void {
  if (statSync(path).isDirectory()) for (const name of readdirSync(path)) touch(join(path, name), at);
  utimesSync(path, new Date(at), new Date(at));
}

/** The content of an alert, whichever system posted it. */
export interface Alert {
  /** When it was raised. */
  readonly at: string;
  readonly logs: string;
  readonly deploys: string;
  readonly metrics: string;
  readonly repository: string;
}

export function readAlert(payload: unknown): Alert {
  const all = [...textsOf(payload)].join("\n");
  const places = all.match(/workflows\/incidents\/[\w./*-]*\w/g) ?? [];
  const place = (pattern: RegExp) => places.find((one) => pattern.test(one)) ?? "";
  return {
    at: newestTime(all),
    logs: place(/\/logs\//),
    deploys: place(/deploys\.jsonl$/),
    metrics: place(/\/metrics\./),
    repository: place(/\.bundle$/),
  };
}

function* textsOf(value: unknown): Generator<string> {
  if (typeof value === "string") {
    yield value;
    if (value.startsWith("{")) yield* textsOf(parsed(value));
  } else if (typeof value === "number") yield String(value);
  else if (Array.isArray(value)) for (const one of value) yield* textsOf(one);
  else if (isObject(value)) for (const one of Object.values(value)) yield* textsOf(one);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function newestTime(text: string): string {
  const written = text.match(/\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g) ?? [];
  const epochs = (text.match(/\b1[789]\d{11}\b/g) ?? []).map((digits) => new Date(Number(digits)).toISOString());
  return [...written, ...epochs].sort().at(-1) ?? "";
}

/** A result as a model reads it, and its texts before they became JSON. */
export function shownText(output: Json): string {
  return [JSON.stringify(output), ...leavesOf(output)].join("\n");
}

function* leavesOf(value: Json): Generator<string> {
  if (value === null) return;
  if (typeof value !== "object") yield String(value);
  else for (const one of Array.isArray(value) ? value : Object.values(value)) yield* leavesOf(one as Json);
}
