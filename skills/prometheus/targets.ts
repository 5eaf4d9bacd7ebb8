import { each, firstOf, lenient, mentions, resultSchema, TEAM_SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { contains, limit } from "./fields.ts";
import { answered, labels, prometheusTool, text } from "./service.ts";

const INSTEAD = "Mimir, Thanos and Grafana Cloud do not scrape. Call query with `up == 0`.";

const TARGET = "health url labels:any last_error last_scrape scrape_seconds:number";

export const targetTools = [
  prometheusTool({
    name: "list_targets",
    description:
      "Lists scrape targets, failing ones first, with the error of the last scrape, and counts them by job. Distinguishes missing data from zero. Shows nothing about a service that is up but slow: use query.",
    ...TEAM_SNAPSHOT,
    selects: ["health", "contains"],
    input_schema: z.strictObject({
      health: z.enum(["up", "down", "unknown"]).optional().describe("Default: all, failing first."),
      contains: contains.describe("In the address, labels or error."),
      limit: limit.describe("Default 20."),
    }),
    output_schema: resultSchema(
      "targets jobs",
      `targets:[{ ${TARGET} }] jobs:[{ job up:number not_up:number }] matching:number left_out:number more_jobs:number`,
    ),
    work: async (ask, input) => {
      const { data } = await ask({
        path: ["targets"],
        query: { state: "active" },
        instead: INSTEAD,
        answer: targetsAnswer,
      });
      const matching = data.activeTargets
        .map((each) => ({
          ...each,
          scrapeUrl: withPlainUrls(each.scrapeUrl),
          lastError: withPlainUrls(each.lastError),
        }))
        .filter(({ health }) => !input.health || health === input.health)
        .filter(({ labels: own, scrapeUrl, lastError }) => {
          return mentions([Object.values(own), scrapeUrl, lastError], input.contains);
        })
        .sort((a, b) => Number(a.health === "up") - Number(b.health === "up"));
      const { shown, ...counts } = firstOf(matching, input.limit ?? 20);
      const jobs = jobsOf(data.activeTargets);
      return {
        targets: shown.map((target) => ({
          health: target.health,
          url: target.scrapeUrl,
          labels: target.labels,
          last_error: target.lastError || undefined,
          last_scrape: target.lastScrape,
          scrape_seconds: target.lastScrapeDuration,
        })),
        jobs: jobs.slice(0, MOST_JOBS),
        ...counts,
        more_jobs: jobs.length > MOST_JOBS ? jobs.length - MOST_JOBS : undefined,
      };
    },
  }),
];

const MOST_JOBS = 30;

const target = z.object({
  labels,
  ...each(text, "scrapeUrl lastError lastScrape"),
  lastScrapeDuration: lenient(z.number()),
  health: z.string(),
});
type Target = z.infer<typeof target>;
const targetsAnswer = answered(z.object({ activeTargets: z.array(target) }));

/** Returns a text with its addresses without login and query, which may contain secrets. */
function withPlainUrls(said: string | null | undefined): string | undefined {
  return said?.replace(/(https?:\/\/)(?:[^\s"/?#]*@)?([^\s"?#]*)[^\s"]*/g, "$1$2");
}

/** Returns target counts by job, the most failing targets first. */
function jobsOf(targets: readonly Target[]) {
  const jobs = new Map<string, { up: number; not_up: number }>();
  for (const { labels: own, health } of targets) {
    const job = own["job"] ?? "";
    const counts = jobs.get(job) ?? { up: 0, not_up: 0 };
    counts[health === "up" ? "up" : "not_up"]++;
    jobs.set(job, counts);
  }
  return [...jobs].map(([job, counts]) => ({ job, ...counts })).sort((a, b) => b.not_up - a.not_up);
}
