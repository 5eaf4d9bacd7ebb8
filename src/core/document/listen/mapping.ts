import { valueAtPath } from "../../base/path.ts";
import type { Json, JsonObject } from "../../base/values.ts";
import { parseCondition } from "../condition.ts";
import { fillIn, pathsIn } from "../fill.ts";
import { checkValues } from "../value-rule.ts";
import type { ListenSource } from "./listen-file.ts";

/** Mapping of a webhook to a run's input, based only on its source and its body. */

export interface WebhookEvent {
  readonly body: Json;
  /** Event type in the vendor's header, such as `issues` or `event_alert`. Absent if there is none. */
  readonly event?: string;
}

export const ROOTS: ReadonlySet<string> = new Set(["body", "event"]);

type Mapped =
  | { readonly kind: "input"; readonly input: JsonObject; readonly fingerprint: Json | undefined }
  | { readonly kind: "ignored"; readonly reason: string }
  | { readonly kind: "problem"; readonly problem: string };

export function mapEvent(source: ListenSource, event: WebhookEvent): Mapped {
  const root = { ...event };
  const rule = source.when === undefined ? {} : parseCondition(source.when);
  const [reason] = typeof rule === "string" ? [rule] : checkValues(rule, root);
  if (reason !== undefined) return { kind: "ignored", reason };
  const filled = fillIn(source.input ?? {}, root);
  if ("problem" in filled) return { kind: "problem", problem: filled.problem.replace(/^with\./, "input.") };
  const input = filled.values;
  return { kind: "input", input, fingerprint: fingerprintOf(source, { ...root, input }) };
}

/** Returns the fingerprint, or undefined if its path leads to nothing or to an empty value. */
function fingerprintOf({ fingerprint }: ListenSource, root: JsonObject): Json | undefined {
  const value = fingerprint === undefined ? undefined : valueAtPath(fingerprint, root);
  return value === null || value === "" ? undefined : value;
}

export function templatePaths({ input = {} }: ListenSource): readonly (readonly [field: string, path: string])[] {
  return Object.entries(input).flatMap(([field, value]) => pathsIn(value).map((path) => [field, path] as const));
}
