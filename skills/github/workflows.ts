import { defineTool, type JsonObject, type ToolContext } from "skillflow";
import {
  endOfStream,
  JOB_LOG_RESULT,
  type JobLogInput,
  jobLogInput,
  LASTING,
  pick,
  readJobLog,
  resultSchema,
  SNAPSHOT,
  textLike,
} from "skillflow/internal";
import * as z from "zod";
import { githubTool, inRepository, nextPage, type RepositoryClient, type WorkflowJob } from "./client.ts";
import { isHttpFailure } from "./failure.ts";
import { JOB, paged, pageSchema, paging, ref, repository, safeRef } from "./fields.ts";

export const workflowTools = [
  githubTool({
    name: "list_workflow_runs",
    description: "Lists GitHub Actions runs with their results, newest first. For one commit and all apps: get_checks.",
    ...SNAPSHOT,
    selects: ["workflow", "branch", "status", "event", "head_sha"],
    input_schema: z.strictObject({
      repository,
      workflow: textLike(/^[A-Za-z0-9_][A-Za-z0-9._-]*$/, 255)
        .optional()
        .describe("File name, such as ci.yml, or the id."),
      branch: ref.optional(),
      status: z
        .enum(["success", "failure", "cancelled", "timed_out", "skipped", "completed", "in_progress", "queued"])
        .optional(),
      event: textLike(/^[a-z_]+$/, 50)
        .optional()
        .describe("Such as push or schedule."),
      head_sha: textLike(/^[0-9a-f]{40}$/)
        .optional()
        .describe("Full sha."),
      ...paged,
    }),
    output_schema: pageSchema(
      "runs",
      "id:any workflow title status conclusion branch sha event attempt:number actor created_at url",
      "total_count:number",
    ),
    work: async ({ rest, at }, input) => {
      const { repository: _, workflow, limit: __, page: ___, ...filters } = input;
      const query = { ...at, ...filters, ...paging(input) };
      const response = workflow
        ? await rest.actions.listWorkflowRuns({ ...query, workflow_id: workflow })
        : await rest.actions.listWorkflowRunsForRepo(query);
      const runs = response.data.workflow_runs.map((run) => ({
        ...pick(run, "id workflow:name title:display_title status conclusion branch:head_branch sha:head_sha event"),
        ...pick(run, "attempt:run_attempt actor:actor?.login created_at url:html_url"),
      }));
      return { total_count: response.data.total_count, runs, next_page: nextPage(response) };
    },
  }),
  githubTool({
    name: "get_workflow_run_logs",
    description: "Reads what explains the failure in the logs of a run's failed jobs. One download per job.",
    ...LASTING,
    echoes: ["run_id"],
    input_schema: z.strictObject({
      repository,
      run_id: z.int().min(1),
      limit: z.int().min(1).max(5).optional().describe("Jobs; default 3."),
    }),
    output_schema: resultSchema(
      "jobs failed",
      `run_id:any jobs:number truncated failed:[{ ${JOB} }] other_failed_jobs:[text] note`,
    ),
    work: async (github, input, context) => {
      const { jobs, isWhole } = await jobsOf(github, input.run_id);
      const failed = jobs.filter((job) => FAILED.includes(job.conclusion ?? ""));
      const shown = failed.slice(0, input.limit ?? 3);
      const logs = [];
      for (const job of shown) {
        const wanted = { context, input: { max_bytes: Math.floor(LOG_BUDGET / shown.length) } };
        logs.push({ ...failureOf(job), ...(await logOf(github, job.id, wanted)) });
      }
      return {
        run_id: input.run_id,
        jobs: jobs.length,
        ...(isWhole ? {} : { truncated: "this run has more jobs than were checked" }),
        failed: logs,
        other_failed_jobs: failed.slice(shown.length, shown.length + 20).map((job) => job.name),
        note: unfinishedNote(jobs),
      };
    },
  }),
  defineTool({
    name: "get_job_log",
    description:
      "Reads one job's log, without colors and timestamps: reduced to head, failed step, rare errors and tail; or by `search`, or from `offset`.",
    ...LASTING,
    most_result: JOB_LOG_RESULT,
    selects: ["search"],
    echoes: ["id"],
    input_schema: z.strictObject({
      repository,
      job_id: z.int().min(1).describe("Of a run's job, or of get_checks where app is github-actions."),
      ...jobLogInput,
    }),
    output_schema: resultSchema("id name", `${JOB} run_id:any started_at`),
    handler: async (input, context) => {
      let log: JobLogPart = {};
      const told = await inRepository(
        context,
        async (github) => {
          const { data: job } = await github.rest.actions.getJobForWorkflowRun({ ...github.at, job_id: input.job_id });
          const { run_id, status, started_at } = job;
          log = await logOf(github, job.id, { context, input });
          return { run_id, status, started_at, ...failureOf(job) };
        },
        input,
      );
      // A log has its own limit, above that of other results.
      return { ...(told as JsonObject), ...log };
    },
  }),
  githubTool({
    name: "get_checks",
    description: "Reads the CI results of one commit: checks and statuses of all apps.",
    ...SNAPSHOT,
    input_schema: z.strictObject({ repository, ref, ...paged }),
    output_schema: resultSchema(
      "checks statuses",
      `state statuses:[{ context state description updated_at url }] total_statuses:number total_checks:number
        checks:[{ id:any name app status conclusion started_at completed_at summary url }] next_page:number`,
    ),
    work: async ({ rest, at }, input) => {
      const query = { ...at, ref: safeRef(input.ref), ...paging({ limit: 30, ...input }) };
      const response = await rest.checks.listForRef(query);
      const answer = await rest.repos.getCombinedStatusForRef(query);
      const { check_runs: checks, total_count } = response.data;
      const { data: combined } = answer;
      return {
        // GitHub reports "pending" if there are no statuses.
        state: combined.total_count > 0 ? combined.state : undefined,
        statuses: combined.statuses.map((one) => pick(one, "context state description updated_at url:target_url")),
        total_statuses: combined.total_count,
        total_checks: total_count,
        checks: checks.map((check) => {
          const summary = [check.output.title, check.output.summary].filter((part) => part).join(": ");
          return {
            ...pick(check, "id name app:app?.slug status conclusion started_at completed_at"),
            summary: summary || undefined,
            url: check.html_url,
          };
        }),
        next_page: nextPage(response) ?? nextPage(answer),
      };
    },
  }),
  githubTool({
    name: "rerun_workflow",
    description:
      "Reruns a finished workflow run: its failed jobs, or all. Use it for a flaky test or a lost runner. Read the log first.",
    effect: "write",
    targets: ["repository"],
    input_schema: z.strictObject({
      repository,
      run_id: z.int().min(1),
      all: z.boolean().optional().describe("Also rerun jobs that succeeded."),
    }),
    output_schema: resultSchema("run_id rerun", "run_id:any workflow rerun attempt:number url"),
    work: async ({ rest, at }, input) => {
      const place = { ...at, run_id: input.run_id };
      const { data: run } = await rest.actions.getWorkflowRun(place);
      if (run.status !== "completed")
        throw new Error(`Run ${input.run_id} is ${run.status}: only a finished run can be rerun.`);
      await (input.all ? rest.actions.reRunWorkflow(place) : rest.actions.reRunWorkflowFailedJobs(place));
      const { id, name: workflow, html_url: url } = run;
      const attempt = (run.run_attempt ?? 1) + 1;
      return { run_id: id, workflow, rerun: input.all ? "all jobs" : "failed jobs", attempt, url };
    },
  }),
];

const FAILED: readonly string[] = ["failure", "timed_out", "startup_failure"];
/** Room for the logs of several jobs, in bytes, with room for what JSON escapes. */
const LOG_BUDGET = 12_000;

interface Wanted {
  readonly context: ToolContext;
  readonly input: JobLogInput;
}
const MOST_JOB_PAGES = 3;

async function jobsOf({ rest, at }: RepositoryClient, run: number) {
  const jobs: WorkflowJob[] = [];
  for (let candidate = 1; candidate <= MOST_JOB_PAGES; candidate++) {
    const query = { ...at, run_id: run, filter: "latest", per_page: 100, page: candidate } as const;
    const response = await rest.actions.listJobsForWorkflowRun(query);
    jobs.push(...response.data.jobs);
    if (!nextPage(response)) return { jobs, isWhole: true };
  }
  return { jobs, isWhole: false };
}

/** Explains why a run without failed jobs may still have failed, or may yet fail. */
function unfinishedNote(jobs: readonly WorkflowJob[]): string | undefined {
  if (jobs.length === 0) return "The run has no jobs: it has not started, or its workflow file is invalid.";
  const unfinished = jobs.filter(({ conclusion }) => !conclusion).length;
  return unfinished > 0 ? `Jobs that have not finished: ${unfinished}.` : undefined;
}

function failureOf(job: WorkflowJob) {
  const steps = job.steps?.filter((step) => FAILED.includes(step.conclusion ?? "")).map((step) => step.name);
  return { ...pick(job, "id name conclusion"), failed_steps: steps, ...pick(job, "completed_at url:html_url") };
}

type JobLogPart = Readonly<Record<string, string | number>>;

async function logOf({ rest, at }: RepositoryClient, job: number, { context, input }: Wanted): Promise<JobLogPart> {
  try {
    const request = { parseSuccessResponseBody: false };
    const { data } = await rest.actions.downloadJobLogsForWorkflowRun({ ...at, job_id: job, request });
    const stream: unknown = data;
    if (!(stream instanceof ReadableStream)) throw new TypeError("a log is a stream of bytes");
    return { ...(await readJobLog(await endOfStream(stream, context.signal), input, context)) };
  } catch (error) {
    const isGone = isHttpFailure(error) && (error.status === 404 || error.status === 410);
    if (!isGone) throw error;
    return { log: "GitHub has no log of this job: it has not finished, never started, or its log has expired." };
  }
}
