import { sha256 } from "../base/sha256.ts";

/** Names of tools as models see them. */

/** Longest tool name that every provider accepts. */
const MOST_NAME = 64;

/**
 * Returns the tool name that a model sees: `<skill>_<tool>`, with illegal characters as `_`. If the tool's name already
 * begins with the skill's, the skill is not repeated. That comparison treats `-` and `_` as equal. A name that is too
 * long ends in eight digits of its digest.
 */
export function exposedName(skill: string, tool: string): string {
  const prefix = legalName(skill);
  const name = legalName(tool);
  const isNamed = `${alike(name)}_`.startsWith(`${alike(prefix)}_`);
  const whole = isNamed ? name : `${prefix}_${name}`;
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
  return names.map((wanted) => {
    let name = wanted;
    for (let n = 2; taken.has(name); n++) name = `${wanted.slice(0, MOST_NAME - `_${n}`.length)}_${n}`;
    taken.add(name);
    return name;
  });
}
