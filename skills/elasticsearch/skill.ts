import { defineSkill } from "skillflow";
import { describeAccess } from "./access.ts";
import { clusterTools } from "./cluster.ts";
import { searchTools } from "./search.ts";

export default defineSkill({
  id: "elasticsearch",
  name: "Elasticsearch",
  description:
    "Searches and counts documents, such as logs, in Elasticsearch or OpenSearch; fields, indices and the cluster's health.",
  category: "observability",
  config: {
    ELASTICSEARCH_URL: {
      description: "Where the REST API is: https://es.example.com:9200, of OpenSearch too.",
      required: true,
      env: "ELASTICSEARCH_URL",
      format: "base_url",
      secret: false,
    },
    ELASTICSEARCH_API_KEY: {
      description:
        "An encoded API key: read and view_index_metadata on the indices it may see, and monitor on the cluster for its health.",
      env: "ELASTICSEARCH_API_KEY",
      format: "token",
    },
    ELASTICSEARCH_USERNAME: {
      description: "With it the password is sent by basic authentication, as OpenSearch wants it.",
      env: "ELASTICSEARCH_USERNAME",
      format: "text",
      secret: false,
    },
    ELASTICSEARCH_PASSWORD: {
      description: "The user's password, where there is no API key.",
      env: "ELASTICSEARCH_PASSWORD",
      format: "token",
    },
  },
  probe: describeAccess,
  tools: [...searchTools, ...clusterTools],
});
