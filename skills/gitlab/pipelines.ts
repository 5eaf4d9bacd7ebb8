import { defineTool, type JsonObject } from "skillflow";
import {
  each,
  jobLogInput,
  jobLogShape,
  LASTING,
  pick,
  readJobLog,
  resultSchema,
  TEAM_SNAPSHOT,
} from "skillflow/internal";
import * as z from "zod";
import { amount, flag, number, page, paged, person, project, ref, text } from "./fields.ts";
import { gitlabTool, inProject, nextPage, pageSchema, paging, READS } from "./service.ts";

const PIPELINE = "id:number status ref sha source created_at updated_at url";

const JOB = "id:number name stage status failure may_fail:flag started_at finished_at seconds:number url";

export const pipelineTools = [
  gitlabTool({
    name: "list_pipelines",
    description:
      "Lists pipelines with their results, newest first. To see why one failed: get_pipeline, then get_job_log.",
    ...TEAM_SNAPSHOT,
    selects: ["ref", "status", "sha"],
    input_schema: z.strictObject({
      project,
      ref: ref.optional().describe("Branch or tag."),
      status: z
        .enum(["running", "pending", "success", "failed", "canceled", "skipped", "manual", "scheduled"])
        .optional(),
      sha: z
        .string()
        .regex(/^[0-9a-f]{40}$/)
        .optional()
        .describe("Full sha."),
      ...paged,
    }),
    output_schema: pageSchema("pipelines", PIPELINE),
    work: async ({ ask }, input) => {
      const found = await ask({
        path: ["pipelines"],
        query: { ...pick(input, "ref status sha"), order_by: "id", sort: "desc", ...paging(input) },
        needs: READS,
        answer: z.array(pipeline),
      });
      return { pipelines: found.map(briefOf), next_page: nextPage(found, input) };
    },
  }),
  gitlabTool({
    name: "get_pipeline",
    description:
      "Reads one pipeline with its jobs, failed ones first, each with a short failure reason. For the output of a job: get_job_log.",
    ...TEAM_SNAPSHOT,
    echoes: ["id"],
    input_schema: z.strictObject({ project, pipeline: number.describe("Its id."), page }),
    output_schema: resultSchema("id jobs", `${PIPELINE} by seconds:number errors jobs:[{ ${JOB} }] next_page:number`),
    work: async ({ ask }, input) => {
      const place = ["pipelines", String(input.pipeline)];
      const found = await ask({ path: place, needs: READS, answer: pipeline });
      const paged = { limit: 100, page: input.page };
      const jobs = await ask({ path: [...place, "jobs"], query: paging(paged), needs: READS, answer: z.array(job) });
      return {
        ...briefOf(found),
        ...pick(found, "by:user?.username seconds:duration errors:yaml_errors"),
        jobs: jobs.map(jobOf).sort((a, b) => Number(b.status === "failed") - Number(a.status === "failed")),
        next_page: nextPage(jobs, paged),
      };
    },
  }),
  defineTool({
    name: "get_job_log",
    description:
      "Reads one job's log, without colors: reduced to head, failed step, rare errors and tail; or by `search`, or from `offset`.",
    ...LASTING,
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
          const found = await ask({ path: place, needs: READS, answer: job });
          log = await ask({ path: [...place, "trace"], needs: READS, isText: "end", answer: z.string() });
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

function briefOf({ id, status, ref: of, sha, source, created_at, updated_at, web_url }: z.infer<typeof pipeline>) {
  return { id, status, ref: of, sha, source, created_at, updated_at, url: web_url };
}

function jobOf(found: z.infer<typeof job>) {
  return {
    ...pick(found, "id name stage status"),
    failure: found.failure_reason,
    may_fail: found.allow_failure || undefined,
    ...pick(found, "started_at finished_at seconds:duration url:web_url"),
  };
}
