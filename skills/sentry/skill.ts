import { defineSkill } from "skillflow";
import { wholePages } from "skillflow/internal";
import { describeAccess } from "./access.ts";
import { commentTools } from "./comments.ts";
import { eventTools } from "./events.ts";
import { issueTools } from "./issues.ts";
import { releaseTools } from "./releases.ts";

export default defineSkill({
  id: "sentry",
  name: "Sentry",
  description: "Errors in Sentry: issues, events with stack traces, traces, releases with commits, and projects.",
  category: "observability",
  config: {
    SENTRY_AUTH_TOKEN: {
      description: "A personal token or an internal integration's token, with event:read, org:read and project:read.",
      required: true,
      env: "SENTRY_AUTH_TOKEN",
      format: "token",
    },
    SENTRY_BASE_URL: {
      description: "Address of a self-hosted Sentry. Default: the token's region, or https://sentry.io.",
      env: "SENTRY_BASE_URL",
      format: "base_url",
      secret: false,
    },
    SENTRY_ORG: {
      description: "Slug of the organization. Default: the token's own, or the only one it can see.",
      env: "SENTRY_ORG",
      format: "name",
      secret: false,
    },
    SENTRY_PROJECT: {
      description: "Slug of the project for calls that give none. Default: all projects.",
      env: "SENTRY_PROJECT",
      format: "name",
      secret: false,
    },
  },
  probe: describeAccess,
  tools: [...issueTools, ...eventTools, ...releaseTools, ...commentTools].map((tool) => ({
    ...wholePages(tool),
    settled_by: { organization: "SENTRY_ORG", project: "SENTRY_PROJECT" },
  })),
});
