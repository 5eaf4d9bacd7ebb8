import { each, lenient, pick, SNAPSHOT, TEAM_SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { flag, limit, page, paged, person, project, text } from "./fields.ts";
import { gitlabTool, nextPage, pageSchema, paging, READS } from "./service.ts";

export const deliveryTools = [
  gitlabTool({
    name: "list_deployments",
    description:
      "Lists deployments, last changed first: environment, commit, state, time. Shows what was deployed before the first symptom. Compare two shas of one environment.",
    ...TEAM_SNAPSHOT,
    selects: ["environment", "status"],
    input_schema: z.strictObject({
      project,
      environment: z.string().min(1).max(255).optional().describe("Such as production."),
      status: z.enum(["created", "running", "success", "failed", "canceled", "blocked"]).optional(),
      ...paged,
    }),
    output_schema: pageSchema(
      "deployments",
      "id:number environment status ref sha subject by job:number created_at finished_at",
    ),
    work: async ({ ask }, input) => {
      const { environment, status } = input;
      const found = await ask({
        path: ["deployments"],
        query: { environment, status, order_by: "updated_at", sort: "desc", ...paging(input) },
        needs: READS,
        answer: z.array(deployment),
      });
      const deployments = found.map((one) => ({
        ...pick(one, "id environment:environment?.name status ref sha subject:deployable?.commit?.title"),
        ...pick(one, "by:user?.username job:deployable?.id created_at finished_at:deployable?.finished_at"),
      }));
      return { deployments, next_page: nextPage(found, input) };
    },
  }),
  gitlabTool({
    name: "list_releases",
    description: "Lists releases, newest first, with their notes. For what was deployed where: list_deployments.",
    ...SNAPSHOT,
    input_schema: z.strictObject({ project, limit: limit.describe("Default 20."), page }),
    output_schema: pageSchema("releases", "tag name author sha upcoming:flag released_at notes url"),
    work: async ({ ask }, input) => {
      const found = await ask({ path: ["releases"], query: paging(input), needs: READS, answer: z.array(release) });
      const releases = found.map((one) => ({
        ...pick(one, "tag:tag_name name author:author?.username sha:commit?.id"),
        upcoming: one.upcoming_release || undefined,
        ...pick(one, "released_at notes:description url:_links?.self"),
      }));
      return { releases, next_page: nextPage(found, input) };
    },
  }),
];

const deployment = z.object({
  id: z.number(),
  ...each(text, "status ref sha created_at"),
  user: person,
  environment: lenient(z.object({ name: text })),
  deployable: lenient(z.object({ id: z.number(), finished_at: text, commit: z.object({ title: text }).nullish() })),
});

const release = z.object({
  tag_name: z.string(),
  ...each(text, "name description"),
  author: person,
  commit: lenient(z.object({ id: text })),
  upcoming_release: flag,
  released_at: text,
  _links: lenient(z.object({ self: text })),
});
