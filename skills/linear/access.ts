import type { ToolContext } from "skillflow";
import { withLinear } from "./client.ts";

const VIEWER = "query Viewer { viewer { name } organization { name } }";

interface Viewer {
  readonly viewer: { readonly name: string };
  readonly organization: { readonly name: string };
}

/** Describes the key's owner. */
export async function describeAccess(context: ToolContext): Promise<string> {
  const told = await withLinear(context, async (linear) => {
    const { viewer, organization } = await linear.ask<Viewer>(VIEWER, {});
    return `${viewer.name} in ${organization.name}`;
  });
  return String(told);
}
