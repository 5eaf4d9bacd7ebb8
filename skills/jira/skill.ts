import { defineSkill } from "skillflow";
import { probeWith, required, secret, setting, variables, wholePages } from "skillflow/internal";
import { changeTools } from "./changes.ts";
import { issueTools } from "./issues.ts";
import { myself, withJira } from "./service.ts";
import { writeTools } from "./writes.ts";

export default defineSkill({
  id: "jira",
  name: "Jira",
  description:
    "Finds, reads, creates, comments, moves, links, changes and assigns Jira issues, in Jira Cloud or Data Center.",
  category: "tasks",
  config: variables({
    JIRA_BASE_URL: required(setting("base_url", "Address of Jira, such as https://example.atlassian.net.")),
    JIRA_API_TOKEN: required(
      secret(
        "token",
        "An API token of the account below (scopes: read:jira-work, and write:jira-work to write). Without an e-mail address: a personal access token of a Data Center.",
      ),
    ),
    JIRA_USER_EMAIL: setting("email", "E-mail address of the account, for Jira Cloud only."),
    JIRA_PROJECT: setting("name", "Key of the project for new issues, if a call gives none."),
  }),
  // Describes the token's user and whether Jira is Cloud or Data Center.
  probe: probeWith(withJira, async (jira) => {
    const { displayName, name } = await myself(jira);
    return `signed in as ${displayName ?? name ?? "an unnamed account"} on ${jira.isCloud ? "Cloud" : "Data Center"}`;
  }),
  tools: [...issueTools, ...writeTools, ...changeTools].map(wholePages),
});
