import { defineSkill } from "skillflow";
import { describeAccess } from "./access.ts";
import { commentTools } from "./comments.ts";
import { eventTools } from "./events.ts";
import { issueTools } from "./issues.ts";
import { releaseTools } from "./releases.ts";

export default defineSkill({
  id: "sentry",
  name: "Sentry",
  description:
    "Errors in Sentry: issues, events with their stack traces, traces, releases with their commits, and projects.",
  category: "observability",
  config: {
    SENTRY_AUTH_TOKEN: {
      description: "A personal token or an internal integration's, with event:read, org:read and project:read.",
      required: true,
      env: "SENTRY_AUTH_TOKEN",
      format: "token",
    },
    SENTRY_BASE_URL: {
      description: "Sentry's address where it is self-hosted. https://sentry.io, or the token's region, when absent.",
      env: "SENTRY_BASE_URL",
      format: "base_url",
      secret: false,
    },
    SENTRY_ORG: {
      description: "The organization's slug. The token's own, or the only one it can see, when absent.",
      env: "SENTRY_ORG",
      format: "name",
      secret: false,
    },
    SENTRY_PROJECT: {
      description: "The slug of the project that is meant when a call names none. All projects when absent.",
      env: "SENTRY_PROJECT",
      format: "name",
      secret: false,
    },
  },
  probe: describeAccess,
  tools: [...issueTools, ...eventTools, ...releaseTools, ...commentTools].map((tool) => ({
    ...tool,
    settled_by: { organization: "SENTRY_ORG", project: "SENTRY_PROJECT" },
  })),
});
