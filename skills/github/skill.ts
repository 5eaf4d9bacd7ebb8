import { defineSkill } from "skillflow";
import { wholePages } from "skillflow/internal";
import { describeAccess } from "./access.ts";
import { audienceOf } from "./client.ts";
import { codeTools } from "./code.ts";
import { commitTools } from "./commits.ts";
import { deliveryTools } from "./delivery.ts";
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
  config: {
    GITHUB_TOKEN: {
      description: "A personal access token, or a GitHub App installation token.",
      required: true,
      env: "GITHUB_TOKEN",
      format: "token",
    },
    GITHUB_API_URL: {
      description: "Address of the REST API on GitHub Enterprise Server, such as https://github.example.com/api/v3.",
      env: "GITHUB_API_URL",
      format: "base_url",
      secret: false,
    },
    GITHUB_REPOSITORY: {
      description: "Repository for calls that give none, as owner/name.",
      env: "GITHUB_REPOSITORY",
      format: "name",
      secret: false,
    },
  },
  probe: describeAccess,
  tools: [...codeTools, ...issueTools, ...pullTools, ...commitTools, ...deliveryTools, ...workflowTools].map(
    (tool) => ({
      ...wholePages(tool),
      ...(tool.effect === "write" ? { audience: audienceOf } : {}),
      settled_by: { repository: "GITHUB_REPOSITORY" },
    }),
  ),
});
