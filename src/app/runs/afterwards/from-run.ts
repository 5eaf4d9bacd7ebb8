import { usageError } from "../../../core/base/errors.ts";
import { defined, type JsonObject, toJson } from "../../../core/base/values.ts";
import { findingOf } from "../../../core/engine/finding/finding.ts";
import { findingRoot } from "../../../core/engine/finding/write.ts";
import { stateOf } from "../../../core/engine/fold/fold.ts";
import type { StoredRun } from "../../../core/engine/ports.ts";
import { describeResult } from "../../../core/engine/result/result.ts";
import type { Workspace } from "../../host.ts";
import { readEnded } from "./verify.ts";

/** Reads an earlier run for the input of a new one. Throws if it has not ended or its record was altered. */
export async function readEarlier(workspace: Workspace, given: string): Promise<JsonObject> {
  return describeEarlier(await readEnded(workspace, given));
}

/** Adds an earlier run to an input. Throws if the input already has one. */
export function withEarlier(input: unknown, earlier: JsonObject): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  if (Object.hasOwn(input, "run")) {
    throw usageError("the input has the field run, which --from-run sets", "remove the field or the option");
  }
  return { ...input, run: earlier };
}

/** Describes a run as `input.run`. `verdict` and `finding` are null if the run has none. */
function describeEarlier({ record, events }: StoredRun): JsonObject {
  const state = stateOf({ record, events });
  const { run: id, verdict = null, results } = describeResult(record, state);
  const found = findingRoot(findingOf(state, record));
  const finding = found && {
    ...(found.json as JsonObject),
    ...defined("title", found.title),
    markdown: found.markdown ?? "",
  };
  return { id, verdict, finding: finding ?? null, results: toJson(results) };
}
