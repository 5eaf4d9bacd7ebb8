import type { Linear } from "./client.ts";
import { type Named, unknownName } from "./names.ts";

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
