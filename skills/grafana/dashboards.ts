import { clip, each, firstOf, lenient, mentions, resultSchema, TEAM_SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { contains, grafanaTool, number, text, uid } from "./service.ts";

export const dashboardTools = [
  grafanaTool({
    name: "search_dashboards",
    description:
      "Finds dashboards by words in their title or by tag: uid, title, folder, tags, URL. A large Grafana has thousands: give a word. For the content of one: get_dashboard.",
    ...TEAM_SNAPSHOT,
    selects: ["query", "tag"],
    input_schema: z.strictObject({
      query: z.string().min(1).max(200).optional().describe("Part of the title, such as checkout."),
      tag: z.string().min(1).max(100).optional(),
      limit: z.int().min(1).max(100).optional().describe("Default 20."),
      page: z.int().min(1).max(100).optional(),
    }),
    output_schema: resultSchema(
      "dashboards",
      "dashboards:[{ uid title folder tags:[text] url }] next_page:number note",
    ),
    work: async (ask, input) => {
      const limit = input.limit ?? 20;
      const page = input.page ?? 1;
      const found = await ask({
        path: ["api", "search"],
        query: { type: "dash-db", query: input.query, tag: input.tag, limit, page },
        needs: "the dashboards:read permission",
        answer: z.array(hit),
      });
      return {
        dashboards: found.map(({ folderTitle, ...one }) => ({ ...one, folder: folderTitle })),
        next_page: found.length >= limit ? page + 1 : undefined,
        note:
          found.length === 0
            ? "No dashboard that this token can see has a title that contains it. Try one shorter word."
            : undefined,
      };
    },
  }),
  grafanaTool({
    name: "get_dashboard",
    description:
      "Reads one dashboard: its panels with their queries and data sources, and its variables. Returns no values: run the queries with the skills prometheus, loki or elasticsearch. For a large dashboard, give `contains`.",
    ...TEAM_SNAPSHOT,
    selects: ["panel", "contains"],
    input_schema: z.strictObject({
      dashboard: uid.describe("Uid of the dashboard, from search_dashboards or an alert."),
      panel: z.int().min(0).max(1_000_000).optional().describe("The id of one panel."),
      contains: contains.describe("In a panel's title or queries."),
      limit: z.int().min(1).max(50).optional().describe("Number of panels. Default 20."),
    }),
    output_schema: resultSchema(
      "title panels",
      `title folder updated updated_by variables:[any] panels:[{ id:number title type source queries:[text] }]
        matching:number left_out:number`,
    ),
    work: async (ask, input) => {
      const { dashboard, meta } = await ask({
        path: ["api", "dashboards", "uid", input.dashboard],
        needs: "the dashboards:read permission",
        instead: "search_dashboards returns the uids.",
        answer: dashboardAnswer,
      });
      const matching = flat(dashboard.panels)
        .filter((panel) => input.panel === undefined || panel.id === input.panel)
        .map(panelOf)
        .filter((panel) => mentions([panel.title, panel.queries], input.contains));
      const { shown, ...counts } = firstOf(matching, input.limit ?? 20);
      return {
        title: dashboard.title,
        folder: meta?.folderTitle,
        updated: meta?.updated,
        updated_by: meta?.updatedBy,
        variables: dashboard.templating?.list?.slice(0, 20).map(({ name, type, query, current }) => {
          return { name, type, query: clip(wordsOf(query), 200) || undefined, value: current?.value };
        }),
        panels: shown,
        ...counts,
      };
    },
  }),
  grafanaTool({
    name: "list_datasources",
    description:
      "Lists data sources: name, kind, uid, address. Shows which Prometheus, Loki or database a panel or an alert reads. To read their data, use the skill for that kind.",
    ...TEAM_SNAPSHOT,
    selects: ["contains"],
    input_schema: z.strictObject({ contains: contains.describe("In the name, kind or address.") }),
    output_schema: resultSchema(
      "datasources",
      "datasources:[{ name type uid url database is_default:flag }] left_out:number",
    ),
    work: async (ask, input) => {
      const all = await ask({
        path: ["api", "datasources"],
        needs: "the datasources:read permission",
        answer: z.array(datasource),
      });
      const { shown, left_out } = firstOf(
        all
          .map(({ isDefault, url, database, ...source }) => {
            return {
              ...source,
              url: plainUrl(url),
              database: database || undefined,
              is_default: isDefault || undefined,
            };
          })
          .filter((source) => mentions(source, input.contains)),
        50,
      );
      return { datasources: shown, left_out };
    },
  }),
];

const hit = z.object({
  uid: z.string(),
  ...each(text, "title folderTitle"),
  tags: lenient(z.array(z.string())),
  url: text,
});

const source = lenient(z.union([z.string(), z.object({ type: text, uid: text })]));
const panel = z.object({
  id: number,
  title: text,
  type: text,
  datasource: source,
  targets: lenient(z.array(z.record(z.string(), z.unknown()))),
  get panels() {
    return z.array(panel).nullish();
  },
});
type Panel = z.infer<typeof panel>;

const variable = z.object({
  ...each(text, "name type"),
  query: z.unknown().optional(),
  current: lenient(z.object({ value: z.unknown().optional() })),
});
const dashboardAnswer = z.object({
  dashboard: z.object({
    title: z.string(),
    panels: z.array(panel).nullish(),
    templating: lenient(z.object({ list: z.array(variable).nullish() })),
  }),
  meta: z.object({ folderTitle: text, updated: text, updatedBy: text }).nullish(),
});

const datasource = z.object({
  name: z.string(),
  ...each(text, "type uid url database"),
  isDefault: z.boolean().nullish(),
});

/** Returns all panels, including those of collapsed rows, without the rows themselves. */
function flat(panels: readonly Panel[] | null | undefined): readonly Panel[] {
  return (panels ?? []).flatMap((one) => (one.type === "row" ? flat(one.panels) : [one]));
}

function panelOf({ id, title, type, datasource: from, targets }: Panel) {
  return {
    id,
    title,
    type,
    source: typeof from === "string" ? from : [from?.type, from?.uid].filter(Boolean).join(" ") || undefined,
    queries: (targets ?? []).map(queryOf).filter((query) => query !== ""),
  };
}

const QUERIES = ["expr", "rawSql", "query", "expression", "target"] as const;
const OWN = new Set([
  "refId",
  "datasource",
  "hide",
  "key",
  "intervalMs",
  "maxDataPoints",
  "legendFormat",
  "editorMode",
]);

/** Returns a query in its own language, or as JSON for data sources that build it from parts. */
function queryOf(target: Readonly<Record<string, unknown>>): string {
  const told = QUERIES.map((key) => target[key]).find((value) => typeof value === "string" && value !== "");
  if (typeof told === "string") return clip(told, 1500);
  const parts = Object.entries(target).filter(([key]) => !OWN.has(key));
  return parts.length > 0 ? clip(JSON.stringify(Object.fromEntries(parts)), 500) : "";
}

function wordsOf(query: unknown): string {
  return typeof query === "string" ? query : query === undefined || query === null ? "" : JSON.stringify(query);
}

/** Returns a URL without its login, query and fragment, which may contain secrets. */
function plainUrl(address: string | null | undefined): string | undefined {
  if (!address) return undefined;
  return address.replace(/^([^/]*\/\/)?.*@/s, "$1").replace(/[?#].*$/s, "");
}
