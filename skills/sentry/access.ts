import type { ToolContext } from "skillflow";
import { withSentry } from "./service.ts";

/** Describes the organization that the token can access. */
export async function describeAccess(context: ToolContext): Promise<string> {
  const told = await withSentry({}, context, async (sentry) => {
    await sentry.get(["projects"], { scope: "org:read", query: { per_page: 1 } });
    return `organization ${sentry.organization}`;
  });
  return String(told);
}
