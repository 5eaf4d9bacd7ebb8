import { isAddress } from "../../core/base/inert.ts";
import type { Environment } from "../../core/document/config.ts";

/** Returns the address at which people find a run: `SKILLFLOW_REPORT_URL`, or that of the job on GitHub or GitLab. */
export function reportUrl(env: Environment): string | undefined {
  return [env.SKILLFLOW_REPORT_URL, actionsRun(env), env.CI_JOB_URL].find(isAddress);
}

export function actionsRun({
  GITHUB_SERVER_URL: server = "",
  GITHUB_REPOSITORY: name = "",
  GITHUB_RUN_ID: run = "",
}: Environment): string | undefined {
  const isSound = /^https:\/\/[\w.-]+(?::\d+)?$/.test(server) && /^[\w.-]+\/[\w.-]+$/.test(name) && /^\d+$/.test(run);
  return isSound ? `${server}/${name}/actions/runs/${run}` : undefined;
}
