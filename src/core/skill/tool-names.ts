import { sha256 } from "../base/sha256.ts";
import { instanceOf } from "./skill-reference.ts";

/** Names of tools as models see them. */

/** Longest tool name that every provider accepts. */
const MOST_NAME = 64;

/**
 * Returns the tool name that a model sees: `<skill>_<tool>`, with illegal characters as `_`. If the tool's name already
 * begins with the skill's, the skill is not repeated. That comparison treats `-` and `_` as equal. The name of an
 * instance follows the skill's: `prometheus_eu_query`. A name that is too long ends in eight digits of its digest.
 */
export function exposedName(skill: string, tool: string): string {
  const instance = instanceOf(skill);
  const prefix = legalName(instance?.skill ?? skill);
  const name = legalName(tool);
  const isNamed = `${alike(name)}_`.startsWith(`${alike(prefix)}_`);
  const plain = isNamed ? name : `${prefix}_${name}`;
  const whole = instance
    ? `${plain.slice(0, prefix.length)}_${alike(instance.name)}${plain.slice(prefix.length)}`
    : plain;
  return whole.length <= MOST_NAME ? whole : `${whole.slice(0, MOST_NAME - 9)}_${sha256(whole).slice(0, 8)}`;
}

/** Normalizes a tool name for comparison. */
export function alike(name: string): string {
  return name.replace(/[^A-Za-z0-9_]/g, "_");
}

function legalName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_");
}

/** Makes names unique by numbering later duplicates. */
export function numberNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  /** Last number given to a name, because a document may repeat one many thousand times. */
  const numbers = new Map<string, number>();
  return names.map((wanted) => {
    let name = wanted;
    let n = numbers.get(wanted) ?? 1;
    while (taken.has(name)) {
      n++;
      name = `${wanted.slice(0, MOST_NAME - `_${n}`.length)}_${n}`;
    }
    taken.add(name);
    numbers.set(wanted, n);
    return name;
  });
}
