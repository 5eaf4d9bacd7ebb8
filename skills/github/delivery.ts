import { defineTool } from "skillflow";
import * as z from "zod";
import { inRepository, nextPage, type RepositoryClient, type WorkflowJob } from "./client.ts";
import { isHttpFailure } from "./failure.ts";
import { branch, limit, page, paging, ref, repository, safeRef } from "./fields.ts";
import { tailOf } from "./log-tail.ts";

export const deliveryTools = [
  defineTool({
    name: "list_releases",
    description: "Lists releases, newest first, with their notes.",
    effect: "read",
    input_schema: z.strictObject({ repository, limit, page }),
    handler: (input, context) =>
      inRepository(input, context, async ({ rest, at }) => {
        const response = await rest.repos.listReleases({ ...at, ...paging(input) });
        const releases = response.data.map((release) => ({
          id: release.id,
          tag: release.tag_name,
          name: release.name,
          target: release.target_commitish,
          draft: release.draft || undefined,
          prerelease: release.prerelease || undefined,
          author: release.author?.login,
          published_at: release.published_at,
          url: release.html_url,
          notes: release.body,
        }));
        return { releases, next_page: nextPage(response) };
      }),
  }),
  defineTool({
    name: "list_deployments",
    description: "Lists deployments, newest first, each with its latest status.",
    effect: "read",
    origin: "team",
    input_schema: z.strictObject({
      repository,
      environment: z.string().max(255).optional(),
      ref: ref.optional(),
      limit: z.int().min(1).max(10).optional().describe("Default 5."),
      page,
    }),
    handler: (input, context) =>
      inRepository(input, context, async (github) => {
        const { environment, ref: of } = input;
        const filters = { ...(environment ? { environment } : {}), ...(of ? { ref: safeRef(of) } : {}) };
        const places = { ...github.at, ...paging({ limit: 5, ...input }) };
        const response = await github.rest.repos.listDeployments({ ...places, ...filters });
        const deployments = response.data.map(async (deployment) => ({
          id: deployment.id,
          environment: deployment.environment,
          ref: deployment.ref,
          sha: deployment.sha,
          task: deployment.task,
          creator: deployment.creator?.login,
          description: deployment.description,
          created_at: deployment.created_at,
          status: await latestStatus(github, deployment.id),
        }));
        return { deployments: await Promise.all(deployments), next_page: nextPage(response) };
      }),
  }),
  defineTool({
    name: "list_workflow_runs",
    description: "Lists GitHub Actions runs, newest first, and how they ended.",
    effect: "read",
    input_schema: z.strictObject({
      repository,
      workflow: z
        .string()
        .max(255)
        .regex(/^[A-Za-z0-9_][A-Za-z0-9._-]*$/)
        .optional()
        .describe("File name, such as ci.yml, or id."),
      branch: branch.optional(),
      status: z
        .enum(["success", "failure", "cancelled", "timed_out", "skipped", "completed", "in_progress", "queued"])
        .optional(),
      event: z
        .string()
        .max(50)
        .regex(/^[a-z_]+$/)
        .optional()
        .describe("Such as push or schedule."),
      head_sha: z
        .string()
        .regex(/^[0-9a-f]{40}$/)
        .optional()
        .describe("Whole sha."),
      limit,
      page,
    }),
    handler: (input, context) =>
      inRepository(input, context, async ({ rest, at }) => {
        const { repository: _, workflow, limit: __, page: ___, ...filters } = input;
        const query = { ...at, ...filters, ...paging(input) };
        const response = workflow
          ? await rest.actions.listWorkflowRuns({ ...query, workflow_id: workflow })
          : await rest.actions.listWorkflowRunsForRepo(query);
        const runs = response.data.workflow_runs.map((run) => ({
          id: run.id,
          workflow: run.name,
          title: run.display_title,
          status: run.status,
          conclusion: run.conclusion,
          branch: run.head_branch,
          sha: run.head_sha,
          event: run.event,
          attempt: run.run_attempt,
          actor: run.actor?.login,
          created_at: run.created_at,
          url: run.html_url,
        }));
        return { total_count: response.data.total_count, runs, next_page: nextPage(response) };
      }),
  }),
  defineTool({
    name: "get_workflow_run_logs",
    description: "Reads the end of a run's failed jobs' logs.",
    effect: "read",
    input_schema: z.strictObject({
      repository,
      run_id: z.int().min(1),
      limit: z.int().min(1).max(5).optional().describe("Jobs; default 3."),
    }),
    handler: (input, context) =>
      inRepository(input, context, async (github) => {
        const { jobs, isWhole } = await jobsOf(github, input.run_id);
        const failed = jobs.filter((job) => FAILED.includes(job.conclusion ?? ""));
        const shown = failed.slice(0, input.limit ?? 3);
        const logs = [];
        for (const job of shown) logs.push(await failureOf(github, job, LOG_BUDGET / shown.length));
        return {
          run_id: input.run_id,
          jobs: jobs.length,
          ...(isWhole ? {} : { truncated: "this run has more jobs than were looked at" }),
          failed: logs,
          other_failed_jobs: failed.slice(shown.length, shown.length + 20).map((job) => job.name),
        };
      }),
  }),
];

const FAILED: readonly string[] = ["failure", "timed_out", "startup_failure"];
const LOG_BUDGET = 14_000;
const MOST_JOB_PAGES = 3;

async function latestStatus({ rest, at }: RepositoryClient, deployment: number) {
  const query = { ...at, deployment_id: deployment, per_page: 1 };
  const { data } = await rest.repos.listDeploymentStatuses(query);
  const [latest] = data;
  return latest && { state: latest.state, description: latest.description, at: latest.created_at, url: latest.log_url };
}

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

async function failureOf(github: RepositoryClient, job: WorkflowJob, budget: number) {
  const steps = job.steps?.filter((step) => FAILED.includes(step.conclusion ?? "")).map((step) => step.name);
  return {
    id: job.id,
    name: job.name,
    conclusion: job.conclusion,
    failed_steps: steps,
    completed_at: job.completed_at,
    url: job.html_url,
    ...(await logOf(github, job.id, budget)),
  };
}

async function logOf({ rest, at }: RepositoryClient, job: number, budget: number) {
  try {
    const request = { parseSuccessResponseBody: false };
    const { data } = await rest.actions.downloadJobLogsForWorkflowRun({ ...at, job_id: job, request });
    return await tailOf(data, budget);
  } catch (error) {
    const isGone = isHttpFailure(error) && (error.status === 404 || error.status === 410);
    if (!isGone) throw error;
    return { log: "GitHub has no log of this job: it has expired, or the job never started." };
  }
}
