import { type Json, type JsonObject, refusalOf, type ToolContext } from "skillflow";
import { markerOf } from "skillflow/internal";
import { toolContext } from "skillflow/testing";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import github from "../../skills/github/skill.ts";
import { audienceOf, type Tool } from "../../src/core/skill/skill.ts";
import { checkedSkill } from "../../src/loaders/formats/module/skill-module.ts";
import { callTool, describeSkill, failureOf, fits } from "../contracts/skill.ts";
import { turnOf } from "../harness/long.ts";
import {
  type Answer,
  type Asked,
  flood,
  type GitHubService,
  type Script,
  startGitHub,
  TOKEN,
} from "../services/github.ts";

const SHA = "6dcb09b5b57875f334f61aebed695e2e4193db5e";

/** One good input for every tool. */
const INPUTS: Readonly<Record<string, JsonObject>> = {
  search_code: { query: "connection refused" },
  get_file: { path: "src/db.ts", ref: "main" },
  search_issues: { query: "checkout 5xx", state: "open", sort: "updated" },
  get_issue: { number: 7 },
  list_comments: { number: 7, since: "2026-01-31T08:00:00Z" },
  create_issue: { title: "Checkout fails", body: "Since 08:00.", labels: ["bug"], assignees: ["octocat"] },
  update_issue: { number: 7, state: "closed", state_reason: "duplicate" },
  add_comment: { number: 7, body: "Seen again." },
  add_labels: { number: 7, labels: ["bug", "sev1"] },
  create_pr: { title: "Fix the pool", head: "fix/pool", base: "main", body: "Raises the limit.", draft: true },
  get_pr: { number: 9 },
  get_pr_diff: { number: 9 },
  list_commits: {
    ref: "main",
    path: "src",
    author: "octocat",
    since: "2026-01-31T00:00:00+01:00",
    until: "2026-02-01T00:00:00Z",
  },
  get_commit: { ref: SHA },
  compare_commits: { base: "v1.0.0", head: "release/2.0" },
  list_releases: {},
  list_deployments: { environment: "production", ref: "main" },
  list_workflow_runs: { workflow: "ci.yml", branch: "main", status: "failure", event: "push", head_sha: SHA },
  get_workflow_run_logs: { run_id: 30433642 },
  get_job_log: { job_id: 21 },
  get_checks: { ref: "main" },
  rerun_workflow: { run_id: 30433642 },
  list_prs: { state: "closed", base: "main", sort: "updated" },
  list_pr_reviews: { number: 9 },
  list_refs: { kind: "tag" },
};

/** Answers where the published example is not enough: no rival pull request, a complete file, a failed job. */
const PUBLISHED: Readonly<Record<string, Script>> = {
  create_pr: on("pulls/list", { body: [] }),
  get_file: on("repos/get-content", { body: fileBody("export const pool = 10;\n") }),
  get_workflow_run_logs: ({ operation, example }) => {
    if (operation !== "actions/list-jobs-for-workflow-run") return undefined;
    return { body: JSON.parse(JSON.stringify(example).replaceAll('"success"', '"failure"')) };
  },
};

const NAMES = github.tools.map((tool) => tool.name);
const WRITES = github.tools.filter((tool) => tool.effect === "write").map((tool) => tool.name);
const READS = NAMES.filter((name) => !WRITES.includes(name));
const SEARCHES = ["search_code", "search_issues"];

let service: GitHubService;
afterEach(() => service?.close());

async function start(script?: Script, parts: Partial<ToolContext> = {}): Promise<ToolContext> {
  service = await startGitHub(script);
  return toolContext({ config: configFor(service.url), callId: "run-1/3:file/0", ...parts });
}

function configFor(url: string): Record<string, string> {
  return { GITHUB_TOKEN: TOKEN, GITHUB_API_URL: url, GITHUB_REPOSITORY: "acme/shop" };
}

function call(name: string, context: ToolContext, input: JsonObject = INPUTS[name] ?? {}): Promise<JsonObject> {
  return callTool(github, name, input, context) as Promise<JsonObject>;
}

function isWrite({ operation }: Asked): boolean {
  return /create|update|add-|re-run/.test(operation);
}

/** A script's answer to one operation. `times` limits it to the first requests. */
function on(operation: string, answer: Answer, times = Number.POSITIVE_INFINITY): Script {
  return (asked) => (asked.operation === operation && asked.before < times ? answer : undefined);
}

function fileBody(text: string | Buffer) {
  const content = Buffer.from(text).toString("base64");
  return { type: "file", encoding: "base64", path: "src/db.ts", sha: SHA, size: content.length, content };
}

describe("every github tool, against GitHub's published contract", () => {
  it.each(NAMES)("%s sends what the contract allows and returns what a model needs", async (name) => {
    const context = await start(PUBLISHED[name]);
    const result = await call(name, context);
    expect(service.refusals).toEqual([]);
    expect(result).toMatchSnapshot();
  });

  it.each(turnOf(NAMES))("%s says that the token is wrong when GitHub answers 401", async (name) => {
    const context = await start(() => ({ status: 401, body: { message: "Bad credentials" } }));
    await expect(call(name, context)).rejects.toThrow(/GITHUB_TOKEN \(401.*wrong, expired or revoked/);
    expect(service.requests).toHaveLength(1);
  });

  it.each(turnOf(NAMES))("%s names the permission that is missing when GitHub answers 403", async (name) => {
    const headers = { "x-accepted-github-permissions": "issues=write" };
    const body = { message: "Resource not accessible by integration" };
    const context = await start(() => ({ status: 403, body, headers }));
    await expect(call(name, context)).rejects.toThrow(
      /not accessible by integration. It needs the permission issues=write/,
    );
    expect(service.requests).toHaveLength(1);
  });

  it.each(turnOf(NAMES))("%s tells which field to change when GitHub answers 422", async (name) => {
    const body = {
      message: "Validation Failed",
      errors: [{ resource: "Issue", field: "title", code: "missing_field" }],
    };
    const context = await start(() => ({ status: 422, body }));
    await expect(call(name, context)).rejects.toThrow("Validation Failed. Change: Issue.title: missing_field.");
  });

  it("keeps the resource and the value that GitHub found invalid", async () => {
    const errors = [{ value: "nobody", resource: "Issue", field: "assignees", code: "invalid" }, "Too bad"];
    const context = await start(() => ({ status: 422, body: { message: "Validation Failed", errors } }));
    await expect(call("create_issue", context)).rejects.toThrow('Change: Issue.assignees "nobody": invalid; Too bad.');
  });

  it.each(turnOf(NAMES.filter((name) => !SEARCHES.includes(name))))(
    "%s tells a missing item from a hidden repository at 404",
    async (name) => {
      const missing = { status: 404, body: { message: "Not Found" } };
      const visible = await start((asked) => (asked.operation === "repos/get" ? undefined : missing));
      await expect(call(name, visible)).rejects.toThrow(/acme\/shop exists, but the requested item does not \(404 for/);
      await service.close();
      const headers = { "x-oauth-scopes": "read:org", "x-accepted-oauth-scopes": "repo" };
      const hidden = await start(() => ({ ...missing, headers }));
      await expect(call(name, hidden)).rejects.toThrow(
        /cannot see it. It needs one of the scopes repo. The token has the scopes read:org./,
      );
    },
  );

  it.each(turnOf(NAMES))("%s waits as told after a 429 and then succeeds", async (name) => {
    const context = await start(({ operation, before }) => {
      if (operation === "pulls/list" && name !== "list_prs") return { body: [] };
      return before === 0 ? { status: 429, body: {}, headers: { "retry-after": "0" } } : undefined;
    });
    await call(name, context);
    expect(service.requests.length).toBeGreaterThan(1);
  });

  it.each(turnOf(NAMES))("%s waits for the reset when the hourly limit is used up", async (name) => {
    const headers = { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1700000000" };
    const context = await start(({ operation, before }) => {
      if (operation === "pulls/list" && name !== "list_prs") return { body: [] };
      return before === 0 ? { status: 403, body: { message: "API rate limit exceeded" }, headers } : undefined;
    });
    await call(name, context);
    expect(service.requests.length).toBeGreaterThan(1);
  });

  it.each(turnOf(NAMES))("%s says until when to wait when that is long", async (name) => {
    const headers = { "retry-after": "3600" };
    const body = { message: "You have exceeded a secondary rate limit." };
    const context = await start(() => ({ status: 403, body, headers }));
    await expect(call(name, context)).rejects.toThrow(/rate limit is used up until \d{4}-.*Nothing was done/);
    expect(service.requests).toHaveLength(1);
  });

  it("takes a secondary limit without a header for a minute, and does not wait that long", async () => {
    const body = { message: "You have exceeded a secondary rate limit. Please wait a few minutes." };
    const context = await start(() => ({ status: 403, body }));
    await expect(call("add_comment", context)).rejects.toThrow(/rate limit is used up until/);
    expect(service.requests).toHaveLength(1);
  });

  it("stops waiting for a limit when the call is aborted", { timeout: 5000 }, async () => {
    const controller = new AbortController();
    const onRefusal = () => setImmediate(() => controller.abort(new Error("the run ended")));
    const logger = { debug: () => undefined, info: () => undefined, warn: onRefusal };
    const headers = { "retry-after": "25" };
    const context = await start(() => ({ status: 429, body: {}, headers }), { signal: controller.signal, logger });
    await expect(call("get_issue", context)).rejects.toThrow("the run ended");
    expect(service.requests).toHaveLength(1);
  });

  it.each(turnOf(READS))("%s gives up when GitHub keeps failing", async (name) => {
    const context = await start(() => ({ status: 503, body: {}, headers: { "retry-after": "0" } }));
    await expect(call(name, context)).rejects.toThrow(/GitHub failed \(503.*Try again later/);
    expect(service.requests).toHaveLength(3);
  });

  it.each(turnOf(READS))("%s asks again after a 502", async (name) => {
    const failing = { status: 502, body: {}, headers: { "retry-after": "0" } };
    const context = await start(({ before }) => (before === 0 ? failing : undefined));
    await call(name, context);
    expect(service.refusals).toEqual([]);
  });

  it.each(WRITES)("%s never repeats a write that GitHub may have done", async (name) => {
    const context = await start((asked) => {
      if (asked.operation === "pulls/list") return { body: [] };
      return isWrite(asked) ? { status: 502, body: {}, headers: { "retry-after": "0" } } : undefined;
    });
    await expect(call(name, context)).rejects.toThrow(/GitHub failed \(502.*unclear: check before you repeat it/);
    expect(service.requests.filter(({ method }) => method !== "GET")).toHaveLength(1);
  });

  it.each(turnOf(NAMES))("%s says so when the answer is not JSON", async (name) => {
    const context = await start(() => ({ status: 200, text: '{"id": 1, "ti' }));
    await expect(call(name, context)).rejects.toThrow(/not JSON. Check GITHUB_API_URL/);
  });

  it.each(NAMES)("%s does not fall over when the answer is JSON of another form", async (name) => {
    const context = await start(() => ({ status: 200, text: "null" }));
    await expect(call(name, context)).rejects.toThrow(/unexpected form|not a stream|more than GitHub returns/);
  });
});

describe("identifiers", () => {
  const HOSTILE = [
    "a/b/../../user/repos?x=",
    "../user",
    "acme/..",
    "acme/.",
    "acme/shop/issues",
    "acme/shop#",
    "acme/shop?x=1",
    "acme/%2e%2e",
    "acme\\shop",
    "acme/shop\n",
    "",
    "acme",
  ];

  it.each(NAMES)("%s reaches nobody with a hostile repository", async (name) => {
    const context = await start();
    for (const repository of HOSTILE) {
      const tool = github.tools.find((candidate) => candidate.name === name);
      const isRefused = !fits(tool?.input_schema, { ...INPUTS[name], repository });
      const dots = /^acme\/\.{1,2}$/.test(repository);
      expect(isRefused || dots, repository).toBe(true);
      if (SEARCHES.includes(name) || repository === "") continue;
      const error = await failureOf(() => call(name, context, { ...INPUTS[name], repository }));
      expect(error.message).toContain("owner/name");
    }
    expect(service.requests).toHaveLength(0);
  });

  it.each([
    ["get_file", { path: "../../../user" }],
    ["get_file", { path: ".." }],
    ["get_file", { path: "src/./db.ts" }],
    ["get_file", { path: "a", ref: ".." }],
    ["get_commit", { ref: ".." }],
    ["get_commit", { ref: "main/../../../user" }],
    ["compare_commits", { base: "a...b", head: "c" }],
    ["list_commits", { ref: "-x" }],
    ["list_commits", { path: "a/../../b" }],
    ["create_pr", { title: "t", head: "..", base: "main" }],
    ["get_pr_diff", { number: 1, path: ".." }],
    ["list_deployments", { ref: "/x" }],
  ] as const)("%s refuses %o", async (name, input) => {
    const context = await start();
    await expect(call(name, context, input)).rejects.toThrow(/must not contain|is not a branch/);
    expect(service.requests).toHaveLength(0);
  });

  it("sends a slash in a branch and odd characters in a path encoded, as one segment", async () => {
    const context = await start();
    await call("get_commit", context, { ref: "feature/é#1" });
    await call("get_file", context, { path: "docs/a b?c#d.md" });
    expect(service.requests.map(({ url }) => url)).toEqual([
      "/repos/acme/shop/commits/feature%2F%C3%A9%231?per_page=10&page=1",
      "/repos/acme/shop/contents/docs%2Fa%20b%3Fc%23d.md",
    ]);
    expect(service.refusals).toEqual([]);
  });

  it("takes the configured repository when a call names none, and says so when there is neither", async () => {
    const context = await start();
    await call("get_issue", context, { number: 1, repository: "octo/other.repo" });
    expect(service.requests[0]?.url).toBe("/repos/octo/other.repo/issues/1");
    const { GITHUB_REPOSITORY: _, ...config } = context.config;
    await expect(call("get_issue", { ...context, config })).rejects.toThrow(/GITHUB_REPOSITORY sets no default/);
  });

  it("keeps an id above 2^53 exact", async () => {
    const context = await start(on("issues/create-comment", { text: '{"id": 9223372036854775807, "html_url": "u"}' }));
    expect(await call("add_comment", context)).toMatchObject({ id: "9223372036854775807" });
  });
});

describe("pages", () => {
  const PAGED = READS.filter(
    (name) => !["get_issue", "get_pr", "get_file", "get_workflow_run_logs", "get_job_log"].includes(name),
  );

  it.each(turnOf(PAGED))("%s asks for the page and names the next one", async (name) => {
    const link =
      '<https://api.github.com/x?per_page=2&page=2>; rel="prev", <https://api.github.com/x?page=4>; rel="next"';
    const context = await start(({ parameters }) => (parameters["page"] ? { headers: { link } } : undefined));
    const result = await call(name, context, { ...INPUTS[name], page: 3, limit: 2 });
    expect(result["next_page"]).toBe(4);
    expect(new URL(service.requests[0]?.url ?? "", service.url).searchParams.get("page")).toBe("3");
    expect(new URL(service.requests[0]?.url ?? "", service.url).searchParams.get("per_page")).toBe("2");
    expect(service.refusals).toEqual([]);
  });

  it.each(PAGED)("%s allows no page of thousands", (name) => {
    const tool = github.tools.find((candidate) => candidate.name === name);
    expect(fits(tool?.input_schema, { ...INPUTS[name], limit: 1000 })).toBe(false);
    expect(fits(tool?.input_schema, { ...INPUTS[name], page: 0 })).toBe(false);
  });

  it("marks what it cut", async () => {
    const context = await start(flood);
    const result = await call("get_issue", context);
    expect(result["body"]).toMatch(/… \[\d+ more characters\]$/);
  });
});

describe("writes", () => {
  it("finds its own issue when the same call is made again", async () => {
    let written = "";
    const context = await start(({ operation, body, example }) => {
      if (operation === "issues/create") written = String(body["body"]);
      if (operation !== "issues/list-for-repo") return undefined;
      return { body: written ? [{ ...(example as readonly JsonObject[])[0], body: written }] : [] };
    });
    const first = await call("create_issue", context);
    const second = await call("create_issue", context);
    expect(first["existing"]).toBeUndefined();
    expect(second["existing"]).toBe(true);
    expect(written).toContain("<!-- skillflow:run%2D1%2F3%3Afile%2F0:");
    await call("create_issue", { ...context, callId: "run-2/3:file/0" });
    expect(service.operations.filter((id) => id === "issues/create")).toHaveLength(2);
  });

  it.each([
    ["a stranger copied its marker", { author_association: "NONE", user: { type: "User" } }, undefined],
    ["a contributor of the past copied it", { author_association: "CONTRIBUTOR", user: { type: "User" } }, undefined],
    ["a member wrote it", { author_association: "MEMBER", user: { type: "User" } }, true],
    ["its own account wrote it", { author_association: "NONE", user: { type: "User", login: "me" } }, true],
    ["an app wrote it", { author_association: "NONE", user: { type: "Bot" } }, true],
  ])("takes an issue for its own work where it may be: %s", async (_, author, existing) => {
    const callId = "a".repeat(64);
    const context = await start(({ operation, example }) => {
      if (operation === "users/get-authenticated") return { body: { ...(example as JsonObject), login: "me" } };
      if (operation !== "issues/list-for-repo") return undefined;
      const [issue] = example as readonly JsonObject[];
      const user = { ...(issue?.["user"] as JsonObject), ...author.user };
      return {
        body: [
          { ...issue, body: `x ${markerOf({ callId }, {})}`, author_association: author.author_association, user },
        ],
      };
    });
    expect((await call("create_issue", { ...context, callId }))["existing"]).toBe(existing);
  });

  it("finds what an operation of another run filed hundreds of issues ago", async () => {
    const callId = "b".repeat(64);
    const context = await start(({ operation, parameters, example }) => {
      if (operation !== "issues/list-for-repo") return undefined;
      const [issue] = example as readonly JsonObject[];
      const page = Array.from({ length: 100 }, () => ({ ...issue, body: "" }));
      const last = { ...issue, body: markerOf({ callId }, {}), author_association: "MEMBER" };
      return { body: parameters["page"] === "3" ? [last] : page };
    });
    expect(await call("create_issue", { ...context, callId })).toMatchObject({ existing: true });
  });

  it("finds its own comment among hundreds when the same call is made again", async () => {
    let written = "";
    const context = await start(({ operation, body, parameters, example }) => {
      if (operation === "issues/create-comment") written = String(body["body"]);
      if (operation === "issues/get") return { body: { ...(example as JsonObject), comments: 250 } };
      if (operation !== "issues/list-comments") return undefined;
      const comment = { ...(example as readonly JsonObject[])[0], body: written };
      return { body: written && parameters["page"] === "2" ? [comment] : [] };
    });
    await call("add_comment", context);
    expect(await call("add_comment", context)).toMatchObject({ existing: true });
    expect(service.operations.filter((id) => id === "issues/create-comment")).toHaveLength(1);
  });

  it("does not show its markers to the model", async () => {
    const context = await start(({ operation, example }) => {
      if (operation !== "issues/get") return undefined;
      return { body: { ...(example as JsonObject), body: "Text.\n\n<!-- skillflow:run%2D1:abc -->" } };
    });
    expect((await call("get_issue", context))["body"]).toBe("Text.");
  });

  it("returns the open pull request of the branch instead of an error", async () => {
    const context = await start();
    expect(await call("create_pr", context)).toMatchObject({ existing: true });
    expect(service.requests[0]?.url).toContain("head=acme%3Afix%2Fpool&base=main&state=open");
    expect(service.operations).not.toContain("pulls/create");
  });

  it("returns the pull request that someone opened a moment earlier", async () => {
    const refused = { status: 422, body: { message: "Validation Failed", errors: [{ message: "already exists" }] } };
    const context = await start(({ operation, before }) => {
      if (operation === "pulls/create") return refused;
      return operation === "pulls/list" && before === 0 ? { body: [] } : undefined;
    });
    expect(await call("create_pr", context)).toMatchObject({ existing: true });
  });

  it("names the tool for changes of a working copy when the branch does not exist", async () => {
    const errors = [{ resource: "PullRequest", field: "head", code: "invalid" }];
    const context = await start(({ operation }) => {
      if (operation === "pulls/list") return { body: [] };
      return operation === "pulls/create" ? { status: 422, body: { message: "Validation Failed", errors } } : undefined;
    });
    await expect(call("create_pr", context)).rejects.toThrow(/does not exist.*propose_change of the skill workspace/);
  });

  it("merges into the default branch when no base is named", async () => {
    const context = await start(on("pulls/list", { body: [] }));
    await call("create_pr", context, { title: "t", head: "fix" });
    expect(JSON.parse(service.requests.at(-1)?.body ?? "")).toMatchObject({ base: "master", head: "fix" });
  });

  it("says that the token may not write where a repository is readable and a write answers 404", async () => {
    const headers = { "x-accepted-github-permissions": "issues=write" };
    const context = await start(on("issues/add-labels", { status: 404, body: {}, headers }));
    await expect(call("add_labels", context)).rejects.toThrow(
      /can read but not write here. It needs the permission issues=write/,
    );
  });

  it("names the labels and assignees that GitHub ignored", async () => {
    const context = await start(({ operation, example }) => {
      const ignored = { labels: [{ name: "Bug" }], assignees: [] };
      return operation.startsWith("issues/") && !operation.includes("list")
        ? { body: { ...(example as JsonObject), ...ignored } }
        : undefined;
    });
    for (const [name, input] of [
      ["create_issue", { title: "a", labels: ["bug", "sev1"], assignees: ["octocat"] }],
      ["update_issue", { number: 7, labels: ["bug", "sev1"], assignees: ["octocat"] }],
    ] as const)
      expect((await call(name, context, input))["note"]).toMatch(/^GitHub did not set sev1, octocat\./);
  });

  it("does not take an app, which GitHub lists by another name, for an assignee that it ignored", async () => {
    const context = await start(({ operation, example }) =>
      operation === "issues/update"
        ? { body: { ...(example as JsonObject), assignees: [{ login: "Copilot" }] } }
        : undefined,
    );
    const input = { number: 7, assignees: ["copilot-swe-agent[bot]"] };
    expect((await call("update_issue", context, input))["note"]).toBeUndefined();
  });

  it("keeps the marker of an issue whose text it changes", async () => {
    const marker = "<!-- skillflow:call:0123456789ab -->";
    const issue = (example: Json) => ({ ...(example as JsonObject), body: `Old text.\n\n${marker}` });
    const context = await start(({ operation, example }) =>
      operation === "issues/get" ? { body: issue(example) } : undefined,
    );
    await call("update_issue", context, { number: 7, body: "New text." });
    expect(JSON.parse(service.requests.at(-1)?.body ?? "")).toEqual({ body: `New text.\n\n${marker}` });
  });

  it("does not send an update that changes nothing", async () => {
    const context = await start();
    await expect(call("update_issue", context, { number: 7 })).rejects.toThrow(/at least one field/);
    expect(service.requests).toHaveLength(0);
  });
});

describe("files and logs", () => {
  const file = (text: string | Buffer) => on("repos/get-content", { body: fileBody(text) });

  it("reads a range of a file's lines", async () => {
    const context = await start(file("one\ntwo\nthree\nfour"));
    const result = await call("get_file", context, { path: "a", start_line: 2, end_line: 3 });
    expect(result).toMatchObject({ total_lines: 4, start_line: 2, content: "two\nthree" });
  });

  it("hands out a long file in parts that join to the whole", async () => {
    const text = Array.from({ length: 3000 }, (_, index) => `line ${index} "é"`).join("\n");
    const context = await start(file(text));
    const parts: string[] = [];
    for (let next: unknown = 1; typeof next === "number"; ) {
      const part = await call("get_file", context, { path: "a", start_line: next });
      parts.push(String(part["content"]));
      next = part["next_line"];
    }
    expect(parts.length).toBeGreaterThan(2);
    expect(parts.join("\n")).toBe(text);
  });

  it("does not print a binary file, and says why a huge one is missing", async () => {
    const binary = await start(file(Buffer.from([80, 75, 0, 1])));
    expect(await call("get_file", binary, { path: "a" })).toMatchObject({ type: "binary" });
    await service.close();
    const huge = { type: "file", encoding: "none", content: "", size: 5_000_000, path: "a", sha: SHA };
    const context = await start(on("repos/get-content", { body: huge }));
    await expect(call("get_file", context, { path: "a" })).rejects.toThrow(/5000000 bytes/);
  });

  it("lists a folder, the root too", async () => {
    const entries = Array.from({ length: 300 }, (_, index) => ({ name: `f${index}`, type: "file", size: 9 }));
    const context = await start(on("repos/get-content", { body: entries }));
    expect(await call("get_file", context, { path: "" })).toMatchObject({ type: "dir", truncated: "100 more entries" });
  });

  it("reads the failed jobs' logs only, without colours and timestamps", async () => {
    const job = { id: 5, name: "test", conclusion: "failure", steps: [{ name: "npm test", conclusion: "failure" }] };
    const jobs = [{ ...job, id: 4, conclusion: "success" }, job, { ...job, id: 6, name: "lint" }];
    const context = await start(on("actions/list-jobs-for-workflow-run", { body: { total_count: 3, jobs } }));
    const result = await call("get_workflow_run_logs", context, { run_id: 1, limit: 1 });
    expect(result).toEqual({
      run_id: 1,
      jobs: 3,
      failed: [
        {
          id: 5,
          name: "test",
          conclusion: "failure",
          failed_steps: ["npm test"],
          log: "npm test\n1 test failed",
          log_bytes: 22,
          log_lines: 2,
        },
      ],
      other_failed_jobs: ["lint"],
    });
  });

  it("keeps the end of logs that are large, in any language", async () => {
    const jobs = Array.from({ length: 9 }, (_, id) => ({ id: id + 1, name: `test ${id}`, conclusion: "timed_out" }));
    const list = on("actions/list-jobs-for-workflow-run", { body: { total_count: 9, jobs } });
    const text = `${'Ошибка "соединения"\t'.repeat(50)}\n`.repeat(2000);
    const headers = { "content-type": "text/plain" };
    const log = on("actions/download-job-logs-for-workflow-run", { status: 200, text: `${text}the end`, headers });
    const context = await start((asked) => list(asked) ?? log(asked));
    const result = await call("get_workflow_run_logs", context, { run_id: 1, limit: 5 });
    expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThan(20_000);
    for (const { log } of result["failed"] as JsonObject[]) expect(log).toMatch(/the end$/);
    const one = await call("get_job_log", context);
    expect(one).toMatchObject({ log_lines: 2001, blob_id: expect.stringMatching(/^blob:/) });
    expect(Buffer.byteLength(String(one["log"]))).toBeLessThanOrEqual(16_000);
    const found = await call("get_job_log", context, { job_id: 21, search: "THE END", max_bytes: 1000 });
    expect(found).toMatchObject({ matched: 1, log: expect.stringMatching(/the end$/) });
    const next = await call("get_job_log", context, { job_id: 21, offset: 0, max_bytes: 64_000 });
    expect(next["next_offset"]).toBeGreaterThan(60_000);
  });

  it("runs failed jobs again, or all, and none of a run that is at work", async () => {
    const context = await start();
    expect(await call("rerun_workflow", context)).toMatchObject({ rerun: "failed jobs", attempt: 2 });
    expect(await call("rerun_workflow", context, { run_id: 1, all: true })).toMatchObject({ rerun: "all jobs" });
    expect(service.operations.filter((id) => id.includes("re-run"))).toEqual([
      "actions/re-run-workflow-failed-jobs",
      "actions/re-run-workflow",
    ]);
    await service.close();
    const queued = await start(on("actions/get-workflow-run", { body: { id: 1, status: "queued" } }));
    await expect(call("rerun_workflow", queued)).rejects.toThrow(/is queued: only a finished run can be rerun/);
    expect(service.requests).toHaveLength(1);
  });

  it("gives no state of a commit without statuses, which GitHub calls pending", async () => {
    const context = await start(
      on("repos/get-combined-status-for-ref", { body: { state: "pending", statuses: [], total_count: 0 } }),
    );
    const result = await call("get_checks", context);
    expect(result).toMatchObject({ statuses: [] });
    expect(result["state"]).toBeUndefined();
  });

  it("reads the checks and statuses of a commit page by page, also if only the statuses have more", async () => {
    const status = (context: string) => ({ context, state: "success" });
    const context = await start(({ operation, parameters: { page = "", per_page } }) => {
      if (operation === "checks/list-for-ref") return { body: { total_count: 0, check_runs: [] } };
      if (operation !== "repos/get-combined-status-for-ref" || per_page !== "30") return undefined;
      const link = `<https://api.github.com/x?per_page=30&page=2>; rel="next"`;
      const statuses = page === "1" ? Array(30).fill(status("lint")) : [{ ...status("deploy"), state: "failure" }];
      const body = { state: "failure", statuses, total_count: 31 };
      return page === "1" ? { body, headers: { link } } : { body };
    });
    const first = await call("get_checks", context);
    expect(first).toMatchObject({ state: "failure", total_statuses: 31, next_page: 2 });
    const rest = await call("get_checks", context, { ref: "main", page: 2 });
    expect(rest).toMatchObject({ statuses: [{ context: "deploy", state: "failure" }] });
    expect(rest).not.toHaveProperty("next_page");
  });

  it("says that a log has expired", async () => {
    const jobs = [{ id: 5, name: "test", conclusion: "failure" }];
    const list = on("actions/list-jobs-for-workflow-run", { body: { total_count: 1, jobs } });
    const gone = on("actions/download-job-logs-for-workflow-run", { status: 410, body: {} });
    const context = await start((asked) => list(asked) ?? gone(asked));
    expect(JSON.stringify(await call("get_workflow_run_logs", context))).toContain("its log has expired");
  });

  it("says why a run without failed jobs shows none", async () => {
    const noteOf = async (jobs: Json) => {
      await service?.close();
      const context = await start(on("actions/list-jobs-for-workflow-run", { body: { total_count: 1, jobs } }));
      return call("get_workflow_run_logs", context);
    };
    expect(await noteOf([])).toMatchObject({ failed: [], note: expect.stringContaining("no jobs") });
    const running = { id: 1, name: "test", status: "in_progress", conclusion: null };
    expect(await noteOf([running])).toMatchObject({ failed: [], note: "Jobs that have not finished: 1." });
  });

  it("says where a comparison may have more files, and nothing about them on later pages", async () => {
    const context = await start(({ operation, example, parameters }) => {
      if (operation !== "repos/compare-commits-with-basehead") return undefined;
      const [file] = (example as { files: Json[] }).files;
      const files = parameters["page"] === "1" ? Array(300).fill(file) : [];
      return { body: { ...(example as JsonObject), files } };
    });
    const first = await call("compare_commits", context, { base: "a", head: "b" });
    expect(first).toMatchObject({
      changed_files: 300,
      files_left_out: 270,
      note: expect.stringContaining("lists 300"),
    });
    const second = await call("compare_commits", context, { base: "a", head: "b", page: 2 });
    expect(Object.keys(second)).not.toContain("changed_files");
  });

  it("finds one file of a large pull request, and says when it is not in it", async () => {
    const link = '<https://api.github.com/x?page=2>; rel="next"';
    const context = await start(({ parameters }) => {
      if (parameters["page"] === "1") return { body: [], headers: { link } };
      return {
        body: [{ filename: "src/db.ts", status: "modified", patch: "@@ -1 +1 @@", additions: 1, deletions: 1 }],
      };
    });
    const result = await call("get_pr_diff", context, { number: 9, path: "src/db.ts" });
    expect(result["files"]).toEqual([
      { path: "src/db.ts", status: "modified", additions: 1, deletions: 1, patch: "@@ -1 +1 @@" },
    ]);
    await expect(call("get_pr_diff", context, { number: 9, path: "no.ts" })).rejects.toThrow(/does not change "no.ts"/);
  });
});

describe("search queries", () => {
  const queryOf = () => new URL(service.requests.at(-1)?.url ?? "", service.url).searchParams.get("q");

  it("stay in the repository unless they name their own place", async () => {
    const context = await start();
    await call("search_code", context, { query: "pool" });
    expect(queryOf()).toBe("pool repo:acme/shop");
    await call("search_code", context, { query: "pool org:acme" });
    expect(queryOf()).toBe("pool org:acme");
    // GitHub refuses parentheses in a search for code.
    await call("search_code", context, { query: "pool OR timeout" });
    expect(queryOf()).toBe("pool OR timeout repo:acme/shop");
  });

  it.each([
    ["no such user: bob", "no such user: bob is:issue repo:acme/shop"],
    ['"see repo:a/b"', '"see repo:a/b" is:issue repo:acme/shop'],
    ['REPO:"a/b" pool', 'REPO:"a/b" pool is:issue'],
    ["pool OR timeout", "(pool OR timeout) is:issue repo:acme/shop"],
    ['"this OR that"', '"this OR that" is:issue repo:acme/shop'],
  ])("of %s reach no other repository by chance", async (query, sent) => {
    await call("search_issues", await start(), { query });
    expect(queryOf()).toBe(sent);
  });

  it("ask for issues unless they ask for pull requests", async () => {
    const context = await start();
    await call("search_issues", context, { query: "pool" });
    expect(queryOf()).toBe("pool is:issue repo:acme/shop");
    await call("search_issues", context, { query: "pool", type: "pull_request", repository: "a/b", state: "closed" });
    expect(queryOf()).toBe("pool is:pull-request state:closed repo:a/b");
  });
});

describe("the connection", () => {
  it("says so when nobody answers at GITHUB_API_URL", async () => {
    const context = await start();
    const config = { ...context.config, GITHUB_API_URL: "http://127.0.0.1:1" };
    const silent = { ...context, config, fetch: () => Promise.reject(new TypeError("fetch failed")) };
    await expect(call("add_labels", silent)).rejects.toThrow(/did not answer POST .*unclear/);
  });

  it("refuses an address that is not one, and does without a token only by saying so", async () => {
    const context = await start();
    const odd = { ...context, config: { ...context.config, GITHUB_API_URL: "file:///etc/passwd" } };
    await expect(call("get_issue", odd)).rejects.toThrow(/not an http or https address/);
    const { GITHUB_TOKEN: _, ...config } = context.config;
    await expect(call("get_issue", { ...context, config })).rejects.toThrow(/GITHUB_TOKEN is not set/);
  });

  it.each([
    [303, undefined],
    [307, "lasting"],
  ])("does not follow a write that is answered with %i, nor calls it unsent", async (status, refusal) => {
    const headers = { location: "http://127.0.0.1:1/elsewhere" };
    const context = await start(on("issues/create", { status, body: {}, headers }));
    const error = await failureOf(() => call("create_issue", context));
    expect(error.message).toContain(`redirected the write to ${headers.location} (${status})`);
    expect(refusalOf(error)).toBe(refusal);
  });

  it("keeps a token out of the error that an unusable token causes", async () => {
    const context = await start();
    const config = { ...context.config, GITHUB_TOKEN: "ghp_canary\u0007bell" };
    const error = await failureOf(() => call("add_labels", { ...context, config }));
    expect(error.message).not.toContain("ghp_canary");
  });
});

/** The contract suite uses the bare service: the published contract, with answers of maximum size. */
const flooded = await startGitHub(flood);
afterAll(() => flooded.close());

describeSkill(github, {
  config: configFor,
  inputs: INPUTS,
  reads: ({ url }) => (url.includes("/pulls?") ? [] : undefined),
  flood: async ({ method, url, headers, body }, response) => {
    const authorization = String(headers.authorization ?? "");
    const init = { method, headers: { authorization }, ...(body ? { body } : {}), redirect: "manual" } as const;
    const answer = await fetch(flooded.url + url, init);
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(await answer.text());
  },
});

describe("who reads what github's tools write", () => {
  const asking = async (answer: Answer) => {
    const context = await start(on("repos/get", answer));
    return audienceOf(find((await buildSkill()).tools, "create_issue"), INPUTS["create_issue"] ?? {}, context);
  };
  const buildSkill = () => checkedSkill(github, "github");

  it("is the team where the repository is private", async () => {
    expect(await asking({ body: { private: true } })).toBe("team");
    expect(service.operations).toEqual(["repos/get"]);
  });

  it("is asked of the repository that the call names", async () => {
    const named: string[] = [];
    const context = await start(({ parameters }) => {
      named.push(`${parameters["owner"]}/${parameters["repo"]}`);
      return { body: { private: parameters["repo"] === "vault" } };
    });
    const { tools } = await buildSkill();
    const ask = (repository: string) => {
      return Promise.all(WRITES.map((name) => audienceOf(find(tools, name), { repository }, context)));
    };
    expect(new Set(await ask("acme/vault"))).toEqual(new Set(["team"]));
    expect(new Set(await ask("acme/site"))).toEqual(new Set(["public"]));
    expect(new Set(named)).toEqual(new Set(["acme/vault", "acme/site"]));
  });

  it.each([
    ["GitHub says so", { body: { private: false } }],
    ["GitHub does not say", { body: {} }],
    ["GitHub says something else", { body: { private: "true" } }],
  ] as const)("is the public where %s", async (_, answer) => {
    expect(await asking(answer)).toBe("public");
  });

  it.each([
    ["GitHub hides the repository", { status: 404, body: { message: "Not Found" } }, "lasting"],
    ["GitHub refuses the token", { status: 401, body: { message: "Bad credentials" } }, "lasting"],
    ["the rate limit is used up", { status: 403, body: {}, headers: { "retry-after": "3600" } }, "passing"],
  ] as const)("is unknown, and refused as the write would be, if %s", async (_, answer, refusal) => {
    expect(refusalOf(await failureOf(() => asking(answer)))).toBe(refusal);
  });

  it("is unknown if no repository is named, or its name is not one", async () => {
    const context = await start();
    const unset = { ...context, config: { ...context.config, GITHUB_REPOSITORY: "" } };
    const tool = find((await buildSkill()).tools, "create_issue");
    const inputs: readonly JsonObject[] = [{ title: "a" }, { title: "a", repository: "no/such/name" }];
    for (const input of inputs)
      expect(refusalOf(await failureOf(() => audienceOf(tool, input, unset)))).toBe("lasting");
    expect(service.operations).toEqual([]);
  });
});

function find(tools: readonly Tool[], wanted: string): Tool {
  const tool = tools.find(({ name }) => name === wanted);
  if (!tool) throw new RangeError(`there is no tool ${wanted}`);
  return tool;
}
