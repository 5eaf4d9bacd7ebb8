import { defineTool } from "skillflow";
import * as z from "zod";
import { withSentry } from "./client.ts";
import * as fields from "./fields.ts";
import { projectParameter } from "./place.ts";

export const releaseTools = [
  defineTool({
    name: "list_releases",
    description: "Lists releases, newest first: when made and deployed, how many new issues.",
    effect: "read",
    input_schema: z.strictObject({
      organization: fields.organization,
      project: fields.project,
      environment: fields.environment,
      query: z.string().min(1).max(250).optional().describe("Text in the version."),
      limit: fields.limit,
      cursor: fields.cursor,
    }),
    handler: (input, context) =>
      withSentry(input, context, async (sentry) => {
        const query = {
          ...projectParameter(input.project, context),
          environment: input.environment,
          query: input.query,
          per_page: input.limit ?? fields.DEFAULT_LIMIT,
          cursor: input.cursor,
        };
        const { data, nextCursor } = await sentry.get<readonly Release[]>(["releases"], {
          scope: "project:read",
          query,
        });
        return { releases: data.map(releaseOf), next_cursor: nextCursor };
      }),
  }),
  defineTool({
    name: "list_projects",
    description: "Lists projects with platforms, teams and environments.",
    effect: "read",
    input_schema: z.strictObject({
      organization: fields.organization,
      query: z.string().min(1).max(100).optional().describe("Text in the name or slug."),
      limit: fields.limit,
      cursor: fields.cursor,
    }),
    handler: (input, context) =>
      withSentry(input, context, async (sentry) => {
        const query = { query: input.query, per_page: input.limit ?? fields.DEFAULT_LIMIT, cursor: input.cursor };
        const { data, nextCursor } = await sentry.get<readonly Project[]>(["projects"], { scope: "org:read", query });
        return { organization: sentry.organization, projects: data.map(projectOf), next_cursor: nextCursor };
      }),
  }),
];

interface Release {
  readonly version: string;
  readonly shortVersion: string;
  readonly ref: string | null;
  readonly url: string | null;
  readonly dateCreated: string;
  readonly dateReleased: string | null;
  readonly firstEvent: string | null;
  readonly lastEvent: string | null;
  readonly newGroups: number;
  readonly commitCount: number;
  readonly deployCount: number;
  readonly lastDeploy: { readonly environment?: string; readonly dateFinished?: string | null } | null;
  readonly lastCommit: { readonly id?: string; readonly message?: string | null } | null;
  readonly projects: readonly { readonly slug: string }[];
}

function releaseOf(release: Release) {
  const { lastDeploy: deploy, lastCommit: commit } = release;
  return {
    version: release.version,
    short_version: release.shortVersion,
    ref: release.ref,
    created_at: release.dateCreated,
    released_at: release.dateReleased,
    first_event: release.firstEvent,
    last_event: release.lastEvent,
    new_issues: release.newGroups,
    commits: release.commitCount,
    last_commit: commit ? { id: commit.id, message: commit.message } : undefined,
    deploys: release.deployCount,
    last_deploy: deploy ? { environment: deploy.environment, finished_at: deploy.dateFinished } : undefined,
    projects: release.projects.map(({ slug }) => slug),
    url: release.url,
  };
}

interface Project {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly platform: string | null;
  readonly environments?: readonly string[];
  readonly teams: readonly { readonly slug: string }[];
  readonly firstEvent: string | null;
  readonly latestRelease?: { readonly version: string } | null;
}

function projectOf(project: Project) {
  return {
    id: project.id,
    slug: project.slug,
    name: project.name,
    platform: project.platform || undefined,
    environments: project.environments?.slice(0, 20),
    teams: project.teams.map(({ slug }) => slug),
    latest_release: project.latestRelease?.version,
    has_events: project.firstEvent !== null,
  };
}
