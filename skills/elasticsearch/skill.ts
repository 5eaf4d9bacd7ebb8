import { defineSkill } from "skillflow";
import { probeWith, required, secret, setting, variables } from "skillflow/internal";
import * as z from "zod";
import { clusterTools } from "./cluster.ts";
import { searchTools } from "./search.ts";
import { withElasticsearch } from "./service.ts";

export default defineSkill({
  id: "elasticsearch",
  name: "Elasticsearch",
  description:
    "Searches and counts documents, such as logs, in Elasticsearch or OpenSearch; lists fields and indices, shows the cluster's health.",
  category: "observability",
  config: variables({
    ELASTICSEARCH_URL: required(
      setting("base_url", "Address of the Elasticsearch or OpenSearch REST API: https://es.example.com:9200."),
    ),
    ELASTICSEARCH_API_KEY: secret(
      "token",
      "An encoded API key with the privileges read and view_index_metadata on the indices, and monitor on the cluster.",
    ),
    ELASTICSEARCH_USERNAME: setting("text", "User name for basic authentication with the password, as in OpenSearch."),
    ELASTICSEARCH_PASSWORD: secret("token", "The user's password, if there is no API key."),
  }),
  // Returns the cluster's name and version.
  probe: probeWith(withElasticsearch, async (ask) => {
    const version = z.object({ number: z.string(), distribution: z.string().optional() });
    const answer = z.object({ cluster_name: z.string(), version });
    const cluster = await ask({ path: [], needs: "the monitor privilege on the cluster", answer });
    return `${cluster.cluster_name}, ${cluster.version.distribution ?? "elasticsearch"} ${cluster.version.number}`;
  }),
  tools: [...searchTools, ...clusterTools],
});
