import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runAction } from "../../../src/entry/action/run.ts";
import { type GitHub, type Job, prepareStep, startGitHub, TOKEN } from "./step.ts";

/** Which actors may start the action. */

let github: GitHub;
beforeEach(async () => {
  github = await startGitHub({
    roles: {
      maria: "write",
      olga: "admin",
      mike: "maintain",
      tom: "triage",
      rita: "read",
      nobody: "none",
      custom: { permission: "write", role_name: "release-manager" },
      weak: { permission: "read", role_name: "maintain" },
      odd: { permission: "write", role_name: "read" },
      bare: { permission: "write" },
      empty: {},
      text: { permission: ["write"] },
      moved: 301,
      broken: 500,
      forbidden: 403,
    },
  });
});
afterEach(() => github.close());

const PULL = { pull_request: { number: 7 } };
const by = (actor: string, triggering = actor) => ({ GITHUB_ACTOR: actor, GITHUB_TRIGGERING_ACTOR: triggering });

/** Runs the step up to the start of the program, which has a separate exit code from a refusal. */
async function start(job: Job) {
  const step = prepareStep({ github, ...job });
  let printed = "";
  const say = async (text: string) => {
    printed += text;
  };
  let isBegun = false;
  const commandLine = async () => {
    isBegun = true;
    return 42;
  };
  const code = await runAction({ env: step.env, cwd: step.cwd, fetch, say, commandLine });
  return { code, isBegun, printed, ...step.left() };
}

describe("an actor", () => {
  it.each([
    ["pull_request", PULL, by("maria")],
    ["pull_request_target", PULL, by("olga")],
    ["issues", {}, by("mike")],
    ["repository_dispatch", { client_payload: { comment: { user: { login: "rita" } } } }, by("maria")],
    ["pull_request", PULL, by("custom")],
    ["pull_request", PULL, by("bare")],
    ["pull_request", PULL, by("MARIA", "Olga")],
    ["issue_comment", { comment: { user: { login: "Maria" } } }, by("maria")],
    ["workflow_run", { workflow_run: { actor: { login: "maria" }, triggering_actor: { login: "olga" } } }, by("mike")],
    ["schedule", undefined, by("rita")],
    ["push", "no json", by("")],
    ["workflow_dispatch", undefined, by("rita")],
  ])("with write permission starts it by %s", async (name, payload, env) => {
    const told = await start({ event: { name, payload }, env });
    expect(told, told.printed).toMatchObject({ code: 42, isBegun: true });
  });

  it.each<[string, unknown, Readonly<Record<string, string>>, RegExp]>([
    ["pull_request", PULL, by("rita"), /rita \(GITHUB_ACTOR\).*no write access/],
    ["pull_request", PULL, by("tom"), /tom.*no write access/],
    ["pull_request", PULL, by("nobody"), /nobody.*no write access/],
    ["pull_request", PULL, by("stranger"), /stranger.*404/],
    ["pull_request", PULL, by("weak"), /no write access/],
    ["pull_request", PULL, by("odd"), /no write access/],
    ["pull_request", PULL, by("empty"), /no write access/],
    ["pull_request", PULL, by("text"), /no write access/],
    ["pull_request", PULL, by("moved"), /301/],
    ["pull_request", PULL, by("broken"), /500/],
    ["pull_request", PULL, by("forbidden"), /403/],
    ["pull_request", PULL, by("maria", "rita"), /rita \(GITHUB_TRIGGERING_ACTOR\)/],
    ["pull_request", PULL, by("rita", "maria"), /rita \(GITHUB_ACTOR\)/],
    ["pull_request", PULL, by("dependabot[bot]"), /dependabot\[bot\].*404/],
    ["pull_request", PULL, by(""), /GITHUB_ACTOR is empty/],
    ["pull_request", PULL, by("maria/../olga"), /not a valid user name/],
    ["pull_request", PULL, by("maria/permission?x="), /not a valid user name/],
    ["pull_request", PULL, by("maria\nolga"), /not a valid user name/],
    ["pull_request", PULL, by(".."), /not a valid user name/],
    ["pull_request", PULL, by("maria%2f"), /not a valid user name/],
    ["issue_comment", { comment: { user: { login: "rita" } } }, by("maria"), /rita \(comment\.user\)/],
    ["issue_comment", { comment: { user: null } }, by("maria"), /comment\.user is empty/],
    ["issue_comment", {}, by("maria"), /comment\.user is empty/],
    ["pull_request_review_comment", { comment: {} }, by("maria"), /comment\.user is empty/],
    ["pull_request_review", { review: { user: { login: "rita" } } }, by("maria"), /rita \(review\.user\)/],
    ["workflow_run", { workflow_run: { actor: { login: "rita" } } }, by("maria"), /rita \(workflow_run\.actor\)/],
    [
      "workflow_run",
      { workflow_run: { actor: { login: "maria" }, triggering_actor: { login: "rita" } } },
      by("maria"),
      /rita \(workflow_run\.triggering_actor\)/,
    ],
    ["workflow_run", {}, by("maria"), /workflow_run\.actor is empty/],
    ["workflow_run", { workflow_run: "maria" }, by("maria"), /workflow_run\.actor is empty/],
    ["workflow_run", { workflow_run: { actor: { login: ["maria"] } } }, by("maria"), /not a valid user name/],
    ["pull_request", "{not json", by("maria"), /not a JSON object/],
    ["pull_request", "[]", by("maria"), /not a JSON object/],
    ["pull_request", "null", by("maria"), /not a JSON object/],
    ["", PULL, by("rita"), /without a name/],
    ["Push", PULL, by("rita"), /no write access/],
  ])("without write permission, or unknown, does not: %s %j %j", async (name, payload, env, why) => {
    const told = await start({ event: { name, payload }, env });
    expect(told).toMatchObject({ code: 3, isBegun: false });
    expect(told.printed).toMatch(why);
    expect(told.printed).toMatch(/^::error title=actor\.refused::/m);
    expect(told.outputs).toMatchObject({ status: "refused", "run-id": "", "plan-count": "0" });
    expect(told.summary).toContain("`actor.refused`");
  });

  it.each([
    ["nested too deep", () => `{"a":${"[".repeat(100_000)}`, /not a JSON object/],
    ["larger than any", () => `{"a":"${"x".repeat(26 * 2 ** 20)}"}`, /too large/],
  ])("is unknown if the event is %s", async (_what, payload, why) => {
    const { code, printed } = await start({ event: { name: "pull_request", payload: payload() } });
    expect(code).toBe(3);
    expect(printed).toMatch(why);
  });

  it("is unknown if the event is missing", async () => {
    const { code, printed } = await start({ event: { name: "pull_request" } });
    expect(code).toBe(3);
    expect(printed).toContain("the event cannot be read");
  });

  it("is refused if GitHub does not answer, or the token is invalid", async () => {
    const event = { name: "pull_request", payload: PULL };
    const unreachable = await start({ event, env: { GITHUB_API_URL: "http://127.0.0.1:1" } });
    expect(unreachable).toMatchObject({ code: 3, isBegun: false });
    const inputs = { workflow: "w.yml", "github-token": "" };
    expect(await start({ event, inputs })).toMatchObject({ code: 3, isBegun: false });
    expect(await start({ event, env: { GITHUB_REPOSITORY: "acme/../shop" } })).toMatchObject({
      code: 3,
      isBegun: false,
    });
  });

  it("may start it by name if allow-actors lists it, and no other actor may", async () => {
    const event = { name: "pull_request", payload: PULL };
    const inputs = { workflow: "w.yml", "allow-actors": " Dependabot[bot],\nrita\n" };
    expect(await start({ event, inputs, env: by("dependabot[bot]", "Rita") })).toMatchObject({ code: 42 });
    expect(github.requests).toEqual([]);
    expect(await start({ event, inputs, env: by("dependabot[bot]", "tom") })).toMatchObject({ code: 3 });
    expect(await start({ event, inputs, env: by("dependabot") })).toMatchObject({ code: 3 });
  });

  it("is looked up once, by an escaped name, with a token that is masked before", async () => {
    const { printed } = await start({ event: { name: "pull_request", payload: PULL }, env: by("app[bot]") });
    expect(github.requests.map(({ url }) => url)).toEqual(["/repos/acme/shop/collaborators/app%5Bbot%5D/permission"]);
    expect(printed.startsWith(`::add-mask::${TOKEN}\n`)).toBe(true);
    expect(printed.split(TOKEN)).toHaveLength(2);
  });
});
