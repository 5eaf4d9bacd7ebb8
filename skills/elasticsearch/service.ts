import { authorization, keyOf, type Service, textLike, toolsWith, workOn } from "skillflow/internal";

const ELASTICSEARCH: Service = {
  name: "Elasticsearch",
  address: "ELASTICSEARCH_URL",
  keys: ["ELASTICSEARCH_API_KEY", "ELASTICSEARCH_PASSWORD"],
  needs: "the read privilege on these indices",
  headers: (config) => {
    const key = keyOf(config, "ELASTICSEARCH_API_KEY");
    if (key) return { authorization: `ApiKey ${key}` };
    const user = config["ELASTICSEARCH_USERNAME"];
    return user ? authorization(user, keyOf(config, "ELASTICSEARCH_PASSWORD")) : {};
  },
};

export const withElasticsearch = workOn(ELASTICSEARCH);

export const elasticsearchTool = toolsWith(withElasticsearch);

export const MONITOR = "the monitor privilege on the cluster";

export const index = textLike(/^[a-z0-9.*][a-z0-9_.*,:-]*$/, 300).describe(
  "Names or patterns: logs-*, app-2026.01.31.",
);
