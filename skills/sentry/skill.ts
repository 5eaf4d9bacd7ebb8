import { defineSkill } from "skillflow";
import { probeWith, required, secret, setting, variables, wholePages } from "skillflow/internal";
import { eventTools } from "./events.ts";
import { commentTools, issueTools } from "./issues.ts";
import { releaseTools } from "./releases.ts";
import { withSentry } from "./service.ts";

export default defineSkill({
  id: "sentry",
  name: "Sentry",
  description: "Errors in Sentry: issues, events with stack traces, traces, releases with commits, and projects.",
  category: "observability",
  config: variables({
    SENTRY_AUTH_TOKEN: required(
      secret(
        "token",
        "A personal token or an internal integration's token, with event:read, org:read and project:read.",
      ),
    ),
    SENTRY_BASE_URL: setting(
      "base_url",
      "Address of a self-hosted Sentry. Default: the token's region, or https://sentry.io.",
    ),
    SENTRY_ORG: setting("name", "Slug of the organization. Default: the token's own, or the only one it can see."),
    SENTRY_PROJECT: setting("name", "Slug of the project for calls that give none. Default: all projects."),
  }),
  // Describes the organization that the token can access.
  probe: probeWith(withSentry, async (sentry) => {
    await sentry.get(["projects"], { scope: "org:read", query: { per_page: 1 } });
    return `organization ${sentry.organization}`;
  }),
  tools: [...issueTools, ...eventTools, ...releaseTools, ...commentTools].map((tool) => ({
    ...wholePages(tool),
    settled_by: { organization: "SENTRY_ORG", project: "SENTRY_PROJECT" },
  })),
});
