import { defined } from "../../../core/base/values.ts";
import { callingJob, GITHUB_FILE, GITLAB_FILE, githubJob, gitlabJob, type StartedBy } from "./jobs.ts";
import { pathsOf, type StarterFile } from "./starter.ts";
import type { Survey } from "./survey.ts";

/** Files next to a new workflow: config, variables and the CI job. */

export function configText({ key }: Survey): string {
  const model = key === "OPENAI_API_KEY" ? "openai:gpt-5" : "anthropic:claude-sonnet-4-5";
  return `# Settings for all runs of this project. Flags override them.
${key === undefined ? "# " : ""}model: ${model}
writes: plan # queue writes until \`skillflow apply\`
limits: { max_cost_usd: 2, timeout: 30m }
`;
}

const MODELS = `# Variables of the workflow. All are optional: a skill without its required variables is not used.
# Skillflow reads such a file only if you name it: skillflow run WORKFLOW --env-from .env

# A model: one is enough
#ANTHROPIC_API_KEY=
#OPENAI_API_KEY=
`;

/** Returns the `.env.example`, with the variables of all skills that a triage may use. */
export function environmentText({ variables }: Survey): string {
  const sections = [...variables].flatMap(([id, fields]) => {
    if (fields.length === 0) return [];
    const lines = fields.map(({ name, description, isRequired }) => {
      return `# ${description.replace(/\s+/g, " ")}${isRequired ? " (required)" : ""}\n#${name}=\n`;
    });
    return [`# ${id}\n${lines.join("")}`];
  });
  return [MODELS, ...sections].join("\n");
}

interface JobSetting {
  readonly name: string;
  readonly survey: Survey;
  readonly state?: string;
  readonly startedBy?: StartedBy;
  /** Workflow of another repository that the job calls. */
  readonly reuse?: string | undefined;
}

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
