import { join } from "node:path";
import { sendJson } from "skillflow/testing";
import git from "../../skills/git/skill.ts";
import logs from "../../skills/logs/skill.ts";
import { describeSkill, type SkillCase } from "../contracts/skill.ts";
import { LONG } from "../harness/long.ts";

/** The skills that read local files satisfy the contract of all skills, on the shipped incident. */

const INCIDENT = "workflows/incidents/checkout-5xx";
const FILES = `${INCIDENT}/logs/${LONG ? "*" : "checkout-1"}.log.gz`;
const local = {
  workDir: join(import.meta.dirname, "../.."),
  config: () => ({ PATH: process.env.PATH ?? "" }),
  flood: async (_request, response) => sendJson(response, 500, {}),
} satisfies Partial<SkillCase>;

describeSkill(logs, {
  ...local,
  offline: logs.tools.map((tool) => tool.name),
  open: ["input.where"],
  describes: "search",
  inputs: {
    files: { files: FILES },
    search: { files: FILES, contains: "checkout", limit: 200 },
    around: { file: `${INCIDENT}/logs/checkout-1.log.gz`, offset: 2_452_629, before: 100, after: 100 },
    sample: { files: FILES, limit: 100 },
    count_by: { files: FILES, by: "request_id" },
    series: { files: FILES, fields: "duration_ms", by: ["instance", "path", "request_id"], limit: 200 },
    alert: {
      alert: { labels: { service: "checkout" }, startsAt: "2026-11-20T14:38:36Z", annotations: { logs: FILES } },
    },
    survey: { files: FILES, around: "2026-11-20T14:38:00Z" },
    time_window: { files: FILES, at: "2026-11-20T14:38:00Z" },
  },
});

const repository = `${INCIDENT}/checkout.bundle`;

describeSkill(git, {
  ...local,
  offline: git.tools.map((tool) => tool.name),
  inputs: {
    log: { repository, files: true, limit: 100 },
    show: { repository, commits: ["v1.14.0"] },
    diff: { repository, from: "v1.12.0", to: "v1.14.0" },
    changed_files: { repository, from: "v1.12.0", to: "v1.14.0" },
    blame: { repository, path: "src/orders.js", ref: "v1.14.0" },
    read_file: { repository, path: "src/server.js", ref: "v1.14.0" },
    refs: { repository },
    survey: { repository, around: "2026-11-20T14:38:00Z" },
  },
});
