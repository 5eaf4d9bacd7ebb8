import { pick, SNAPSHOT, TEAM_SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { githubTool, nextPage, type RepositoryClient } from "./client.ts";
import { page, paged, pageSchema, paging, ref, repository, safeRef } from "./fields.ts";

export const deliveryTools = [
  githubTool({
    name: "list_releases",
    description: "Lists releases, newest first, with their notes.",
    ...SNAPSHOT,
    input_schema: z.strictObject({ repository, ...paged }),
    output_schema: pageSchema(
      "releases",
      "id:any tag name target draft:flag prerelease:flag author published_at url notes",
    ),
    work: async ({ rest, at }, input) => {
      const response = await rest.repos.listReleases({ ...at, ...paging(input) });
      const releases = response.data.map((release) => ({
        ...pick(release, "id tag:tag_name name target:target_commitish"),
        draft: release.draft || undefined,
        prerelease: release.prerelease || undefined,
        ...pick(release, "author:author?.login published_at url:html_url notes:body"),
      }));
      return { releases, next_page: nextPage(response) };
    },
  }),
  githubTool({
    name: "list_deployments",
    description: "Lists deployments, newest first, each with its latest status. One request per item.",
    ...TEAM_SNAPSHOT,
    selects: ["environment", "ref"],
    input_schema: z.strictObject({
      repository,
      environment: z.string().max(255).optional(),
      ref: ref.optional(),
      limit: z.int().min(1).max(10).optional().describe("Default 5."),
      page,
    }),
    output_schema: pageSchema(
      "deployments",
      "id:any environment ref sha task creator description created_at status:{ state description at url }",
    ),
    work: async (github, input) => {
      const { environment, ref: of } = input;
      const filters = { ...(environment ? { environment } : {}), ...(of ? { ref: safeRef(of) } : {}) };
      const places = { ...github.at, ...paging({ limit: 5, ...input }) };
      const response = await github.rest.repos.listDeployments({ ...places, ...filters });
      const deployments = response.data.map(async (deployment) => ({
        ...pick(deployment, "id environment ref sha task creator:creator?.login description created_at"),
        status: await latestStatus(github, deployment.id),
      }));
      return { deployments: await Promise.all(deployments), next_page: nextPage(response) };
    },
  }),
];

async function latestStatus({ rest, at }: RepositoryClient, deployment: number) {
  const query = { ...at, deployment_id: deployment, per_page: 1 };
  const { data } = await rest.repos.listDeploymentStatuses(query);
  const [latest] = data;
  return latest && { state: latest.state, description: latest.description, at: latest.created_at, url: latest.log_url };
}
