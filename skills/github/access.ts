import type { ToolContext } from "skillflow";
import { withGitHub } from "./client.ts";

const NEEDED = ["repo", "public_repo"];

/** Describes the token as far as GitHub reports it: scopes for classic tokens, otherwise only the rate limit. */
export async function describeAccess(context: ToolContext): Promise<string> {
  const told = await withGitHub(context, async (rest) => {
    const { data, headers } = await rest.rateLimit.get();
    const scopes = headers["x-oauth-scopes"];
    const left = `${data.resources.core.remaining} of ${data.resources.core.limit} requests left this hour`;
    if (scopes === undefined) return left;
    const granted = String(scopes).split(", ");
    const lacks = NEEDED.some((scope) => granted.includes(scope))
      ? ""
      : "; lacks the scope repo for private repositories";
    return `${left}; scopes: ${scopes || "none"}${lacks}`;
  });
  return String(told);
}
