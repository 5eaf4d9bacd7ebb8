import { defineSkill } from "skillflow";
import { wholePages } from "skillflow/internal";
import { describeAccess } from "./access.ts";
import { codeTools } from "./code.ts";
import { commitTools } from "./commits.ts";
import { deliveryTools } from "./delivery.ts";
import { issueTools } from "./issues.ts";
import { mergeRequestTools } from "./merge-requests.ts";
import { pipelineTools } from "./pipelines.ts";
import { audienceOf } from "./service.ts";

export default defineSkill({
  id: "gitlab",
  name: "GitLab",
  description:
    "Code, commits, diffs, merge requests, pipelines, job logs, deployments, releases and issues on GitLab.com or self-managed GitLab.",
  category: "git",
  host: "gitlab.com",
  config: {
    GITLAB_TOKEN: {
      description:
        "An access token of a person, a group or a project, with the scope read_api to read, or api to also write issues and comments.",
      required: true,
      env: "GITLAB_TOKEN",
      format: "token",
    },
    GITLAB_URL: {
      description: "Address of a self-managed GitLab, such as https://gitlab.example.com. Default: https://gitlab.com.",
      env: "GITLAB_URL",
      format: "base_url",
      secret: false,
    },
    GITLAB_PROJECT: {
      description: "Project for calls that give none, as group/name.",
      env: "GITLAB_PROJECT",
      format: "text",
      secret: false,
    },
  },
  probe: describeAccess,
  tools: [...codeTools, ...commitTools, ...mergeRequestTools, ...pipelineTools, ...deliveryTools, ...issueTools].map(
    (tool) => ({
      ...wholePages(tool),
      ...(tool.effect === "write" ? { audience: audienceOf } : {}),
      settled_by: { project: "GITLAB_PROJECT" },
    }),
  ),
});
