import type { CiJob } from "./job.ts";

/** The text of two jobs of GitLab CI that run a workflow of ours; pure, as `init` writes it into a project. */

/** Where `init` writes it; `.gitlab-ci.yml` includes it. */
export const GITLAB_FILE = ".gitlab-ci.skillflow.yml";

export function gitlabJob({ workflow, model, key, reads, writes, state }: CiJob): string {
  const flags = [
    '--run-id "$CI_PIPELINE_ID" --writes plan --store triage/runs --out triage/out',
    ...(model === undefined ? [] : ['--model "$MODEL"']),
    ...(state === undefined ? [] : [`--state git:${state} --report digest=triage/out/digest.md`]),
  ];
  const lines = [
    "# The first job asks the model and holds nothing that writes. The second is started by hand in the protected environment",
    "# `skillflow-writes`, with PLAN_DIGEST as the digest of the plan that was read, and RECORD_DIGEST as the digest that the log of the",
    "# first job ends with: a plan or a record with another digest is not applied.",
    "# Include it in .gitlab-ci.yml: `include: { local: .gitlab-ci.skillflow.yml }`. A pipeline is triggered with the alert as the",
    "# variable ALERT, or scheduled. The variables are masked and protected (Settings, CI/CD, Variables):",
    `#   of skillflow-analyse: ${namesOf([...(key === undefined ? [] : [key]), ...reads])}`,
    `#   of skillflow-apply, in the environment skillflow-writes: ${namesOf(writes)}`,
    ...(state === undefined
      ? []
      : [
          `# What was seen is kept on the branch ${state}: allow pushes by job tokens (Settings, CI/CD, Job token permissions) and`,
          "# protect the other branches.",
        ]),
    ".skillflow:",
    "  image: node:24-bookworm-slim",
    "  rules:",
    '    - if: $CI_COMMIT_REF_PROTECTED == "true" && $CI_PIPELINE_SOURCE =~ /^(api|schedule|trigger)$/',
    "  before_script:",
    "    - apt-get update -qq && apt-get install -qq --yes git",
    "    - npm ci --ignore-scripts",
    "",
    "skillflow-analyse:",
    "  extends: .skillflow",
    "  stage: test",
    "  timeout: 40 minutes",
    "  variables:",
    `    WORKFLOW: ${JSON.stringify(workflow)}`,
    ...(model === undefined ? [] : [`    MODEL: ${JSON.stringify(model)}`]),
    '    ALERT: "{}"',
    "  script:",
    "    - printf '%s' \"$ALERT\" > alert.json",
    `    - npx --no-install skillflow run "$WORKFLOW" --input @alert.json ${flags.join(" ")}`,
    "  artifacts:",
    "    when: always",
    "    paths: [triage]",
    "    reports:",
    "      junit: triage/out/junit.xml",
    "",
    "skillflow-apply:",
    "  extends: .skillflow",
    "  stage: deploy",
    "  needs: [skillflow-analyse]",
    "  rules:",
    '    - if: $CI_COMMIT_REF_PROTECTED == "true" && $CI_PIPELINE_SOURCE =~ /^(api|schedule|trigger)$/',
    "      when: manual",
    "  environment: skillflow-writes",
    "  script:",
    '    - npx --no-install skillflow runs verify "$CI_PIPELINE_ID" --digest "$RECORD_DIGEST" --store triage/runs',
    '    - npx --no-install skillflow apply triage/out/plan.json --yes --plan-digest "$PLAN_DIGEST" --store triage/runs',
    "  artifacts:",
    "    when: always",
    "    paths: [triage]",
  ];
  return `${lines.join("\n")}\n`;
}

function namesOf(variables: readonly string[]): string {
  return variables.length === 0 ? "none" : variables.join(", ");
}
