import type { CiJob } from "./job.ts";

/** The text of a workflow of GitHub Actions that runs a workflow of ours; pure, as `init` writes it into a project. */

interface GithubJob extends CiJob {
  readonly startedBy: StartedBy;
}

export type StartedBy = "alert" | "schedule" | "pull request";

/** Where `init` writes it. */
export const GITHUB_FILE = ".github/workflows/skillflow.yml";

/** The action on the branch that releases publish it on. The user fills in the owner. */
export const ACTION = "OWNER/skillflow@v0";
const TO_FILL_IN = "# Replace OWNER with the owner of the action. To pin it, replace v0 with a commit of that branch.";

export function githubJob(job: GithubJob): string {
  const parts = job.startedBy === "pull request" ? pullRequestJob(job) : twoJobs(job);
  return `${parts.join("\n")}\n`;
}

/** Other actions, by the commit of their version. */
const CHECKOUT = "actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2";
const UPLOAD = "actions/upload-artifact@b7c566a772e6b6bfb58ed0dc250532a479d7789f # v6.0.0";
const DOWNLOAD = "actions/download-artifact@37930b1c2abaa49bbe596cd826c3c89aef350131 # v7.0.0";

function twoJobs({ workflow, model, key, reads, writes, state, startedBy }: GithubJob): string[] {
  const isAlert = startedBy === "alert";
  return [
    "# The first job asks the model and holds nothing that writes. The second writes what somebody has agreed to in the environment",
    "# `skillflow-writes` (Settings, Environments: required reviewers), and knows no model.",
    ...(isAlert
      ? [
          "# Alerts are sent as repository_dispatch, by a token that may write to the repository:",
          "#   jq '{event_type: \"alert\", client_payload: .}' alert.json | gh api repos/OWNER/REPO/dispatches --input -",
        ]
      : rememberedWhere(state)),
    TO_FILL_IN,
    "name: Skillflow",
    "on:",
    ...(isAlert
      ? ["  repository_dispatch:", "    types: [alert]"]
      : ["  schedule:", "    - cron: 17 6 * * 1-5", "  workflow_dispatch:"]),
    "permissions: {}",
    "concurrency: skillflow",
    "",
    "jobs:",
    "  analyse:",
    "    runs-on: ubuntu-24.04",
    "    timeout-minutes: 40",
    `    permissions: ${permissions(reads, "read", state)}`,
    "    outputs:",
    ...["plan-count", "plan-digest", "record-digest"].map((name) => `      ${name}: \${{ steps.run.outputs.${name} }}`),
    "    steps:",
    `      - uses: ${CHECKOUT}`,
    ...(state === undefined ? ["        with: { persist-credentials: false }"] : []),
    "      - id: run",
    `        uses: ${ACTION}`,
    "        with:",
    `          workflow: ${scalar(workflow)}`,
    ...(isAlert ? ["          input: ${{ toJSON(github.event.client_payload) }}"] : []),
    ...(model === undefined ? [] : [`          model: ${scalar(model)}`]),
    "          writes: plan",
    "          out: triage/out",
    "          store: triage/runs",
    ...(state === undefined ? [] : [`          args: --state git:${state} --report digest=triage/out/digest.md`]),
    ...environment([...(key === undefined ? [] : [key]), ...reads]),
    `      - uses: ${UPLOAD}`,
    "        if: always()",
    "        with: { name: triage, path: triage }",
    "",
    "  apply:",
    "    needs: analyse",
    "    if: needs.analyse.outputs.plan-count != '0'",
    "    runs-on: ubuntu-24.04",
    "    timeout-minutes: 10",
    "    environment: skillflow-writes",
    `    permissions: ${permissions(writes, "write")}`,
    "    steps:",
    `      - uses: ${CHECKOUT}`,
    "        with: { persist-credentials: false }",
    `      - uses: ${DOWNLOAD}`,
    "        with: { name: triage, path: triage }",
    `      - uses: ${ACTION}`,
    "        with:",
    "          plan: triage/out/plan.json",
    "          plan-digest: ${{ needs.analyse.outputs.plan-digest }}",
    "          record-digest: ${{ needs.analyse.outputs.record-digest }}",
    "          store: triage/runs",
    ...environment(writes),
    `      - uses: ${UPLOAD}`,
    "        if: always()",
    "        with: { name: triage-applied, path: triage }",
  ];
}

function pullRequestJob({ workflow, model, key, reads }: GithubJob): string[] {
  return [
    "# The workflow, its config and its skills are those of the base; the head is data. Whoever may not write to the repository starts",
    "# nothing, and pull requests from forks have neither secrets nor an identity. The run is told in one comment.",
    "# The action is never ./ here: a pull request could change it.",
    TO_FILL_IN,
    "name: Skillflow",
    "on: pull_request",
    "permissions: {}",
    "concurrency:",
    "  group: skillflow-${{ github.event.pull_request.number }}",
    "  cancel-in-progress: true",
    "",
    "jobs:",
    "  analyse:",
    "    runs-on: ubuntu-24.04",
    "    timeout-minutes: 40",
    `    permissions: { contents: read${key === undefined ? ", id-token: write" : ""}, pull-requests: write }`,
    "    steps:",
    `      - uses: ${CHECKOUT}`,
    "        with: { persist-credentials: false, fetch-depth: 0 }",
    `      - uses: ${ACTION}`,
    "        with:",
    `          workflow: ${scalar(workflow)}`,
    "          input: '{ \"pull_request\": ${{ github.event.pull_request.number }} }'",
    ...(model === undefined ? [] : [`          model: ${scalar(model)}`]),
    "          writes: deny",
    "          comment: true",
    ...(key === undefined
      ? [
          "          anthropic-federation-rule: ${{ vars.ANTHROPIC_FEDERATION_RULE }}",
          "          anthropic-organization: ${{ vars.ANTHROPIC_ORGANIZATION }}",
          "          anthropic-service-account: ${{ vars.ANTHROPIC_SERVICE_ACCOUNT }}",
        ]
      : []),
    ...environment([...(key === undefined ? [] : [key]), ...reads]),
  ];
}

function rememberedWhere(state: string | undefined): string[] {
  if (state === undefined) return ["# Nothing is remembered from one run to the next."];
  return [
    `# What was seen is kept on the branch ${state}, which the first job pushes: for that alone it may write contents. Protect the`,
    "# other branches.",
  ];
}

/** GITHUB_TOKEN is the job's own, and may do what the job says. */
function permissions(variables: readonly string[], issues: "read" | "write", state?: string): string {
  const contents = `contents: ${state === undefined ? "read" : "write"}`;
  return variables.includes("GITHUB_TOKEN") ? `{ ${contents}, issues: ${issues} }` : `{ ${contents} }`;
}

function environment(variables: readonly string[]): string[] {
  if (variables.length === 0) return [];
  const lines = variables.map((name) => {
    return `          ${name}: \${{ ${name === "GITHUB_TOKEN" ? "github.token" : `secrets.${name}`} }}`;
  });
  return ["        env:", ...lines];
}

/** Quoted where YAML could read something else. */
function scalar(text: string): string {
  return /^[A-Za-z][\w./-]*$/.test(text) ? text : JSON.stringify(text);
}
