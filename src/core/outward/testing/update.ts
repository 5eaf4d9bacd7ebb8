import { deepEqual, isObject, type Json, memberAt } from "../../base/values.ts";
import type { CaseFailure } from "./expectations.ts";
import type { Expected } from "./test-file.ts";

/** Changes to a test when the user accepts a failure, and whether they make the test weaker. */

export interface Update {
  /** Path of the expectation: `data.look.kind`. */
  readonly path: string;
  /** Undefined if the test had no such expectation. */
  readonly before: Json | undefined;
  readonly after: Json;
  /** Reason that the test becomes weaker, or undefined if it does not. */
  readonly weaker: string | undefined;
}

export function updateOf({ path, accept }: CaseFailure, expected: Expected): Update | undefined {
  if (!accept) return undefined;
  const { keys, value } = accept;
  const before = memberAt(expected, ...keys) as Json | undefined;
  return { path, before, after: value, weaker: weakness(keys, before, value) };
}

/** Statuses from best to worst. */
const STATES: readonly Json[] = ["succeeded", "skipped", "waiting", "interrupted", "stopped", "failed"];
const STEPS: readonly Json[] = ["success", "planned", "skipped", "failed"];
const FEWER_IS_BETTER = ["dropped", "cost_usd", "tokens"];

function weakness([field, name]: readonly string[], before: Json | undefined, after: Json): string | undefined {
  if (field === "status") {
    const [was, is] = [STATES.indexOf(before ?? "succeeded"), STATES.indexOf(after)];
    return is > was ? `accepts "${String(after)}", which is worse than "${String(before ?? "succeeded")}"` : undefined;
  }
  if (field === "steps") {
    const isWorse = STEPS.indexOf(after) > STEPS.indexOf(before ?? "failed");
    return isWorse ? `accepts "${String(after)}", which is worse than "${String(before)}"` : undefined;
  }
  if (typeof before === "number" && typeof after === "number") {
    const isFewer = FEWER_IS_BETTER.includes(name ?? field ?? "");
    const isCounted = field === "evidence" || isFewer;
    return isCounted && (isFewer ? after > before : after < before) ? `accepts ${after} for ${before}` : undefined;
  }
  const isExact = field === "path" || field === "called" || field === "not_called";
  const lost = isExact ? missing(before, after) : lostIn(before, after);
  return lost.length === 0 ? undefined : `no longer expects ${lost.map((each) => JSON.stringify(each)).join(", ")}`;
}

/** Returns the members of a list that the other list lacks, counting duplicates. */
function missing(before: Json | undefined, after: Json): Json[] {
  const left = Array.isArray(after) ? [...(after as readonly Json[])] : [];
  return (Array.isArray(before) ? (before as readonly Json[]) : []).filter((each) => {
    const index = left.findIndex((other) => deepEqual(other, each));
    if (index !== -1) left.splice(index, 1);
    return index === -1;
  });
}

/** Returns removed keys and list members, and values that become null, at any depth. */
function lostIn(before: Json | undefined, after: Json | undefined): Json[] {
  if (before === undefined || before === null) return [];
  if (after === undefined || after === null) return [before];
  if (Array.isArray(before)) {
    const came: readonly Json[] = Array.isArray(after) ? after : [];
    return before.flatMap((each, index) => lostIn(each, came[index]));
  }
  if (!isObject(before)) return [];
  const members = Object.entries(before) as [string, Json][];
  return members.flatMap(([key, each]) => {
    const came = isObject(after) && Object.hasOwn(after, key) ? (after[key] as Json) : undefined;
    return came === undefined ? [{ [key]: each }] : lostIn(each, came);
  });
}
