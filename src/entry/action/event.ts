import { readFileSync, statSync } from "node:fs";
import { isObject, parseJson } from "../../core/base/values.ts";
import type { Environment } from "../../core/document/config.ts";

/** Event that started the job, as GitHub wrote it. Parts of it come from untrusted authors. */
export type Payload = Readonly<Record<string, unknown>>;

const MOST_BYTES = 25 * 2 ** 20;

/** Reads the event. Returns the reason as a string if that fails. */
export function readEvent({ GITHUB_EVENT_PATH: path }: Environment): Payload | string {
  if (!path) return "GITHUB_EVENT_PATH is not set";
  try {
    if (statSync(path).size > MOST_BYTES) return "the event is too large to come from GitHub";
    const event = parseJson(readFileSync(path, "utf8"));
    return isObject(event) ? event : "the event is not a JSON object";
  } catch {
    return "the event cannot be read";
  }
}
