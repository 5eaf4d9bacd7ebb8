import type { Json } from "skillflow";
import type { LoopbackRequest } from "skillflow/testing";
import * as z from "zod";
import { type Answer, type Asked, type RestService, type Route, type Script, startRest, swollen } from "./rest.ts";
import type { Vendor } from "./vendor.ts";

/** GitLab's REST API as published: unknown requests are refused, answers are its examples. */

export const TOKEN = "glpat-gitlabcanary0123456789";
export const PROJECT = "acme/shop";

export function startGitLab(script?: Script): Promise<RestService> {
  const log: Script = ({ operation }) => (operation === "trace" ? { text: TRACE } : undefined);
  const answer: Script = (asked) => script?.(asked) ?? log(asked);
  return startRest({ routes: ROUTES, refuse, fault: (message: string) => ({ message }) }, answer);
}

/** Answers of maximum size. */
export function flood({ operation, example }: Asked): Answer {
  if (operation === "trace") return { text: `${'x é" '.repeat(400)}\n`.repeat(2000) };
  if (operation === "file") {
    const content = Buffer.from('x é"\n'.repeat(50_000)).toString("base64");
    return { body: { ...(example as object), content } };
  }
  return { body: swollen(example, ["message", "data", "diff", "description", "body", "title"]) };
}

function refuse({ headers }: LoopbackRequest): Answer | undefined {
  return headers.authorization === `Bearer ${TOKEN}`
    ? undefined
    : { status: 401, body: { message: "401 Unauthorized" } };
}

const digits = z.string().regex(/^\d+$/);
const paging = { per_page: digits, page: digits };
const time = z.iso.datetime({ offset: true }).optional();
const text = z.string().min(1).optional();
const below = (path: string) => new RegExp(`^/api/v4/projects/acme%2Fshop${path}$`);
const person: Json = { id: 1, username: "ada", name: "Ada Young", state: "active", web_url: "https://gitlab.test/ada" };
const sha = (digit: string) => digit.repeat(40);

const read = (id: string, path: string, answer: Json, query?: z.ZodType): Route => {
  return { id, method: "GET", path: below(path), ...(query ? { query } : {}), answer: () => answer };
};

const COMMIT: Json = {
  id: sha("a"),
  short_id: "aaaaaaaa",
  created_at: "2026-01-31T07:50:00.000+00:00",
  parent_ids: [sha("b")],
  title: "Give up on a payment after a second",
  message: "Give up on a payment after a second\n\nIt waited for a minute.",
  author_name: "Ada Young",
  author_email: "ada@example.com",
  authored_date: "2026-01-31T07:50:00.000+00:00",
  committer_name: "Ada Young",
  committed_date: "2026-01-31T07:50:00.000+00:00",
  trailers: {},
  web_url: `https://gitlab.test/acme/shop/-/commit/${sha("a")}`,
  stats: { additions: 1, deletions: 1, total: 2 },
};

const DIFF: Json = {
  old_path: "src/pay.ts",
  new_path: "src/pay.ts",
  a_mode: "100644",
  b_mode: "100644",
  new_file: false,
  renamed_file: false,
  deleted_file: false,
  diff: "@@ -1 +1 @@\n-const WAIT = 60_000;\n+const WAIT = 1000;\n",
};
const LARGE: Json = {
  old_path: "package-lock.json",
  new_path: "package-lock.json",
  new_file: true,
  renamed_file: false,
  deleted_file: false,
  diff: "",
  collapsed: true,
  too_large: true,
};

const REQUEST: Json = {
  id: 155016530,
  iid: 133,
  project_id: 15513260,
  title: "Give up on a payment after a second",
  description: "The gateway is slow at night.",
  state: "merged",
  created_at: "2026-01-30T12:00:00.000Z",
  updated_at: "2026-01-31T07:51:00.000Z",
  merge_user: person,
  merged_at: "2026-01-31T07:51:00.000Z",
  target_branch: "main",
  source_branch: "wait-less",
  author: person,
  labels: ["payments"],
  draft: false,
  detailed_merge_status: "not_open",
  sha: sha("a"),
  merge_commit_sha: sha("c"),
  squash_commit_sha: null,
  changes_count: "2",
  web_url: "https://gitlab.test/acme/shop/-/merge_requests/133",
  head_pipeline: { id: 47, status: "success", web_url: "https://gitlab.test/acme/shop/-/pipelines/47" },
};

const PIPELINE: Json = {
  id: 46,
  iid: 11,
  project_id: 1,
  name: "Build pipeline",
  status: "failed",
  ref: "main",
  sha: sha("a"),
  tag: false,
  yaml_errors: null,
  user: person,
  source: "push",
  created_at: "2026-01-31T07:52:00.000Z",
  updated_at: "2026-01-31T07:58:00.000Z",
  duration: 340,
  web_url: "https://gitlab.test/acme/shop/-/pipelines/46",
};

const job = (id: number, name: string, status: string): Json => ({
  id,
  name,
  stage: "test",
  status,
  failure_reason: status === "failed" ? "script_failure" : null,
  allow_failure: false,
  created_at: "2026-01-31T07:52:00.000Z",
  started_at: "2026-01-31T07:53:00.000Z",
  finished_at: "2026-01-31T07:54:00.000Z",
  duration: 60.5,
  ref: "main",
  tag: false,
  web_url: `https://gitlab.test/acme/shop/-/jobs/${id}`,
  user: person,
});

const ESC = "\u001b";
const TRACE = [
  `${ESC}[0KRunning with gitlab-runner 18.0.0${ESC}[0;m`,
  `section_start:1769846000:step_script\r${ESC}[0K${ESC}[36;1m$ npm test${ESC}[0;m`,
  "10%\r50%\r100% done",
  `${ESC}[31mError: expected 502 to be 200${ESC}[0m`,
  `section_end:1769846060:step_script\r${ESC}[0K${ESC}[31;1mERROR: Job failed: exit code 1`,
  `${ESC}[0;m`,
].join("\n");

export const ISSUE = {
  id: 76,
  iid: 6,
  project_id: 1,
  title: "Checkout answers 502 at night",
  description: "Since the last release.\n\n<!-- skillflow:call:0123456789ab -->",
  state: "opened",
  author: person,
  assignees: [person],
  labels: ["bug"],
  user_notes_count: 2,
  confidential: false,
  created_at: "2026-01-30T15:31:51.081Z",
  updated_at: "2026-01-31T15:31:51.081Z",
  closed_at: null,
  web_url: "https://gitlab.test/acme/shop/-/issues/6",
} satisfies Json;

const NOTES: Json = [
  {
    id: 305,
    body: "changed the description",
    author: person,
    created_at: "2026-01-31T09:56:03Z",
    system: true,
    noteable_type: "Issue",
  },
  {
    id: 302,
    body: "Seen again.",
    author: { id: 9, username: "someone" },
    created_at: "2026-01-31T09:22:45Z",
    system: false,
    noteable_type: "Issue",
  },
];

const DEPLOYMENTS: Json = [
  {
    id: 42,
    iid: 2,
    ref: "main",
    sha: sha("a"),
    created_at: "2026-01-31T07:55:00.000Z",
    updated_at: "2026-01-31T07:58:00.000Z",
    status: "success",
    user: person,
    environment: { id: 9, name: "production", external_url: "https://shop.test" },
    deployable: {
      id: 664,
      status: "success",
      name: "deploy",
      finished_at: "2026-01-31T07:58:00.000Z",
      commit: { id: sha("a"), title: "Give up on a payment after a second" },
    },
  },
];

const RELEASES: Json = [
  {
    tag_name: "v1.14.0",
    description: "Payments give up sooner.",
    name: "1.14.0",
    created_at: "2026-01-31T07:45:00.000Z",
    released_at: "2026-01-31T07:45:00.000Z",
    author: person,
    commit: { id: sha("a"), short_id: "aaaaaaaa", title: "Give up" },
    upcoming_release: false,
    _links: { self: "https://gitlab.test/acme/shop/-/releases/v1.14.0" },
  },
];

const newest = { order_by: z.enum(["created_at", "updated_at", "id"]), sort: z.enum(["asc", "desc"]) };

const ROUTES: readonly Route[] = [
  { id: "user", method: "GET", path: /^\/api\/v4\/user$/, answer: () => person },
  read("project", "", { id: 1, path_with_namespace: PROJECT, visibility: "private" }),
  read(
    "search",
    "/search",
    [
      {
        basename: "src/pay",
        data: "const WAIT = 60_000;\nawait pay(order, WAIT);\n",
        path: "src/pay.ts",
        filename: "src/pay.ts",
        id: null,
        ref: "main",
        startline: 46,
        project_id: 1,
      },
    ],
    z.strictObject({ ...paging, scope: z.literal("blobs"), search: z.string().min(3), ref: text }),
  ),
  read(
    "file",
    "/repository/files/[^/]+",
    {
      file_name: "pay.ts",
      file_path: "src/pay.ts",
      size: 38,
      encoding: "base64",
      content: Buffer.from("const WAIT = 1000;\nexport { WAIT };\n// end\n").toString("base64"),
      content_sha256: "4c294617b60715c1d218e61164a3abd4808a4284cbc30e6728a01ad9aada4481",
      ref: "v1.14.0",
      blob_id: "79f7bbd25901e8334750839545a9bd021f0e4c83",
      commit_id: sha("a"),
      last_commit_id: sha("b"),
      execute_filemode: false,
    },
    z.strictObject({ ref: z.string().min(1) }),
  ),
  read(
    "commits",
    "/repository/commits",
    [COMMIT],
    z.strictObject({ ...paging, ref_name: text, path: text, since: time, until: time }),
  ),
  read("commit", "/repository/commits/[^/]+", COMMIT),
  read("commitDiff", "/repository/commits/[^/]+/diff", [DIFF, LARGE], z.strictObject(paging)),
  read(
    "compare",
    "/repository/compare",
    { commit: COMMIT, commits: [COMMIT], diffs: [DIFF, LARGE], compare_timeout: false, compare_same_ref: false },
    z.strictObject({ from: z.string().min(1), to: z.string().min(1) }),
  ),
  read(
    "mergeRequests",
    "/merge_requests",
    [REQUEST],
    z.strictObject({
      ...paging,
      ...newest,
      state: z.enum(["opened", "closed", "merged", "locked", "all"]),
      search: text,
      target_branch: text,
      updated_after: time,
    }),
  ),
  read("mergeRequest", "/merge_requests/\\d+", REQUEST),
  read(
    "mergeRequestDiffs",
    "/merge_requests/\\d+/diffs",
    [DIFF],
    z.strictObject({ ...paging, per_page: digits.refine((count) => Number(count) <= 30) }),
  ),
  read(
    "pipelines",
    "/pipelines",
    [PIPELINE],
    z.strictObject({ ...paging, ...newest, ref: text, status: text, sha: text }),
  ),
  read("pipeline", "/pipelines/\\d+", PIPELINE),
  read(
    "pipelineJobs",
    "/pipelines/\\d+/jobs",
    [job(7, "lint", "success"), job(8, "unit", "failed")],
    z.strictObject(paging),
  ),
  read(
    "bridges",
    "/pipelines/\\d+/bridges",
    [
      {
        ...(job(9, "deploy", "failed") as object),
        downstream_pipeline: {
          id: 49,
          project_id: 2,
          sha: sha("a"),
          ref: "main",
          status: "failed",
          web_url: "https://gitlab.test/acme/deploy/-/pipelines/49",
        },
      },
    ],
    z.strictObject({ per_page: digits }),
  ),
  read("job", "/jobs/\\d+", job(8, "unit", "failed")),
  read("trace", "/jobs/\\d+/trace", TRACE),
  read(
    "deployments",
    "/deployments",
    DEPLOYMENTS,
    z.strictObject({ ...paging, ...newest, environment: text, status: text }),
  ),
  read("releases", "/releases", RELEASES, z.strictObject(paging)),
  read(
    "issues",
    "/issues",
    [ISSUE],
    z.strictObject({
      ...paging,
      ...newest,
      search: text,
      state: z.enum(["opened", "closed"]).optional(),
      labels: text,
      scope: z.enum(["created_by_me", "assigned_to_me", "all"]).optional(),
    }),
  ),
  read("issue", "/issues/\\d+", ISSUE),
  read("notes", "/(issues|merge_requests)/\\d+/notes", NOTES, z.strictObject({ ...paging, ...newest })),
  {
    id: "createIssue",
    method: "POST",
    path: below("/issues"),
    status: 201,
    body: z.strictObject({
      title: z.string().min(1).max(255),
      description: z.string().optional(),
      labels: z.string().optional(),
      confidential: z.boolean().optional(),
    }),
    answer: ({ body }) => {
      const labels = typeof body["labels"] === "string" ? body["labels"].split(",") : [];
      return { ...ISSUE, iid: 7, title: body["title"] ?? "", labels };
    },
  },
  {
    id: "createNote",
    method: "POST",
    path: below("/(issues|merge_requests)/\\d+/notes"),
    status: 201,
    body: z.strictObject({ body: z.string().min(1) }),
    answer: ({ body }) => ({ id: 309, author: person, created_at: "2026-01-31T10:00:00Z", system: false, ...body }),
  },
];

export const vendor: Vendor = {
  start: startGitLab,
  env: (url) => ({ GITLAB_URL: url, GITLAB_TOKEN: TOKEN, GITLAB_PROJECT: PROJECT }),
  secrets: [TOKEN],
  asked: ["list_commits", {}],
  questions: {
    "What was deployed?": {
      asks: [
        ["list_deployments", { environment: "production" }],
        ["compare", ([{ deployments }]) => ({ from: "v1.13.0", to: deployments[0].sha })],
      ],
      tells: ["2026-01-31T07:58", "Give up on a payment after a second"],
    },
    "What did it change?": {
      asks: [
        ["compare", { from: "v1.13.0", to: "v1.14.0", path: "src/pay.ts" }],
        ["get_commit", { ref: "v1.14.0" }],
        ["get_merge_request", { number: 133 }],
        ["get_pipeline", { pipeline: 46 }],
        [
          "get_job_log",
          ([, , , { jobs }]) => ({ job: jobs.find((one: { status: string }) => one.status === "failed").id }),
        ],
      ],
      tells: ["WAIT = 1000", "The gateway is slow at night"],
    },
    "Is it known?": {
      asks: [
        ["search_issues", { search: "502", state: "opened" }],
        ["search_issues", { search: "502", state: "closed" }],
      ],
      tells: ["Checkout answers 502 at night"],
    },
  },
  inputs: {
    gitlab_add_comment: { number: 6, on: null, project: null },
    gitlab_create_issue: { confidential: null, project: null },
  },
};
