import { clip, pick, resultSchema, ServiceFault, SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import * as fields from "./fields.ts";
import { projectParameter, type Sentry, sentryTool } from "./service.ts";

const RELEASE = `version short_version:any ref:any created_at released_at:any first_event:any last_event:any new_issues:number
  commits:number last_commit:{ id:any message:any } deploys:number last_deploy:{ environment:any finished_at:any }
  projects:[text] url:any`;

const COMMIT = "id message at author:any repository:any pull_request:any";

export const releaseTools = [
  sentryTool({
    name: "list_releases",
    description: "Lists releases, newest first: creation and deployment times, number of new issues.",
    ...SNAPSHOT,
    selects: ["project", "environment", "query"],
    input_schema: z.strictObject({
      ...pick(fields, "organization project environment"),
      query: z.string().min(1).max(250).optional().describe("Text in the version."),
      limit: fields.limit,
      cursor: fields.cursor,
    }),
    output_schema: fields.pageSchema("releases", RELEASE),
    work: async (sentry, input, context) => {
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
    },
  }),
  sentryTool({
    name: "get_release",
    description: "Reads one release with its commits.",
    ...SNAPSHOT,
    echoes: ["version"],
    input_schema: z.strictObject({
      organization: fields.organization,
      version: fields.release.describe("From list_releases."),
      cursor: fields.cursor.describe("For the next page of commits."),
    }),
    output_schema: resultSchema("version commit_list", `${RELEASE} commit_list:[{ ${COMMIT} }] next_cursor`),
    work: async (sentry, input) => {
      const path = ["releases", input.version];
      const { data: release } = await sentry.get<Release>(path, { scope: "project:read" });
      const query = { per_page: MOST_COMMITS, cursor: input.cursor };
      const commits = await sentry.get<readonly Commit[]>([...path, "commits"], { scope: "project:read", query });
      return {
        ...releaseOf(release),
        commit_list: commits.data.map(commitOf),
        next_cursor: commits.nextCursor,
      };
    },
  }),
  sentryTool({
    name: "get_suspect_commits",
    description: "Lists the commits that Sentry suspects for an issue, from its latest event.",
    ...SNAPSHOT,
    input_schema: z.strictObject({ organization: fields.organization, issue: fields.issue }),
    output_schema: resultSchema("event suspects", `event suspects:[{ ${COMMIT} kind:any score:any }] note`),
    work: async (sentry, input) => {
      const scope = "event:read";
      const issue = ["issues", input.issue];
      const { data: about } = await sentry.get<{ readonly project: { readonly slug: string } }>(issue, { scope });
      const { data: latest } = await sentry.get<{ readonly eventID: string }>([...issue, "events", "latest"], {
        scope,
      });
      const suspects = await committersOf(sentry, about.project.slug, latest.eventID);
      return { event: latest.eventID, suspects, note: suspects.length === 0 ? NO_SUSPECTS : undefined };
    },
  }),
  sentryTool({
    name: "list_projects",
    description: "Lists projects with their platforms, teams and environments.",
    ...SNAPSHOT,
    selects: ["query"],
    echoes: ["organization"],
    input_schema: z.strictObject({
      organization: fields.organization,
      query: z.string().min(1).max(100).optional().describe("Text in the name or slug."),
      limit: fields.limit,
      cursor: fields.cursor,
    }),
    output_schema: resultSchema(
      "organization projects",
      `organization projects:[{ id slug name platform:any environments:[text] teams:[text] latest_release
        has_events:flag }] next_cursor`,
    ),
    work: async (sentry, input) => {
      const query = { query: input.query, per_page: input.limit ?? fields.DEFAULT_LIMIT, cursor: input.cursor };
      const { data, nextCursor } = await sentry.get<readonly Project[]>(["projects"], { scope: "org:read", query });
      return { organization: sentry.organization, projects: data.map(projectOf), next_cursor: nextCursor };
    },
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
    ...pick(release, "version short_version:shortVersion ref created_at:dateCreated released_at:dateReleased"),
    ...pick(release, "first_event:firstEvent last_event:lastEvent new_issues:newGroups commits:commitCount"),
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
    ...pick(project, "id slug name"),
    platform: project.platform || undefined,
    environments: project.environments?.slice(0, 20),
    teams: project.teams.map(({ slug }) => slug),
    latest_release: project.latestRelease?.version,
    has_events: project.firstEvent !== null,
  };
}

/** A page that fits into a result. */
const MOST_COMMITS = 25;

interface Commit {
  readonly id: string;
  readonly message?: string | null;
  readonly dateCreated: string;
  readonly author?: { readonly name?: string | null; readonly username?: string | null } | null;
  readonly repository?: { readonly name?: string } | null;
  readonly pullRequest?: { readonly externalUrl?: string | null; readonly id?: string } | null;
  readonly suspectCommitType?: string;
  readonly score?: number;
}

function commitOf({ id, message, dateCreated, author, repository, pullRequest }: Commit) {
  return {
    id,
    message: clip(message ?? "", 300),
    at: dateCreated,
    author: author?.name || author?.username,
    repository: repository?.name,
    pull_request: pullRequest?.externalUrl ?? pullRequest?.id,
  };
}

interface Committers {
  readonly committers: readonly { readonly author?: Commit["author"]; readonly commits: readonly Commit[] }[];
}

const NO_SUSPECTS =
  "Sentry suspects no commit. It needs a linked repository, and releases with commits or frames with code mappings.";

/** Returns suspect commits. A 404 means none, because the issue was found just before. */
async function committersOf(sentry: Sentry, project: string, event: string) {
  try {
    const data = await sentry.getInProject<Committers>(project, ["events", event, "committers"], {
      scope: "event:read",
    });
    return data.committers.flatMap(({ author, commits }) =>
      commits.map((commit) => ({
        ...commitOf({ author, ...commit }),
        kind: commit.suspectCommitType || undefined,
        score: commit.score,
      })),
    );
  } catch (error) {
    if (error instanceof ServiceFault && error.status === 404) return [];
    throw error;
  }
}
