import { type Json, type JsonObject, refusalOf, type ToolContext } from "skillflow";
import { toolContext } from "skillflow/testing";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import gitlab from "../../skills/gitlab/skill.ts";
import { audienceOf } from "../../src/core/skill/skill.ts";
import { describeFaults } from "../contracts/faults.ts";
import { callTool, describeSkill, failureOf, fits } from "../contracts/skill.ts";
import { flood, ISSUE, PROJECT, startGitLab, TOKEN } from "../services/gitlab.ts";
import { forwarding, type RestService, type Script } from "../services/rest.ts";

/** One good input for every tool. */
const INPUTS: Readonly<Record<string, JsonObject>> = {
  search_code: { search: "WAIT filename:pay.ts", ref: "main" },
  get_file: { path: "src/pay.ts", ref: "v1.14.0", start_line: 2, end_line: 2 },
  list_commits: { ref: "main", path: "src", since: "2026-01-31T06:00:00Z" },
  get_commit: { ref: "main" },
  compare: { from: "v1.13.0", to: "v1.14.0" },
  list_merge_requests: { state: "merged", search: "payment", updated_after: "2026-01-31T00:00:00Z" },
  get_merge_request: { number: 133 },
  get_merge_request_diffs: { number: 133, limit: 30 },
  list_pipelines: { ref: "main", status: "failed" },
  get_pipeline: { pipeline: 46 },
  get_job_log: { job: 8 },
  list_deployments: { environment: "production" },
  list_releases: {},
  search_issues: { search: "502", state: "opened", labels: ["bug"] },
  get_issue: { number: 6 },
  create_issue: { title: "Payments fail", text: "Since 1.14.0.", labels: ["bug", "incident"] },
  add_comment: { number: 6, text: "Rolled back." },
};
const NAMES = gitlab.tools.map((tool) => tool.name);

let service: RestService;
afterEach(() => service?.close());

async function start(script?: Script, parts: Readonly<Record<string, string>> = {}): Promise<ToolContext> {
  service = await startGitLab(script);
  return toolContext({ config: { ...configFor(service.url), ...parts } });
}

function configFor(url: string): Record<string, string> {
  return { GITLAB_URL: url, GITLAB_TOKEN: TOKEN, GITLAB_PROJECT: PROJECT };
}

function call(name: string, context: ToolContext, input: JsonObject = INPUTS[name] ?? {}): Promise<JsonObject> {
  return callTool(gitlab, name, input, context) as Promise<JsonObject>;
}

describe("every gitlab tool, against the published contract", () => {
  it.each(NAMES)("%s sends what the contract allows and returns what a model needs", async (name) => {
    const context = await start();
    const result = await call(name, context);
    expect(service.refusals).toEqual([]);
    expect(result).toMatchSnapshot();
  });

  it("reads a file at its default branch, whole, and says where its path leads and that it is no text", async () => {
    const content = (bytes: Buffer) => bytes.toString("base64");
    const context = await start();
    expect(await call("get_file", context, { path: "/src/pay.ts" })).toMatchObject({ total_lines: 3, start_line: 1 });
    expect(service.requests[0]?.url).toMatch(/\/repository\/files\/src%2Fpay\.ts\?ref=HEAD$/);
    await service.close();
    const binary = await start(({ example }) => ({
      body: { ...(example as JsonObject), content: content(Buffer.from([0, 1])) },
    }));
    expect(await call("get_file", binary)).toMatchObject({ note: "The file is not text." });
  });

  it("asks of the project that a call names, and says where none is known", async () => {
    const context = await start(undefined, { GITLAB_PROJECT: "" });
    await call("list_releases", context, { project: PROJECT });
    expect(service.requests[0]?.url).toMatch(/^\/api\/v4\/projects\/acme%2Fshop\/releases\?/);
    await expect(call("list_releases", context, {})).rejects.toThrow(/Give the project.*GITLAB_PROJECT is not set/);
    await expect(call("list_releases", context, { project: ".." })).rejects.toThrow(/is not a name/);
    expect(service.requests).toHaveLength(1);
  });

  it("is live when it knows whose token it is, and sees the configured project", async () => {
    expect(await gitlab.probe?.(await start())).toBe("signed in as ada; sees acme/shop (private)");
    const { GITLAB_PROJECT: _, ...config } = configFor(service.url);
    expect(await gitlab.probe?.(toolContext({ config }))).toBe("signed in as ada");
    const others = toolContext({ config: { ...config, GITLAB_PROJECT: "acme/other" } });
    await expect(gitlab.probe?.(others)).rejects.toThrow(/Not found in GitLab .*Check GITLAB_PROJECT/);
  });

  it("takes what it writes to a public project for public, and reports a refusal", async () => {
    const tool = gitlab.tools.find(({ name }) => name === "add_comment");
    const told = async (visibility: string) => {
      await service?.close();
      const context = await start(() => ({ body: { visibility } }));
      return audienceOf(tool as never, {}, context);
    };
    expect([await told("private"), await told("internal"), await told("public")]).toEqual(["team", "team", "public"]);
    await service?.close();
    const refused = failureOf(async () =>
      audienceOf(tool as never, {}, await start(() => ({ status: 403, body: {} }))),
    );
    expect(refusalOf(await refused)).toBe("lasting");
  });
});

describe("what gitlab shows", () => {
  it("of a list goes on to the next page where one is full", async () => {
    const context = await start();
    expect((await call("list_pipelines", context, { limit: 1, page: 3 }))["next_page"]).toBe(4);
    expect((await call("list_pipelines", context, { limit: 2 }))["next_page"]).toBeUndefined();
  });

  it("of a pipeline whose own jobs passed is the pipeline that failed below it", async () => {
    const context = await start(({ operation }) =>
      operation === "pipelineJobs" ? { body: [{ id: 7, name: "lint", status: "success" }] } : undefined,
    );
    expect(await call("get_pipeline", context)).toMatchObject({
      downstream: [{ job: "deploy", status: "failed", pipeline: 49, project: 2 }],
    });
  });

  it("of a project that moved is its new path to ask for", async () => {
    for (const baseOf of [() => service.url, () => ""]) {
      const context = await start(() => {
        return { status: 301, body: {}, headers: { location: `${baseOf()}/api/v4/projects/81/releases` } };
      });
      await expect(call("list_releases", context)).rejects.toThrow(/to another path: .* was renamed or moved/);
    }
  });

  it("of patches says which are too large, and can be of a folder alone", async () => {
    const context = await start();
    expect((await call("compare", context))["files"]).toMatchObject([
      { path: "src/pay.ts", patch: expect.stringContaining("+const WAIT = 1000") },
      { path: "package-lock.json", status: "added", left_out: expect.stringContaining("of this size") },
    ]);
    expect((await call("compare", context, { from: "a", to: "b", path: "src/" }))["files"]).toHaveLength(1);
    const docs = await call("get_commit", context, { ref: "main", path: "docs" });
    expect(docs).toMatchObject({ files: [] });
    expect(docs["note"]).toBeUndefined();
    const page = await call("get_commit", context, { ref: "main", path: "docs", limit: 2 });
    expect(page).toMatchObject({ files: [], next_page: 2, note: "No file of this page is under the path." });
  });

  it("of a comparison says where the two ends may be swapped", async () => {
    const context = await start(() => ({ body: { commits: [], diffs: [], compare_timeout: true } }));
    expect(await call("compare", context)).toMatchObject({
      incomplete: true,
      note: expect.stringContaining("may be swapped"),
    });
  });

  it("of a log are the lines as a person would see them, of one of any length", async () => {
    expect(String((await call("get_job_log", await start()))["log"]).split("\n")).toEqual([
      "Running with gitlab-runner 18.0.0",
      "$ npm test",
      "100% done",
      "Error: expected 502 to be 200",
      "ERROR: Job failed: exit code 1",
    ]);
    await service.close();
    const text = Array.from({ length: 200_000 }, (_, line) => `line ${line} of a log that is long enough to be cut`);
    const long = await start(({ operation }) =>
      operation === "trace" ? { text: `${text.join("\n")}\nthe end` } : undefined,
    );
    const result = await call("get_job_log", long);
    expect(result["log"]).toMatch(/^line 0 [\s\S]* lines left out\n[\s\S]*the end$/);
    expect(result).toMatchObject({ log_lines: 200_001, blob_id: expect.stringMatching(/^blob:/) });
    expect(await call("get_job_log", long, { job: 8, search: "THE END" })).toMatchObject({ matched: 1 });
    expect(await call("get_job_log", long, { job: 8, search: "nothing" })).toMatchObject({ matched: 0, log: "" });
    await service.close();
    const none = await start(({ operation }) => (operation === "trace" ? { text: "" } : undefined));
    expect(await call("get_job_log", none)).toMatchObject({ log_lines: 0, note: expect.stringContaining("no log") });
  });

  it("of an issue is without GitLab's own notes and our marks", async () => {
    const result = await call("get_issue", await start());
    expect(result["text"]).toBe("Since the last release.");
    expect(result["notes"]).toEqual([{ id: 302, author: "someone", at: "2026-01-31T09:22:45Z", text: "Seen again." }]);
  });
});

describe("what gitlab is told", () => {
  it("as an issue is written once, and never taken for one that a stranger wrote", async () => {
    const issues: Json[] = [];
    const context = await start(({ operation, body, query }) => {
      if (operation === "createIssue") issues.push({ ...ISSUE, ...body, iid: 7, labels: [] });
      return operation === "issues" ? { body: query["scope"] === "created_by_me" ? issues : [] } : undefined;
    });
    await call("create_issue", context);
    expect(await call("create_issue", context)).toMatchObject({ number: 7, existing: true });
    expect(issues).toHaveLength(1);
    expect(issues[0]).toMatchObject({ description: expect.stringMatching(/^Since 1\.14\.0\.\n\n<!-- skillflow:/) });
  });

  it("as labels is named where GitLab does not set them", async () => {
    const context = await start(({ operation }) =>
      operation === "createIssue" ? { body: { ...ISSUE, labels: ["Bug"] } } : undefined,
    );
    const { note } = await call("create_issue", context);
    expect(note).toMatch(/^GitLab did not set incident\./);
  });

  it("as a comment is written once, though a stranger copied its mark", async () => {
    const notes: { id: number; body: Json | undefined; author: Json }[] = [];
    const context = await start(({ operation, body }) => {
      if (operation === "createNote")
        notes.push({ id: notes.length + 1, body: body["body"], author: { username: "ada" } });
      return operation === "notes" ? { body: notes } : undefined;
    });
    await call("add_comment", context);
    for (const note of notes) note.author = { username: "stranger" };
    expect((await call("add_comment", context))["existing"]).toBeUndefined();
    expect(await call("add_comment", context)).toMatchObject({ id: 2, existing: true });
    expect(notes).toHaveLength(2);
  });

  it("holds no line that GitLab would carry out", async () => {
    const context = await start();
    await call("add_comment", context, { number: 6, text: "Done.\n/close\n  /label ~x\nsee /etc/hosts" });
    expect(JSON.parse(service.requests.at(-1)?.body ?? "")).toEqual({
      body: expect.stringMatching(/^Done\.\n\\\/close\n {2}\\\/label ~x\nsee \/etc\/hosts\n\n<!-- /),
    });
  });

  it("and whose fate is unclear is not tried again by itself", async () => {
    const context = await start(({ operation }) =>
      operation === "createNote" ? { status: 502, body: {} } : undefined,
    );
    await expect(call("add_comment", context)).rejects.toThrow(/Whether it took effect is unclear/);
    expect(service.operations).toEqual(["notes", "createNote"]);
  });
});

it.each([
  ["list_commits", { ref: "-x" }],
  ["list_commits", { project: "https://gitlab.com/acme" }],
  ["get_commit", { ref: "a b" }],
  ["get_merge_request_diffs", { number: 1, limit: 31 }],
  ["list_pipelines", { sha: "abc" }],
  ["create_issue", { title: "" }],
] as const)("%s refuses %o", (name, input) => {
  expect(fits(gitlab.tools.find((tool) => tool.name === name)?.input_schema, input as JsonObject)).toBe(false);
});

const flooded = await startGitLab(flood);
afterAll(() => flooded.close());

describeFaults(gitlab, {
  service: "GitLab",
  address: "GITLAB_URL",
  keys: ["GITLAB_TOKEN"],
  config: configFor,
  inputs: INPUTS,
});
describeSkill(gitlab, { config: configFor, inputs: INPUTS, flood: forwarding(flooded) });
