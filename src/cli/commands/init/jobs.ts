import { defined } from "../../../core/base/values.ts";
import { fillTemplate, type Values } from "../../templates/fill.ts";
import { pathsOf, type StarterFile } from "./starter.ts";
import type { Survey } from "./survey.ts";

interface CiJob {
  readonly workflow: string;
  /** Value for `--model`. Undefined to use the model of the workflow or project. */
  readonly model?: string;
  /** Variable of the model's API key, if it needs one. */
  readonly key?: string;
  /** Variables that skills need for reading, in the job that calls the model. */
  readonly reads: readonly string[];
  /** Branch that stores the state. Undefined if the workflow keeps none. */
  readonly state?: string;
  /** Variables that skills need for writing, in the job that applies the plan. */
  readonly writes: readonly string[];
}

type GithubJob = CiJob & { readonly startedBy: StartedBy };

export type StartedBy = "alert" | "schedule" | "pull request";

export const GITHUB_FILE = ".github/workflows/skillflow.yml";

/** The action on the branch that releases publish it on. The user fills in the owner. */
export const ACTION = "OWNER/skillflow@v0";

export function githubJob(job: GithubJob): string {
  const { workflow, model, key, reads, startedBy } = job;
  const values = {
    action: ACTION,
    workflow: scalar(workflow),
    model: model === undefined ? "" : `          model: ${scalar(model)}\n`,
    analyse_env: environment([...(key === undefined ? [] : [key]), ...reads]),
  };
  if (startedBy !== "pull request") return fillTemplate("jobs/github.yml", { ...values, ...twoJobs(job) });
  const hasKey = key !== undefined;
  const identity = hasKey ? "" : ", id-token: write";
  return fillTemplate("jobs/github-pull-request.yml", {
    ...values,
    identity,
    federation: hasKey ? "" : fillTemplate("jobs/federation.txt", {}),
  });
}

/** Returns a job that calls the two jobs of a workflow in another repository: OWNER/REPO/PATH@COMMIT. */
export function callingJob(job: CiJob, reuse: string): string {
  const { workflow, model } = job;
  return fillTemplate("jobs/github-reuse.yml", {
    reuse,
    started: fillTemplate("jobs/alerts.txt", {}),
    workflow: scalar(workflow),
    model: model === undefined ? "" : `      model: ${scalar(model)}\n`,
    ...variablesOf(job),
  });
}

/** Values that only the two jobs for alerts and schedules need. */
function twoJobs({ reads, writes, state, startedBy }: GithubJob): Values {
  const isAlert = startedBy === "alert";
  return {
    started: isAlert ? fillTemplate("jobs/alerts.txt", {}) : rememberedWhere(state),
    events: isAlert
      ? "  repository_dispatch:\n    types: [alert]\n"
      : "  schedule:\n    - cron: 17 6 * * 1-5\n  workflow_dispatch:\n",
    reading: permissions(reads, "read", state),
    credentials: state === undefined ? "        with: { persist-credentials: false }\n" : "",
    input: isAlert ? "          input: ${{ toJSON(github.event.client_payload) }}\n" : "",
    args: state === undefined ? "" : `          args: --state git:${state} --report digest=triage/out/digest.md\n`,
    writing: permissions(writes, "write"),
    apply_env: environment(writes),
  };
}

function rememberedWhere(state: string | undefined): string {
  if (state === undefined) return "# Runs do not remember anything from earlier runs.\n";
  return fillTemplate("jobs/state-on-github.txt", { state });
}

/** Returns a job's permissions. They also limit its `GITHUB_TOKEN`. */
function permissions(variables: readonly string[], issues: "read" | "write", state?: string): string {
  const contents = `contents: ${state === undefined ? "read" : "write"}`;
  return variables.includes("GITHUB_TOKEN") ? `{ ${contents}, issues: ${issues} }` : `{ ${contents} }`;
}

function environment(variables: readonly string[]): string {
  const lines = variables.map((name) => {
    return `          ${name}: \${{ ${name === "GITHUB_TOKEN" ? "github.token" : `secrets.${name}`} }}\n`;
  });
  return lines.length === 0 ? "" : `        env:\n${lines.join("")}`;
}

/** Quotes a string that YAML could parse as another value. */
function scalar(text: string): string {
  return /^[A-Za-z][\w./-]*$/.test(text) ? text : JSON.stringify(text);
}

/** File that `init` writes. `.gitlab-ci.yml` includes it. */
export const GITLAB_FILE = ".gitlab-ci.skillflow.yml";

/** Returns two GitLab CI jobs: one runs the project's workflow, the other applies its plan. */
export function gitlabJob(job: CiJob): string {
  const { workflow, model, state } = job;
  const digest = state === undefined ? "" : ` --state git:${state} --report digest=triage/out/digest.md`;
  return fillTemplate("jobs/gitlab.yml", {
    ...variablesOf(job),
    remembered: state === undefined ? "" : fillTemplate("jobs/state-on-gitlab.txt", { state }),
    workflow: JSON.stringify(workflow),
    model: model === undefined ? "" : `    MODEL: ${JSON.stringify(model)}\n`,
    flags: (model === undefined ? "" : ' --model "$MODEL"') + digest,
  });
}

/** Lists the variables of both jobs, for a comment. */
function variablesOf({ key, reads, writes }: CiJob): Values {
  const listed = (variables: readonly string[]) => (variables.length === 0 ? "none" : variables.join(", "));
  return {
    analyse_variables: listed([...(key === undefined ? [] : [key]), ...reads]),
    apply_variables: listed(writes),
  };
}

/** Project for whose workflow `name` a job is written. `reuse` is a workflow of another repository that the job calls. */
type JobSetting = Pick<CiJob, "state"> & {
  readonly name: string;
  readonly survey: Survey;
  readonly startedBy?: StartedBy;
  readonly reuse?: string | undefined;
};

/** Returns the CI file. Secrets for writing go only to the job that applies the plan, never to the one that calls the model. */
export function jobFile(
  ci: "github" | "gitlab",
  { name, survey, state, startedBy = "alert", reuse }: JobSetting,
): StarterFile {
  const { readers, tellers, variables, key = "ANTHROPIC_API_KEY" } = survey;
  const namesOf = (ids: readonly string[]) => {
    const all = ids
      .flatMap((id) => variables.get(id) ?? [])
      .filter(({ isRequired, isSecret }) => isRequired || isSecret);
    return [...new Set(all.map((variable) => variable.name))];
  };
  const secrets = { key, reads: namesOf(readers), writes: namesOf(tellers) };
  const job = { workflow: pathsOf(name).workflow, ...secrets, ...defined("state", state) };
  if (ci === "gitlab") return [GITLAB_FILE, gitlabJob(job)];
  if (reuse !== undefined) return [GITHUB_FILE, callingJob(job, reuse)];
  return [GITHUB_FILE, githubJob({ ...job, startedBy })];
}
