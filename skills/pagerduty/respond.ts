import { type Ask, plainMarkerOf, resultSchema, WRITE_ONCE } from "skillflow/internal";
import * as z from "zod";
import { briefOf, INCIDENT, type Incident, incidentAnswer, notesAnswer } from "./incidents.ts";
import { incidentId, NOT_FOUND, pagerdutyTool } from "./service.ts";

const WRITES =
  "an API key with write access or the incidents.write scope, and PAGERDUTY_FROM unless the key belongs to a user";
const SETTLED = resultSchema("id status", `${INCIDENT} existing:flag`);

export const respondTools = [
  pagerdutyTool({
    name: "acknowledge_incident",
    description:
      "Acknowledges an incident: a person handles it, and its escalation stops. Does not reopen a resolved incident.",
    ...WRITE_ONCE,
    targets: [],
    input_schema: z.strictObject({ incident: incidentId }),
    output_schema: SETTLED,
    work: async (ask, { incident }) => {
      const now = await read(ask, incident);
      if (now.status === "acknowledged") return { ...briefOf(now), existing: true };
      if (now.status === "resolved")
        throw new Error(`Incident ${incident} is resolved. Acknowledging it would reopen it.`);
      return briefOf(await settle(ask, incident, { status: "acknowledged" }));
    },
  }),
  pagerdutyTool({
    name: "resolve_incident",
    description:
      "Resolves an incident for all responders: no one is called for it anymore. Only if measurements show that it is over. Put findings in add_note.",
    ...WRITE_ONCE,
    targets: [],
    input_schema: z.strictObject({
      incident: incidentId,
      resolution: z.string().min(1).max(1000).optional().describe("What resolved it. Stored in the timeline."),
    }),
    output_schema: SETTLED,
    work: async (ask, { incident, ...rest }) => {
      const now = await read(ask, incident);
      if (now.status === "resolved") return { ...briefOf(now), existing: true };
      return briefOf(await settle(ask, incident, { status: "resolved", ...rest }));
    },
  }),
  pagerdutyTool({
    name: "add_note",
    description:
      "Adds a note to an incident: your findings with their evidence, as plain text. Does not notify anyone. A repeated call adds no second note.",
    ...WRITE_ONCE,
    targets: [],
    input_schema: z.strictObject({ incident: incidentId, text: z.string().min(1).max(20_000) }),
    output_schema: resultSchema("id", "id created_at existing:flag"),
    work: async (ask, input, context) => {
      const marker = plainMarkerOf(context, input);
      const path = ["incidents", input.incident, "notes"];
      const { notes } = await ask({ path, instead: NOT_FOUND, answer: notesAnswer });
      const known = notes.find(({ content }) => content?.includes(marker));
      if (known) return { id: known.id, created_at: known.created_at, existing: true };
      const { note } = await ask({
        path,
        body: { note: { content: `${input.text}\n\n${marker}` } },
        effect: "write",
        needs: WRITES,
        answer: z.object({ note: z.object({ id: z.string(), created_at: z.string().nullish() }) }),
      });
      return { id: note.id, created_at: note.created_at };
    },
  }),
];

async function read(ask: Ask, id: string): Promise<Incident> {
  const path = ["incidents", id];
  return (await ask({ path, instead: NOT_FOUND, answer: incidentAnswer })).incident;
}

async function settle(ask: Ask, id: string, changes: object): Promise<Incident> {
  const { incident } = await ask({
    path: ["incidents", id],
    method: "PUT",
    body: { incident: { type: "incident_reference", ...changes } },
    effect: "write",
    needs: WRITES,
    answer: incidentAnswer,
  });
  return incident;
}
