import { defineSkill } from "skillflow";
import { hostsOf } from "./hosts.ts";
import { pageTools } from "./pages.ts";

export default defineSkill({
  id: "http",
  name: "HTTP",
  description: "Reads addresses of listed hosts over HTTP: health pages, status APIs, metrics and version pages.",
  category: "general",
  config: {
    HTTP_HOSTS: {
      description:
        "The only hosts that are asked, parted by commas: status.example.com, *.internal.example, 10.0.0.5:8080, https://api.example.com. No key is sent to any.",
      required: true,
      env: "HTTP_HOSTS",
      format: "host_list",
      secret: false,
    },
  },
  probe: async ({ config }) => `hosts that may be asked: ${hostsOf(config).length}; none was asked now`,
  tools: pageTools,
});
