import { defineSkill } from "skillflow";
import { probeWith, required, secret, setting, variables, wholePages } from "skillflow/internal";
import * as z from "zod";
import { codeTools } from "./code.ts";
import { commitTools } from "./commits.ts";
import { text } from "./fields.ts";
import { issueTools } from "./issues.ts";
import { mergeRequestTools } from "./merge-requests.ts";
import { deliveryTools, pipelineTools } from "./pipelines.ts";
import { audienceOf, withGitLab } from "./service.ts";

export default defineSkill({
  id: "gitlab",
  name: "GitLab",
  description:
    "Code, commits, diffs, merge requests, pipelines, job logs, deployments, releases and issues on GitLab.com or self-managed GitLab.",
  category: "git",
  host: "gitlab.com",
  config: variables({
    GITLAB_TOKEN: required(
      secret(
        "token",
        "An access token of a person, a group or a project, with the scope read_api to read, or api to also write issues and comments.",
      ),
    ),
    GITLAB_URL: setting(
      "base_url",
      "Address of a self-managed GitLab, such as https://gitlab.example.com. Default: https://gitlab.com.",
    ),
    GITLAB_PROJECT: setting("text", "Project for calls that give none, as group/name."),
  }),
  // Describes the token's user and access to the configured project.
  probe: probeWith(withGitLab, async (ask, context) => {
    const { username } = await ask({
      path: ["user"],
      needs: "the read_api scope",
      answer: z.object({ username: z.string() }),
    });
    const own = context.config["GITLAB_PROJECT"]?.trim();
    if (!own) return `signed in as ${username}`;
    const seen = await ask({
      path: ["projects", own],
      needs: "the read_api scope",
      instead: "Check GITLAB_PROJECT, and that the token may see it.",
      answer: z.object({ path_with_namespace: z.string(), visibility: text }),
    });
    return `signed in as ${username}; sees ${seen.path_with_namespace} (${seen.visibility ?? "unknown visibility"})`;
  }),
  tools: [...codeTools, ...commitTools, ...mergeRequestTools, ...pipelineTools, ...deliveryTools, ...issueTools].map(
    (tool) => ({
      ...wholePages(tool),
      ...(tool.effect === "write" ? { audience: audienceOf } : {}),
      settled_by: { project: "GITLAB_PROJECT" },
    }),
  ),
});
