import { defineSkill } from "skillflow";
import { describeAccess } from "./access.ts";
import { changeTools } from "./changes.ts";
import { issueTools } from "./issues.ts";
import { writeTools } from "./writes.ts";

export default defineSkill({
  id: "jira",
  name: "Jira",
  description:
    "Finds, reads, creates, comments, moves, links, changes and assigns issues of Jira, in Atlassian's Cloud or a Data Center.",
  category: "tasks",
  config: {
    JIRA_BASE_URL: {
      description: "https://example.atlassian.net, or where your own Jira is.",
      required: true,
      env: "JIRA_BASE_URL",
      format: "base_url",
      secret: false,
    },
    JIRA_API_TOKEN: {
      description:
        "An API token of the account below (with scopes: read:jira-work, and write:jira-work to write); without an e-mail address a personal access token of a Data Center.",
      required: true,
      env: "JIRA_API_TOKEN",
      format: "token",
    },
    JIRA_USER_EMAIL: {
      description: "The account's e-mail address, in Atlassian's Cloud; not for a Data Center.",
      env: "JIRA_USER_EMAIL",
      format: "email",
      secret: false,
    },
    JIRA_PROJECT: {
      description: "The key of the project that a new issue is for when a call names none.",
      env: "JIRA_PROJECT",
      format: "name",
      secret: false,
    },
  },
  probe: describeAccess,
  tools: [...issueTools, ...writeTools, ...changeTools],
});
