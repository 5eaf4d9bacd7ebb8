import type { Ask } from "skillflow/internal";
import { callDigest, resultSchema, ServiceFault, textLike, WRITE_ONCE } from "skillflow/internal";
import * as z from "zod";
import { checkedId, id, nextPage } from "./fields.ts";
import { briefOf, INCIDENT, type Incident, incidentAnswer, listAnswer } from "./incidents.ts";
import { betterstackTool } from "./service.ts";

const person = z.string().min(1).max(200);

const way = (what: string, absent: boolean) => z.boolean().optional().describe(`${what} Default ${absent}.`);

const SETTLED = resultSchema("id", `${INCIDENT} existing:flag`);

export const respondTools = [
  betterstackTool({
    name: "acknowledge_incident",
    description: "Acknowledges an incident: a person handles it, and its escalation stops.",
    ...WRITE_ONCE,
    targets: [],
    input_schema: z.strictObject({
      incident_id: id,
      acknowledged_by: person.optional().describe("E-mail address or name. Default: the token's owner."),
    }),
    output_schema: SETTLED,
    work: (ask, { incident_id, ...body }) => settle(ask, { id: incident_id, verb: "acknowledge", body }),
  }),
  betterstackTool({
    name: "resolve_incident",
    description: "Resolves an incident. Does not change one that is already resolved.",
    ...WRITE_ONCE,
    targets: [],
    input_schema: z.strictObject({
      incident_id: id,
      resolved_by: person.optional().describe("E-mail address or name. Default: the token's owner."),
    }),
    output_schema: SETTLED,
    work: (ask, { incident_id, ...body }) => settle(ask, { id: incident_id, verb: "resolve", body }),
  }),
  betterstackTool({
    name: "create_incident",
    description: "Reports an incident and notifies the person on call.",
    effect: "write",
    targets: ["policy_id"],
    input_schema: z.strictObject({
      requester_email: textLike(/^[^\s@<>"]+@[^\s@<>".]+(?:\.[^\s@<>".]+)+$/, 200).describe(
        "E-mail address of a member of the team.",
      ),
      name: z.string().min(1).max(150).optional().describe("Name, such as the service's."),
      summary: z.string().min(1).max(220).describe("One line, used in calls and messages."),
      description: z.string().max(10_000).optional().describe("Evidence, and what you tried."),
      policy_id: textLike(/^\d+$/, 19)
        .optional()
        .describe("Escalation policy, instead of the notification options below."),
      call: way("Phone call.", false),
      sms: way("Text message.", false),
      email: way("E-mail.", true),
      push: way("Push notification.", true),
    }),
    output_schema: SETTLED,
    work: async (ask, input, context) => {
      // It identifies the call in a field that Better Stack returns unchanged.
      const marker = `[skillflow ${callDigest(context, input).slice(0, 12)}]`;
      const known = await findIncident(ask, marker);
      if (known) return { ...unmarked(known, marker), existing: true };
      const ways = { call: false, sms: false, email: true, push: true };
      const body = { ...ways, ...input, summary: `${input.summary} ${marker}` };
      const { data } = await ask({ path: ["v3", "incidents"], body, answer: incidentAnswer });
      return unmarked(data, marker);
    },
  }),
];

/** Acknowledges or resolves an incident. A 409 response means that this was already done. */
async function settle(
  ask: Ask,
  { id, verb, body }: { readonly id: string; readonly verb: "acknowledge" | "resolve"; readonly body: object },
) {
  const path = ["v3", "incidents", checkedId(id)];
  try {
    const { data } = await ask({ path: [...path, verb], body, answer: incidentAnswer });
    return briefOf(data);
  } catch (error) {
    if (!(error instanceof ServiceFault) || error.status !== 409) throw error;
    const { data } = await ask({ path, answer: incidentAnswer });
    const { acknowledged_at, resolved_at } = data.attributes;
    if (!resolved_at && (verb === "resolve" || !acknowledged_at)) throw error;
    return { ...briefOf(data), existing: true };
  }
}

const DAY_MS = 86_400_000;
const PAGE_SIZE = 50;
const MOST_PAGES = 5;

/** Finds the incident that an earlier attempt of the same call reported. */
async function findIncident(ask: Ask, marker: string): Promise<Incident | undefined> {
  const from = new Date(Date.now() - DAY_MS).toISOString().slice(0, 10);
  for (let page = 1; page <= MOST_PAGES; page++) {
    const query = { from, per_page: PAGE_SIZE, page };
    const answer = await ask({ path: ["v3", "incidents"], query, answer: listAnswer });
    const isMade = ({ attributes: { cause, name } }: Incident) => cause?.includes(marker) || name?.includes(marker);
    const found = answer.data.find(isMade);
    if (found || nextPage(answer) === undefined) return found;
  }
  return undefined;
}

function unmarked(incident: Incident, marker: string) {
  const { cause, name, ...rest } = briefOf(incident);
  return { ...rest, name: name?.replace(` ${marker}`, ""), cause: cause?.replace(` ${marker}`, "") };
}
