import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { apiProblem, describeTarget, findTarget } from "../../../../src/app/calls/patches/target.ts";

/** The place where the patches of a checkout go, by its remote `origin`. */

let root = "";
const git = (cwd: string, ...args: string[]) => execFileSync("git", args, { cwd, stdio: "ignore" });
const work = () => join(root, "work");
const remote = () => join(root, "remote.git");

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "target-"));
  git(root, "init", "-q", "--bare", "remote.git");
  git(root, "clone", "-q", "remote.git", "work");
});

afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

it("refuses a remote in the checkout itself, whose hooks would run", () => {
  const origin = (url: string) => git(work(), "remote", "set-url", "origin", url);
  git(work(), "init", "-q", "--bare", "evil.git");
  mkdirSync(join(work(), "deep"));
  symlinkSync(join(work(), "evil.git"), join(root, "link.git"));
  // By its text, the path leads to a folder outside. Through the link, it leads into the checkout.
  mkdirSync(join(work(), "deep/down"));
  symlinkSync("deep/down", join(work(), "up"));
  git(work(), "init", "-q", "--bare", "around.git");
  mkdirSync(join(root, "around.git"));
  const around = `${work()}/up/../../around.git`;
  const inside = [
    ...[around, `file://${around}`, `file://${around.replaceAll("..", "%2e%2e")}`],
    ...[join(work(), "evil.git"), `file://${join(work(), "evil.git")}`, join(root, "link.git"), work()],
    ...[join(root, "link"), `/proc/self/root${join(work(), "evil")}`, `file://${join(work(), "%zz")}`],
  ];
  for (const url of inside) {
    origin(url);
    expect(() => findTarget(join(work(), "deep"), {})).toThrow("in the checkout itself");
  }
  origin(remote());
  expect(findTarget(join(work(), "deep"), {})).toMatchObject({ url: remote(), skill: undefined });
});

it.each([
  ["https://lab.test/gitlab", "https://lab.test/gitlab/o/r.git", "o/r"],
  ["https://lab.test/gitlab/", "https://lab.test/gitlab/o/r", "o/r"],
  ["https://lab.test/gitlab", "git@lab.test:gitlab/r.git", "gitlab/r"],
  ["https://lab.test", "https://lab.test/gitlab/r.git", "gitlab/r"],
  ["https://lab.test/", "https://lab.test/gitlab/r.git", "gitlab/r"],
])("with GITLAB_URL %s, %s is the project %s", (GITLAB_URL, url, repository) => {
  git(work(), "remote", "set-url", "origin", url);
  expect(findTarget(work(), { GITLAB_URL })).toMatchObject({ skill: "gitlab", repository });
});

it.each([
  ["https://github.com/o/r.git", {}, "o/r at https://api.github.com"],
  ["git@github.com:o/r.git", { GITHUB_REPOSITORY: "p/s" }, "p/s at https://api.github.com"],
  ["https://gitlab.com/o/r.git", { GITLAB_PROJECT: "g/p/s" }, "g/p/s at https://gitlab.com"],
  ["https://kim:hunter2@git.test/o/r.git", {}, "https://git.test/o/r.git"],
])("describes %s with %j", (url, config: Record<string, string>, shown) => {
  git(work(), "remote", "set-url", "origin", url);
  expect(describeTarget(findTarget(work(), {}), config)).toBe(shown);
});

it.each([
  ["github.com", {}, {}, undefined],
  ["github.com", { GITHUB_API_URL: "http://127.0.0.1:4801" }, {}, undefined],
  ["github.com", { GITHUB_API_URL: "https://ghe.test/api/v3" }, {}, "set GITHUB_API_URL to the API of github.com"],
  [
    "ghe.test",
    {},
    { GITHUB_SERVER_URL: "https://ghe.test" },
    "origin is on ghe.test, but the API is at api.github.com",
  ],
  ["ghe.test", { GITHUB_API_URL: "https://ghe.test/api/v3" }, {}, undefined],
  ["o.ghe.com", { GITHUB_API_URL: "https://api.o.ghe.com" }, { GITHUB_SERVER_URL: "https://o.ghe.com" }, undefined],
  ["gitlab.com", { GITLAB_URL: "https://gitlab.test" }, {}, "set GITLAB_URL to the API of gitlab.com"],
  ["gitlab.test", { GITLAB_URL: "https://gitlab.test/lab" }, {}, undefined],
  ["elsewhere.test", {}, { GITHUB_SERVER_URL: "https://ghe.test" }, undefined],
])("delivers to %s only through its own API (%j, %j)", (host, config: Record<string, string>, more, problem) => {
  for (const url of [`https://${host}/o/r.git`, `git@${host}:o/r.git`]) {
    git(work(), "remote", "set-url", "origin", url);
    const found = apiProblem(findTarget(work(), { ...config, ...more }), config);
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(problem);
  }
});
