import type { ToolContext } from "skillflow";
import { myself, withJira } from "./service.ts";

/** Whose token it is, and of which kind Jira is. */
export async function describeAccess(context: ToolContext): Promise<string> {
  const told = await withJira(context, async (jira) => {
    const { displayName, name } = await myself(jira);
    return `signed in as ${displayName ?? name ?? "an account without a name"} on ${jira.isCloud ? "Cloud" : "Data Center"}`;
  });
  return String(told);
}
