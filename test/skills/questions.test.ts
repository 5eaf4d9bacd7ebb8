import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Json, Skill, ToolContext } from "skillflow";
import { type Loopback, type LoopbackHandler, sendJson, startLoopback, toolContext } from "skillflow/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeQuestions, type Question } from "../contracts/questions.ts";
import { type Script as GitHubScript, startGitHub } from "../services/github.ts";
import { PERIOD } from "../services/vendor.ts";
import { ANSWERING, WITHOUT_VENDOR } from "../services/vendors.ts";

type Questions = Readonly<Record<string, Question>>;

const TIMED_OUT = "canceling statement due to statement timeout";
const BIGINT = { type: "integer", format: "bigint" };
const TEXT = { type: "string", format: "text" };

const HERE: Readonly<Record<string, Questions>> = {
  git: {
    "What changed?": {
      asks: [
        ["refs", {}],
        ["changed_files", { from: "v1.0", to: "v1.1" }],
        ["log", { since: "2024-01-03T00:00:00Z" }],
      ],
      tells: ["v1.1", "src/pay.ts", "Give up sooner"],
    },
    "Which commit did it?": {
      asks: [
        ["log", { path: "src/pay.ts", patch: true }],
        ["log", { changes_text: "WAIT = 1000" }],
        ["show", ([{ commits }]) => ({ commits: [commits[0].id] })],
        ["diff", { from: "v1.0", to: "v1.1", path: "src/pay.ts" }],
      ],
      tells: ["+const WAIT = 1000", "Give up sooner", "Ann"],
    },
    "What does the failing line rest on?": {
      asks: [
        ["read_file", { path: "src/pay.ts", ref: "v1.1" }],
        ["blame", { path: "src/pay.ts", ref: "v1.1" }],
      ],
      tells: ["WAIT = 1000", "Give up sooner"],
    },
  },
  http: {
    "Is it up, seen from here?": {
      asks: [["check", () => ({ urls: [`${site.url}/health`] })]],
      tells: ['"status":503', '"ok":false'],
    },
    "What does the service report?": {
      asks: [["get", () => ({ url: `${site.url}/health` })]],
      tells: ["no connection to the database"],
    },
    "Is it the same everywhere?": {
      asks: [
        ["check", () => ({ urls: [`${site.url}/health`, `${site.url}/version`] })],
        ["get", () => ({ url: `${site.url}/version` })],
      ],
      tells: ['"answering":1', "1.14.0"],
    },
  },
  logs: {
    "How bad, since when?": {
      asks: [
        ["files", {}],
        ["count_by", { files: ["app.log"], bucket: "1m" }],
        ["count_by", { files: ["app.log"], by: "level" }],
        ["series", { files: ["app.log"], fields: ["ms"] }],
      ],
      tells: ['"08:00":3', '["error",2]', '["ms",3'],
    },
    "What exactly failed?": {
      asks: [
        ["count_by", { files: ["app.log"], shape: true }],
        ["search", { files: ["app.log"], contains: "timeout", limit: 1 }],
        ["around", ([, { lines }]) => ({ file: "app.log", offset: Number(Object.keys(lines)[0]?.split("@")[1]) })],
      ],
      tells: ["pay failed: timeout", "at pay (src/pay.ts:7)"],
    },
    "What else happened then?": {
      asks: [["time_window", { files: ["app.log"], at: "2026-01-31T08:00:00Z", seconds: 60 }]],
      tells: ["deployed 1.14.0"],
    },
  },
  notification: {
    "Which channels are available?": { asks: [["channels", {}]], tells: ["file", "NOTIFICATION_"] },
    "Who must be notified?": {
      asks: [["send", { channels: ["pagerduty", "file"], title: "Checkout fails", text: "x", severity: "critical" }]],
      tells: ["not_configured"],
    },
    "Did it arrive?": {
      asks: [["send", { channels: ["file"], title: "Checkout fails", text: "Since 08:00." }]],
      tells: ["delivered"],
    },
  },
  supabase: {
    "Which rows are affected, and how many?": {
      asks: [
        ["list_tables", {}],
        ["describe_table", ([{ tables }]) => ({ table: tables[0].table })],
        ["count", { table: "orders", where: [{ column: "state", op: "eq", value: "failed" }] }],
        ["group", { table: "orders", by: ["state"] }],
        ["query", { table: "orders", select: "id,state", order: [{ column: "id", descending: true }], limit: 2 }],
      ],
      tells: ['"count":333', "failed", '"id":1000'],
    },
    "What did the services log?": {
      asks: [["service_logs", { service: "database", ...PERIOD }]],
      tells: ["canceling statement due to statement timeout"],
    },
    "What changed in the schema?": {
      asks: [
        ["list_migrations", {}],
        ["describe_table", { table: "orders" }],
      ],
      tells: ["20260131074500", "drop_orders_state_idx"],
    },
  },
};

let workDir = "";
let site: Loopback;
let supabase: Loopback;
const running: Loopback[] = [];
beforeAll(async () => {
  workDir = mkdtempSync(join(tmpdir(), "questions-"));
  site = await started(
    startLoopback(({ url }, response) =>
      url === "/version"
        ? sendJson(response, 200, { version: "1.14.0" })
        : sendJson(response, 503, { status: "no connection to the database" }),
    ),
  );
  supabase = await started(startLoopback(answerSupabase));
  writeFileSync(join(workDir, "app.log"), LINES.join("\n"));
  makeHistory(workDir);
});
afterAll(async () => {
  rmSync(workDir, { recursive: true, force: true });
  await Promise.all(running.map((each) => each.close()));
});

const LINES = [
  '{"time":"2026-01-31T07:59:30Z","level":"info","msg":"deployed 1.14.0","ms":3}',
  '{"time":"2026-01-31T08:00:05Z","level":"error","msg":"pay failed: timeout after 1000 ms","ms":1000}',
  "    at pay (src/pay.ts:7)",
  '{"time":"2026-01-31T08:00:06Z","level":"error","msg":"pay failed: timeout after 1000 ms","ms":1001}',
  "",
];

function makeHistory(folder: string): void {
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", ...args], { cwd: folder });
  const commit = (words: string, wait: number, tag: string) => {
    mkdirSync(join(folder, "src"), { recursive: true });
    writeFileSync(join(folder, "src", "pay.ts"), `const WAIT = ${wait};\nexport const pay = () => WAIT;\n`);
    git("add", "src");
    git("commit", "-q", "-m", words);
    git("tag", tag);
  };
  git("init", "-q");
  commit("Add payments", 60_000, "v1.0");
  commit("Give up sooner", 1000, "v1.1");
}

/** The published run of GitHub succeeded, the one here did not. */
const failing: GitHubScript = ({ operation, example }) =>
  operation === "actions/list-jobs-for-workflow-run"
    ? { body: JSON.parse(JSON.stringify(example).replaceAll('"success"', '"failure"')) }
    : undefined;
const STARTS: Readonly<Record<string, () => Promise<Loopback>>> = { github: () => startGitHub(failing) };

/** Supabase's own answers, by the requested path. */
const SUPABASE: readonly (readonly [RegExp, Json])[] = [
  [
    /endpoints\/logs\?/,
    { result: [{ id: "1", timestamp: "2026-01-31T08:00:00.000000", event_message: TIMED_OUT }], error: null },
  ],
  [/database\/migrations/, [{ version: "20260131074500", name: "drop_orders_state_idx" }]],
  [/select=.*count/, [{ state: "failed", count: 333 }]],
  [/\/orders/, [{ id: 1000, state: "failed" }]],
  [
    /\/rest\/v1\/($|\?)/,
    { definitions: { orders: { properties: { id: BIGINT, state: TEXT } } }, paths: { "/orders": {} } },
  ],
];

const answerSupabase: LoopbackHandler = ({ url }, response) => {
  const body = SUPABASE.find(([path]) => path.test(url))?.[1];
  sendJson(response, body === undefined ? 404 : 200, body ?? {}, { "content-range": "0-0/333" });
};

const CONFIG: Readonly<Record<string, () => Readonly<Record<string, string>>>> = {
  http: () => ({ HTTP_HOSTS: site.url }),
  notification: () => ({ NOTIFICATION_FILE: "notices.jsonl" }),
  supabase: () => ({
    SUPABASE_URL: supabase.url,
    SUPABASE_SERVICE_ROLE_KEY: "sb_secret_canary0123456789",
    SUPABASE_TABLES: "orders",
    SUPABASE_ACCESS_TOKEN: "sbp_canary0123456789abcdef",
    SUPABASE_PROJECT: "abcdefgh",
    SUPABASE_MANAGEMENT_URL: supabase.url,
  }),
};

async function started(service: Promise<Loopback>): Promise<Loopback> {
  const loopback = await service;
  running.push(loopback);
  return loopback;
}

const load = async (id: string) => (await import(`../../skills/${id}/skill.ts`)).default as Skill;

describe("the questions for each skill in a triage", async () => {
  it("are defined for every skill without a loopback service", () => {
    // The questions of postgres are asked where its database is.
    expect([...Object.keys(HERE), "postgres"].sort(), "new skill? write test/services/<id>.ts with `vendor`").toEqual(
      WITHOUT_VENDOR,
    );
  });

  for (const [id, { start, env, questions }] of ANSWERING) {
    describeQuestions(
      await load(id),
      async () => toolContext({ config: env((await started((STARTS[id] ?? start)())).url) }),
      questions,
    );
  }
  for (const [id, questions] of Object.entries(HERE)) {
    const contextOf = async (): Promise<ToolContext> => toolContext({ config: CONFIG[id]?.() ?? {}, workDir });
    describeQuestions(await load(id), contextOf, questions);
  }
});
