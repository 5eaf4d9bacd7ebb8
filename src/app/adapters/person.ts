import type { Host } from "../host.ts";

/** CI variables that name the user who started the job. Each counts only if the system's own variable is set. */
const CI_USERS: readonly (readonly [system: string, isSet: string, users: readonly string[]])[] = [
  ["github-actions", "GITHUB_ACTIONS", ["GITHUB_TRIGGERING_ACTOR", "GITHUB_ACTOR"]],
  ["gitlab", "GITLAB_CI", ["GITLAB_USER_LOGIN"]],
  ["buildkite", "BUILDKITE", ["BUILDKITE_UNBLOCKER", "BUILDKITE_BUILD_CREATOR"]],
  ["circleci", "CIRCLECI", ["CIRCLE_USERNAME"]],
  ["azure-pipelines", "TF_BUILD", ["BUILD_REQUESTEDFOR"]],
  ["bitbucket", "BITBUCKET_BUILD_NUMBER", ["BITBUCKET_STEP_TRIGGERER_UUID"]],
  ["codebuild", "CODEBUILD_BUILD_ID", ["CODEBUILD_INITIATOR"]],
  ["jenkins", "JENKINS_URL", ["BUILD_USER_ID"]],
];

/** Names the person who answers an approval or applies a plan, for the run's record: `kim@laptop`. */
export function personAtWork({ host: { env, self } }: { readonly host: Pick<Host, "env" | "self"> }): string {
  for (const [system, isSet, users] of CI_USERS) {
    const [user, other] = new Set(users.flatMap((name) => (env[isSet] && env[name] ? [env[name]] : [])));
    if (user !== undefined) return `${user}@${system}${other === undefined ? "" : ` (for ${other})`}`;
  }
  return `${env.USER || env.LOGNAME || "somebody"}@${self.host}`;
}
