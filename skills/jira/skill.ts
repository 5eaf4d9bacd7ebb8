import { defineSkill } from "skillflow";
import { wholePages } from "skillflow/internal";
import { describeAccess } from "./access.ts";
import { changeTools } from "./changes.ts";
import { issueTools } from "./issues.ts";
import { writeTools } from "./writes.ts";

export default defineSkill({
  id: "jira",
  name: "Jira",
  description:
    "Finds, reads, creates, comments, moves, links, changes and assigns Jira issues, in Jira Cloud or Data Center.",
  category: "tasks",
  config: {
    JIRA_BASE_URL: {
      description: "Address of Jira, such as https://example.atlassian.net.",
      required: true,
      env: "JIRA_BASE_URL",
      format: "base_url",
      secret: false,
    },
    JIRA_API_TOKEN: {
      description:
        "An API token of the account below (scopes: read:jira-work, and write:jira-work to write). Without an e-mail address: a personal access token of a Data Center.",
      required: true,
      env: "JIRA_API_TOKEN",
      format: "token",
    },
    JIRA_USER_EMAIL: {
      description: "E-mail address of the account, for Jira Cloud only.",
      env: "JIRA_USER_EMAIL",
      format: "email",
      secret: false,
    },
    JIRA_PROJECT: {
      description: "Key of the project for new issues, if a call gives none.",
      env: "JIRA_PROJECT",
      format: "name",
      secret: false,
    },
  },
  probe: describeAccess,
  tools: [...issueTools, ...writeTools, ...changeTools].map(wholePages),
});
