import { defineTool, type JsonObject } from "skillflow";
import {
  each,
  JOB_LOG_RESULT,
  jobLogInput,
  jobLogShape,
  LASTING,
  lenient,
  pick,
  readJobLog,
  resultSchema,
  SNAPSHOT,
  TEAM_SNAPSHOT,
  textLike,
} from "skillflow/internal";
import * as z from "zod";
import { amount, flag, number, page, paged, person, project, ref, text } from "./fields.ts";
import { gitlabTool, inProject, nextPage, pageSchema, paging } from "./service.ts";

const PIPELINE = "id:number status ref sha source created_at updated_at url";

const JOB = "id:number name stage status failure may_fail:flag started_at finished_at seconds:number url";

export const pipelineTools = [
  gitlabTool({
    name: "list_pipelines",
    description: "Lists pipelines with their results, newest first. To see why one failed: get_pipeline.",
    ...TEAM_SNAPSHOT,
    selects: ["ref", "status", "sha"],
    input_schema: z.strictObject({
      project,
      ref: ref.optional().describe("Branch or tag."),
      status: z
        .enum(["running", "pending", "success", "failed", "canceled", "skipped", "manual", "scheduled"])
        .optional(),
      sha: textLike(/^[0-9a-f]{40}$/)
        .optional()
        .describe("Full sha."),
      ...paged,
    }),
    output_schema: pageSchema("pipelines", PIPELINE),
    work: async ({ ask }, input) => {
      const found = await ask({
        path: ["pipelines"],
        query: { ...pick(input, "ref status sha"), order_by: "id", sort: "desc", ...paging(input) },
        answer: z.array(pipeline),
      });
      return { pipelines: found.map(briefOf), next_page: nextPage(found, input) };
    },
  }),
  gitlabTool({
    name: "get_pipeline",
    description:
      "Reads one pipeline with its jobs, failed ones first, each with a short failure reason. If its own jobs passed, with the pipelines that they started.",
    ...TEAM_SNAPSHOT,
    echoes: ["id"],
    input_schema: z.strictObject({ project, pipeline: number.describe("Its id."), page }),
    output_schema: resultSchema(
      "id jobs",
      `${PIPELINE} by seconds:number errors jobs:[{ ${JOB} }]
        downstream:[{ job status pipeline:number project:number url }] next_page:number`,
    ),
    work: async ({ ask }, input) => {
      const place = ["pipelines", String(input.pipeline)];
      const found = await ask({ path: place, answer: pipeline });
      const paged = { limit: 100, page: input.page };
      const jobs = await ask({ path: [...place, "jobs"], query: paging(paged), answer: z.array(job) });
      // Jobs that start other pipelines are not among the jobs, although their failure fails the pipeline.
      const bridges =
        found.status === "failed" && !jobs.some((one) => one.status === "failed" && !one.allow_failure)
          ? await ask({ path: [...place, "bridges"], query: { per_page: 100 }, answer: z.array(bridge) })
          : undefined;
      return {
        ...briefOf(found),
        ...pick(found, "by:user?.username seconds:duration errors:yaml_errors"),
        jobs: jobs.map(jobOf).sort((a, b) => Number(b.status === "failed") - Number(a.status === "failed")),
        downstream: bridges?.map(({ name, status, downstream_pipeline: started }) => ({
          job: name,
          status: started?.status ?? status,
          ...{ pipeline: started?.id, project: started?.project_id, url: started?.web_url },
        })),
        next_page: nextPage(jobs, paged),
      };
    },
  }),
  defineTool({
    name: "get_job_log",
    description:
      "Reads one job's log, without colors: reduced to head, failed step, rare errors and tail; or by `search`, or from `offset`.",
    ...LASTING,
    most_result: JOB_LOG_RESULT,
    selects: ["search"],
    echoes: ["id"],
    input_schema: z.strictObject({
      project,
      job: number.describe("Its id, from get_pipeline."),
      ...jobLogInput,
    }),
    output_schema: resultSchema("id log log_lines", `${JOB} ${jobLogShape} note`),
    handler: async (input, context) => {
      let log = "";
      const told = await inProject(
        context,
        async ({ ask }) => {
          const place = ["jobs", String(input.job)];
          const found = await ask({ path: place, answer: job });
          log = await ask({ path: [...place, "trace"], isText: "end", answer: z.string() });
          return { ...jobOf(found), note: log === "" ? NO_LOG : undefined };
        },
        input,
      );
      // A log has its own limit, above that of other results.
      return { ...(told as JsonObject), ...(await readJobLog(log, input, context)) };
    },
  }),
];

const NO_LOG = "GitLab has no log of this job: it was erased, or the job never started.";

const pipeline = z.object({
  id: z.number(),
  ...each(text, "status ref sha source created_at updated_at web_url"),
  user: person,
  duration: amount,
  yaml_errors: text,
});

const job = z.object({
  id: z.number(),
  ...each(text, "name stage status failure_reason"),
  allow_failure: flag,
  ...each(text, "started_at finished_at"),
  duration: amount,
  web_url: text,
});

const bridge = z.object({
  ...each(text, "name status"),
  downstream_pipeline: lenient(z.object({ id: z.number(), project_id: amount, status: text, web_url: text })),
});

function briefOf(found: z.infer<typeof pipeline>) {
  return pick(found, "id status ref sha source created_at updated_at url:web_url");
}

function jobOf(found: z.infer<typeof job>) {
  return {
    ...pick(found, "id name stage status"),
    failure: found.failure_reason,
    may_fail: found.allow_failure || undefined,
    ...pick(found, "started_at finished_at seconds:duration url:web_url"),
  };
}

export const deliveryTools = [
  gitlabTool({
    name: "list_deployments",
    description: "Lists deployments, last changed first: environment, commit, state, time.",
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
    description: "Lists releases, newest first, with their notes.",
    ...SNAPSHOT,
    input_schema: z.strictObject({ project, ...paged }),
    output_schema: pageSchema("releases", "tag name author sha upcoming:flag released_at notes url"),
    work: async ({ ask }, input) => {
      const found = await ask({ path: ["releases"], query: paging(input), answer: z.array(release) });
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
