import { defineSkill } from "skillflow";
import { probeWith, required, secret, setting, variables, wholePages } from "skillflow/internal";
import * as z from "zod";
import { comparisonTools } from "./comparisons.ts";
import { incidentTools } from "./incidents.ts";
import { peopleTools } from "./people.ts";
import { respondTools } from "./respond.ts";
import { withPagerDuty } from "./service.ts";

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
  // Checks access by requesting one incident.
  probe: probeWith(withPagerDuty, async (ask, context) => {
    const answer = z.object({ incidents: z.array(z.object({ id: z.string() })) });
    await ask({ path: ["incidents"], query: { limit: 1 }, answer });
    return context.config["PAGERDUTY_FROM"] ? "can read incidents" : "can read incidents; PAGERDUTY_FROM is not set";
  }),
  tools: [...incidentTools, ...comparisonTools, ...peopleTools, ...respondTools].map(wholePages),
});
