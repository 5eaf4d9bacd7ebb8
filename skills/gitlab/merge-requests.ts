import { each, isoField, lenient, pick, resultSchema, SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { CHANGE, changeOf, diff } from "./commits.ts";
import { flag, number, page, paged, person, project, ref, text } from "./fields.ts";
import { gitlabTool, nextPage, pageSchema, paging } from "./service.ts";

const REQUEST = `number:number title state draft:flag author source_branch target_branch sha merge_sha labels:[text] created_at
  updated_at merged_at merged_by url`;

export const mergeRequestTools = [
  gitlabTool({
    name: "list_merge_requests",
    description:
      "Lists merge requests by state, words or branch, last changed first. For recent merges: `state: merged` with `updated_after`.",
    ...SNAPSHOT,
    selects: ["state", "search", "target_branch", "updated_after"],
    input_schema: z.strictObject({
      project,
      state: z.enum(["opened", "closed", "merged"]).optional(),
      search: z.string().min(1).max(200).optional().describe("In title and text."),
      target_branch: ref.optional(),
      updated_after: isoField.optional(),
      ...paged,
    }),
    output_schema: pageSchema("merge_requests", REQUEST),
    work: async ({ ask }, input) => {
      const { project: _, limit: __, page: ___, state = "all", ...filters } = input;
      const found = await ask({
        path: ["merge_requests"],
        query: { ...filters, state, order_by: "updated_at", sort: "desc", ...paging(input) },
        answer: z.array(request),
      });
      return { merge_requests: found.map(briefOf), next_page: nextPage(found, input) };
    },
  }),
  gitlabTool({
    name: "get_merge_request",
    description:
      "Reads one merge request: its text, state, pipeline, and whether it can be merged. For its patches: get_merge_request_diffs.",
    ...SNAPSHOT,
    echoes: ["number"],
    input_schema: z.strictObject({ project, number }),
    output_schema: resultSchema(
      "number",
      `${REQUEST} text merge_status pipeline:{ id:number status url } changed_files`,
    ),
    work: async ({ ask }, input) => {
      const found = await ask({ path: ["merge_requests", String(input.number)], answer: request });
      const pipeline = found.head_pipeline;
      return {
        ...briefOf(found),
        ...pick(found, "text:description merge_status:detailed_merge_status changed_files:changes_count"),
        pipeline: pipeline ? pick(pipeline, "id status url:web_url") : undefined,
      };
    },
  }),
  gitlabTool({
    name: "get_merge_request_diffs",
    description: "Reads the patches of a merge request, file by file.",
    ...SNAPSHOT,
    input_schema: z.strictObject({
      project,
      number,
      limit: z.int().min(1).max(30).optional().describe("Number of files."),
      page,
    }),
    output_schema: pageSchema("files", CHANGE),
    work: async ({ ask }, input) => {
      const files = await ask({
        path: ["merge_requests", String(input.number), "diffs"],
        // Older GitLab versions fail with more than 30 per page.
        query: paging(input),
        answer: z.array(diff),
      });
      return { files: files.map(changeOf), next_page: nextPage(files, input) };
    },
  }),
];

const request = z.object({
  iid: z.number(),
  ...each(text, "title description state"),
  draft: flag,
  author: person,
  ...each(text, "source_branch target_branch sha merge_commit_sha squash_commit_sha"),
  labels: lenient(z.array(z.string())),
  ...each(text, "created_at updated_at merged_at"),
  merge_user: person,
  ...each(text, "web_url detailed_merge_status changes_count"),
  head_pipeline: lenient(z.object({ id: z.number(), status: text, web_url: text })),
});

function briefOf(found: z.infer<typeof request>) {
  return {
    ...pick(found, "number:iid title state"),
    draft: found.draft || undefined,
    author: found.author?.username,
    ...pick(found, "source_branch target_branch sha"),
    merge_sha: found.merge_commit_sha ?? found.squash_commit_sha,
    ...pick(found, "labels created_at updated_at merged_at merged_by:merge_user?.username url:web_url"),
  };
}
