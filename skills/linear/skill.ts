import { defineSkill } from "skillflow";
import { probeWith, required, secret, setting, variables, wholePages } from "skillflow/internal";
import { withLinear } from "./client.ts";
import { commentTools } from "./issues/comments.ts";
import { issueTools } from "./issues/issues.ts";
import { relationTools } from "./issues/relations.ts";
import { issueWriteTools } from "./issues/writes.ts";
import { workspaceTools } from "./workspace.ts";

export default defineSkill({
  id: "linear",
  name: "Linear",
  description: "Issues, comments and relations in Linear, with teams, workflow states, labels, projects and people.",
  category: "tasks",
  config: variables({
    LINEAR_API_KEY: required(secret("text", "A personal API key (lin_api_) or an OAuth access token (lin_oauth_).")),
    LINEAR_API_URL: setting("url", "Address of the GraphQL API. Default: https://api.linear.app/graphql."),
    LINEAR_TEAM: setting(
      "text",
      "The team for new issues if a call names none. Default: the only team that the key sees.",
    ),
  }),
  // Describes the key's owner.
  probe: probeWith(withLinear, async (linear) => {
    const { viewer, organization } = await linear.ask<Viewer>(VIEWER, {});
    return `${viewer.name} in ${organization.name}`;
  }),
  tools: [...issueTools, ...issueWriteTools, ...commentTools, ...relationTools, ...workspaceTools].map(wholePages),
});

const VIEWER = "query Viewer { viewer { name } organization { name } }";

interface Viewer {
  readonly viewer: { readonly name: string };
  readonly organization: { readonly name: string };
}
