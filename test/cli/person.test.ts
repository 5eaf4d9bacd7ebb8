import { describe, expect, it } from "vitest";
import { personAtWork } from "../../src/app/adapters/person.ts";

const host = (env: Readonly<Record<string, string>>) =>
  ({ host: { env, self: { pid: 1, host: "vm", started: "" } } }) as unknown as Parameters<typeof personAtWork>[0];

describe("the person in the record", () => {
  it.each<[Readonly<Record<string, string>>, string]>([
    [{ USER: "kim" }, "kim@vm"],
    [{}, "somebody@vm"],
    [{ GITHUB_ACTIONS: "true", GITHUB_ACTOR: "octocat", USER: "runner" }, "octocat@github-actions"],
    [
      { GITHUB_ACTIONS: "true", GITHUB_ACTOR: "octocat", GITHUB_TRIGGERING_ACTOR: "hubot" },
      "hubot@github-actions (for octocat)",
    ],
    [{ GITHUB_ACTIONS: "true", GITHUB_ACTOR: "octocat", GITHUB_TRIGGERING_ACTOR: "octocat" }, "octocat@github-actions"],
    [{ GITLAB_CI: "true", GITLAB_USER_LOGIN: "kim" }, "kim@gitlab"],
    [{ BUILDKITE: "true", BUILDKITE_BUILD_CREATOR: "Kim" }, "Kim@buildkite"],
    [{ CIRCLECI: "true", CIRCLE_USERNAME: "kim" }, "kim@circleci"],
    [{ TF_BUILD: "True", BUILD_REQUESTEDFOR: "Kim Lee" }, "Kim Lee@azure-pipelines"],
    [{ BITBUCKET_BUILD_NUMBER: "7", BITBUCKET_STEP_TRIGGERER_UUID: "{a-b}" }, "{a-b}@bitbucket"],
    [{ GITHUB_ACTOR: "octocat", USER: "kim" }, "kim@vm"],
    [{ GITLAB_CI: "true", USER: "root" }, "root@vm"],
  ])("in %j is %s", (env, person) => {
    expect(personAtWork(host(env))).toBe(person);
  });
});
