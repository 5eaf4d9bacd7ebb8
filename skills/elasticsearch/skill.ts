import { defineSkill } from "skillflow";
import { describeAccess } from "./access.ts";
import { clusterTools } from "./cluster.ts";
import { searchTools } from "./search.ts";

export default defineSkill({
  id: "elasticsearch",
  name: "Elasticsearch",
  description:
    "Searches and counts documents, such as logs, in Elasticsearch or OpenSearch; lists fields and indices, shows the cluster's health.",
  category: "observability",
  config: {
    ELASTICSEARCH_URL: {
      description: "Address of the Elasticsearch or OpenSearch REST API: https://es.example.com:9200.",
      required: true,
      env: "ELASTICSEARCH_URL",
      format: "base_url",
      secret: false,
    },
    ELASTICSEARCH_API_KEY: {
      description:
        "An encoded API key with the privileges read and view_index_metadata on the indices, and monitor on the cluster.",
      env: "ELASTICSEARCH_API_KEY",
      format: "token",
    },
    ELASTICSEARCH_USERNAME: {
      description: "User name for basic authentication with the password, as in OpenSearch.",
      env: "ELASTICSEARCH_USERNAME",
      format: "text",
      secret: false,
    },
    ELASTICSEARCH_PASSWORD: {
      description: "The user's password, if there is no API key.",
      env: "ELASTICSEARCH_PASSWORD",
      format: "token",
    },
  },
  probe: describeAccess,
  tools: [...searchTools, ...clusterTools],
});
