import type { ToolContext } from "skillflow";
import { type Ask, authorization, keyOf, type Service, textLike, toolsWith, withService } from "skillflow/internal";

const ELASTICSEARCH: Service = {
  name: "Elasticsearch",
  address: "ELASTICSEARCH_URL",
  keys: ["ELASTICSEARCH_API_KEY", "ELASTICSEARCH_PASSWORD"],
  headers: (config) => {
    const key = keyOf(config, "ELASTICSEARCH_API_KEY");
    if (key) return { authorization: `ApiKey ${key}` };
    const user = config["ELASTICSEARCH_USERNAME"];
    return user ? authorization(user, keyOf(config, "ELASTICSEARCH_PASSWORD")) : {};
  },
};

export function withElasticsearch(context: ToolContext, work: (ask: Ask) => Promise<unknown>) {
  return withService(ELASTICSEARCH, context, work);
}

export const elasticsearchTool = toolsWith(withElasticsearch);

export const READ = "the read privilege on these indices";
export const MONITOR = "the monitor privilege on the cluster";

export const index = textLike(/^[a-z0-9.*][a-z0-9_.*,:-]*$/, 300).describe(
  "Names or patterns: logs-*, app-2026.01.31.",
);
