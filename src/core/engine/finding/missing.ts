import { shortText } from "../../base/preview.ts";
import type { LastVisit } from "../fold/visit.ts";
import type { FindingJson } from "./json.ts";

/** Facts of an answer's texts that were not found, where the finding shows these texts. */

/** Missing facts by the field of the finding, or by the path of a text that the finding does not show. */
type Missing = NonNullable<FindingJson["missing"]>;

/** A field of the finding: the path that its text comes from. */
export interface Told {
  readonly field: string;
  readonly path: string;
  readonly text: string;
}

export function missingIn(visits: readonly LastVisit[], told: readonly Told[]): Missing | undefined {
  const missing = new Map<string, Set<string>>();
  for (const { path: place, step } of visits) {
    for (const fault of (step.checked ?? []).flatMap(({ texts = [] }) => texts)) {
      const at = `${place}.${plainPath(fault.path)}`;
      const near = told.filter(({ path }) => isWithin(at, path) || isWithin(path, at));
      for (const fact of fault.missing) {
        const fields = near.filter(({ path, text }) => path === at || text.includes(fact)).map(({ field }) => field);
        for (const key of fields.length > 0 ? fields : [at])
          missing.set(key, (missing.get(key) ?? new Set()).add(fact));
      }
    }
  }
  return missing.size === 0 ? undefined : Object.fromEntries([...missing].map(([key, facts]) => [key, [...facts]]));
}

export function plainPath(path: string): string {
  return path.replace(/^(?:all|any):/, "");
}

/** Checks whether a path leads to the place of another one or further. */
export function isWithin(path: string, outer: string): boolean {
  return path.startsWith(outer) && /^(?:[.[]|$)/.test(path.slice(outer.length));
}

/** Describes the missing facts of a field: `facts not found: 33`. */
export function missingWords(missing: Missing | undefined, field: string): string | undefined {
  const facts = missing && Object.hasOwn(missing, field) ? missing[field] : undefined;
  return facts && `facts not found: ${shortText(facts.join(", "), MOST_WORDS)}`;
}

const MOST_WORDS = 60;
