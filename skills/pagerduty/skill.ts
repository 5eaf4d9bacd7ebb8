import { defineSkill } from "skillflow";
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
  config: {
    PAGERDUTY_API_KEY: {
      description:
        "A REST API key (a read-only one is enough to read), or an OAuth token (pdus+…) with the scopes incidents.read, oncalls.read, services.read, change_events.read, escalation_policies.read, and incidents.write to write.",
      required: true,
      env: "PAGERDUTY_API_KEY",
      format: "token",
    },
    PAGERDUTY_FROM: {
      description:
        "E-mail address of the PagerDuty user who makes the writes. Required unless the key belongs to a user.",
      env: "PAGERDUTY_FROM",
      format: "email",
      secret: false,
    },
    PAGERDUTY_API_URL: {
      description:
        "Address of the API: https://api.eu.pagerduty.com for accounts in the EU. Default: https://api.pagerduty.com.",
      env: "PAGERDUTY_API_URL",
      format: "base_url",
      secret: false,
    },
  },
  probe: describeAccess,
  tools: [...incidentTools, ...comparisonTools, ...peopleTools, ...respondTools],
});
