import { NothingDone } from "skillflow";
import type { Linear } from "./client.ts";
import { isId } from "./fields.ts";

/** Entity with a name: a team, state, label, project or user. */
export interface Named {
  readonly id: string;
  readonly name: string;
  /** Alternative names: a team's key or a user's email address. */
  readonly aliases?: readonly string[];
}

/** Returns the candidate with this id or name, ignoring case, or undefined. Throws if several match. */
export function pick<Item extends Named>(kind: string, wanted: string, candidates: readonly Item[]): Item | undefined {
  if (isId(wanted)) return candidates.find(({ id }) => id.toLowerCase() === wanted.toLowerCase());
  const exact = candidates.filter(({ name }) => name === wanted);
  const isCalled = (name: string) => name.toLowerCase() === wanted.toLowerCase();
  const found =
    exact.length > 0 ? exact : candidates.filter(({ name, aliases = [] }) => [name, ...aliases].some(isCalled));
  const ids = [...new Set(found.map(({ id }) => id))];
  if (ids.length > 1)
    throw new NothingDone(`Several ${kind}s are named "${wanted}". Give the id: ${ids.join(" or ")}.`);
  return found[0];
}

const MOST_NAMES = 15;

/** Returns an error for an unknown name that lists existing names, closest first. */
export function unknownName(kind: string, wanted: string, known: readonly Named[]): Error {
  const names = [...new Set(known.map(({ name, aliases = [] }) => [name, ...aliases].join(" / ")))];
  if (names.length === 0) return new NothingDone(`This key can see no ${kind} "${wanted}", and no other ${kind}.`);
  const nearest = names.sort((a, b) => likeness(b, wanted) - likeness(a, wanted)).slice(0, MOST_NAMES);
  const more = names.length > nearest.length ? `, and ${names.length - nearest.length} more` : "";
  return new NothingDone(`This key can see no ${kind} "${wanted}". It can see: ${nearest.join(", ")}${more}.`);
}

/** Returns the share of letter pairs common to two strings, from 0 to 1. The first letter counts as a pair. */
function likeness(one: string, other: string): number {
  const [a, b] = [pairsOf(one), pairsOf(other)];
  const shared = [...a].filter((pair) => b.has(pair)).length;
  return (2 * shared) / Math.max(1, a.size + b.size);
}

function pairsOf(text: string): ReadonlySet<string> {
  const letters = ` ${text.toLowerCase()}`;
  return new Set(Array.from({ length: letters.length - 1 }, (_, at) => letters.slice(at, at + 2)));
}

const LISTS = {
  team: "query TeamNames { list: teams(first: 100) { nodes { id name key } } }",
  state: "query StateNames { list: workflowStates(first: 100) { nodes { id name } } }",
  label: "query LabelNames { list: issueLabels(first: 100, filter: { isGroup: { eq: false } }) { nodes { id name } } }",
  project: "query ProjectNames { list: projects(first: 100) { nodes { id name } } }",
  user: "query UserNames { list: users(first: 100) { nodes { id name: displayName } } }",
} as const;

export type Kind = keyof typeof LISTS;

interface Listed {
  readonly list: { readonly nodes: readonly (Named & { readonly key?: string })[] };
}

/** Throws for an unknown name, with the closest existing names. */
export async function refuseName(linear: Linear, kind: Kind, wanted: string): Promise<never> {
  const { list } = await linear.ask<Listed>(LISTS[kind], {});
  const known = list.nodes.map(({ id, name, key }) => ({ id, name, ...(key ? { aliases: [key] } : {}) }));
  throw unknownName(kind, wanted, known);
}
