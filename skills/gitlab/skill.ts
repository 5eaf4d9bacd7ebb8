import { defineSkill } from "skillflow";
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
    "Code, commits, diffs, merge requests, pipelines, job logs, deployments, releases and issues on GitLab, hosted by whomever.",
  category: "git",
  host: "gitlab.com",
  config: {
    GITLAB_TOKEN: {
      description:
        "An access token of a person, a group or a project: the scope read_api reads, the scope api writes issues and comments.",
      required: true,
      env: "GITLAB_TOKEN",
      format: "token",
    },
    GITLAB_URL: {
      description: "A GitLab of your own, such as https://gitlab.example.com. https://gitlab.com when absent.",
      env: "GITLAB_URL",
      format: "base_url",
      secret: false,
    },
    GITLAB_PROJECT: {
      description: "The project that is meant when a call names none, as group/name.",
      env: "GITLAB_PROJECT",
      format: "text",
      secret: false,
    },
  },
  probe: describeAccess,
  tools: [...codeTools, ...commitTools, ...mergeRequestTools, ...pipelineTools, ...deliveryTools, ...issueTools].map(
    (tool) => ({
      ...tool,
      ...(tool.effect === "write" ? { audience: audienceOf } : {}),
      settled_by: { project: "GITLAB_PROJECT" },
    }),
  ),
});
