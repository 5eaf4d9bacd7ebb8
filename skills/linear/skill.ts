import { defineSkill } from "skillflow";
import { wholePages } from "skillflow/internal";
import { describeAccess } from "./access.ts";
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
  config: {
    LINEAR_API_KEY: {
      description: "A personal API key (lin_api_) or an OAuth access token (lin_oauth_).",
      required: true,
      env: "LINEAR_API_KEY",
      format: "text",
    },
    LINEAR_API_URL: {
      description: "Address of the GraphQL API. Default: https://api.linear.app/graphql.",
      env: "LINEAR_API_URL",
      format: "url",
      secret: false,
    },
    LINEAR_TEAM: {
      description: "The team for new issues if a call names none. Default: the only team that the key sees.",
      env: "LINEAR_TEAM",
      format: "text",
      secret: false,
    },
  },
  probe: describeAccess,
  tools: [...issueTools, ...issueWriteTools, ...commentTools, ...relationTools, ...workspaceTools].map(wholePages),
});
