import { defineSkill } from "skillflow";
import { required, setting, variables } from "skillflow/internal";
import { hostsOf } from "./hosts.ts";
import { pageTools } from "./pages.ts";

export default defineSkill({
  id: "http",
  name: "HTTP",
  description: "Reads pages of listed hosts over HTTP: health pages, status APIs, metrics and version pages.",
  category: "general",
  config: variables({
    HTTP_HOSTS: required(
      setting(
        "host_list",
        "The only hosts that may be contacted, separated by commas: status.example.com, *.internal.example, 10.0.0.5:8080, https://api.example.com. No credentials are sent.",
      ),
    ),
  }),
  probe: async ({ config }) => `allowed hosts: ${hostsOf(config).length}; none was contacted`,
  tools: pageTools,
});
