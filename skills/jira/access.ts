import type { ToolContext } from "skillflow";
import { myself, withJira } from "./service.ts";

/** Describes the token's user and whether Jira is Cloud or Data Center. */
export async function describeAccess(context: ToolContext): Promise<string> {
  const told = await withJira(context, async (jira) => {
    const { displayName, name } = await myself(jira);
    return `signed in as ${displayName ?? name ?? "an unnamed account"} on ${jira.isCloud ? "Cloud" : "Data Center"}`;
  });
  return String(told);
}
