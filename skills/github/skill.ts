import { defineSkill } from "skillflow";
import { probeWith, required, secret, setting, variables, wholePages } from "skillflow/internal";
import { audienceOf, withGitHub } from "./client.ts";
import { codeTools } from "./code.ts";
import { commitTools, deliveryTools } from "./commits.ts";
import { issueTools } from "./issues.ts";
import { pullTools } from "./pulls.ts";
import { workflowTools } from "./workflows.ts";

export default defineSkill({
  id: "github",
  name: "GitHub",
  description:
    "Code search, issues, pull requests and reviews, commits, releases, deployments, checks and workflow logs on GitHub.",
  category: "git",
  host: "github.com",
  config: variables({
    GITHUB_TOKEN: required(secret("token", "A personal access token, or a GitHub App installation token.")),
    GITHUB_API_URL: setting(
      "base_url",
      "Address of the REST API on GitHub Enterprise Server, such as https://github.example.com/api/v3.",
    ),
    GITHUB_REPOSITORY: setting("name", "Repository for calls that give none, as owner/name."),
  }),
  // Describes the token as far as GitHub reports it: scopes for classic tokens, otherwise only the rate limit.
  probe: probeWith(withGitHub, async (rest) => {
    const { data, headers } = await rest.rateLimit.get();
    const scopes = headers["x-oauth-scopes"];
    const left = `${data.resources.core.remaining} of ${data.resources.core.limit} requests left this hour`;
    if (scopes === undefined) return left;
    const granted = String(scopes).split(", ");
    const lacks = NEEDED.some((scope) => granted.includes(scope))
      ? ""
      : "; lacks the scope repo for private repositories";
    return `${left}; scopes: ${scopes || "none"}${lacks}`;
  }),
  tools: [...codeTools, ...issueTools, ...pullTools, ...commitTools, ...deliveryTools, ...workflowTools].map(
    (tool) => ({
      ...wholePages(tool),
      ...(tool.effect === "write" ? { audience: audienceOf } : {}),
      settled_by: { repository: "GITHUB_REPOSITORY" },
    }),
  ),
});

const NEEDED = ["repo", "public_repo"];
