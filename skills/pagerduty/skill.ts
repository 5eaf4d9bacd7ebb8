import { defineSkill } from "skillflow";
import { required, secret, setting, variables } from "skillflow/internal";
import { describeAccess } from "./access.ts";
import { comparisonTools } from "./comparisons.ts";
import { incidentTools } from "./incidents.ts";
import { peopleTools } from "./people.ts";
import { respondTools } from "./respond.ts";

export default defineSkill({
  id: "pagerduty",
  name: "PagerDuty",
  description:
    "Incidents of PagerDuty with their alerts, timeline, notes and changes; who is on call; services. Acknowledges, notes, resolves.",
  category: "observability",
  config: variables({
    PAGERDUTY_API_KEY: required(
      secret(
        "token",
        "A REST API key (a read-only one is enough to read), or an OAuth token (pdus+…) with the scopes incidents.read, oncalls.read, services.read, change_events.read, escalation_policies.read, and incidents.write to write.",
      ),
    ),
    PAGERDUTY_FROM: setting(
      "email",
      "E-mail address of the PagerDuty user who makes the writes. Required unless the key belongs to a user.",
    ),
    PAGERDUTY_API_URL: setting(
      "base_url",
      "Address of the API: https://api.eu.pagerduty.com for accounts in the EU. Default: https://api.pagerduty.com.",
    ),
  }),
  probe: describeAccess,
  tools: [...incidentTools, ...comparisonTools, ...peopleTools, ...respondTools],
});
