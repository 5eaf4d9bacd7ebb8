import { fillTemplate } from "../../../templates/fill.ts";
import type { CiJob } from "./job.ts";

/** File that `init` writes. `.gitlab-ci.yml` includes it. */
export const GITLAB_FILE = ".gitlab-ci.skillflow.yml";

/** Returns two GitLab CI jobs: one runs the project's workflow, the other applies its plan. */
export function gitlabJob({ workflow, model, key, reads, writes, state }: CiJob): string {
  const digest = state === undefined ? "" : ` --state git:${state} --report digest=triage/out/digest.md`;
  return fillTemplate("jobs/gitlab.yml", {
    analyse_variables: namesOf([...(key === undefined ? [] : [key]), ...reads]),
    apply_variables: namesOf(writes),
    remembered: state === undefined ? "" : remembered(state),
    workflow: JSON.stringify(workflow),
    model: model === undefined ? "" : `    MODEL: ${JSON.stringify(model)}\n`,
    flags: (model === undefined ? "" : ' --model "$MODEL"') + digest,
  });
}

function remembered(state: string): string {
  return `# State is stored on the branch ${state}. Allow pushes by job tokens (Settings, CI/CD, Job token permissions), and
# protect the other branches.
`;
}

function namesOf(variables: readonly string[]): string {
  return variables.length === 0 ? "none" : variables.join(", ");
}
