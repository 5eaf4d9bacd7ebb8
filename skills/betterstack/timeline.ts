import type { Ask } from "skillflow/internal";
import { lenient, markerOf, pick, resultSchema, SNAPSHOT, WRITE_ONCE, withoutMarkers } from "skillflow/internal";
import * as z from "zod";
import { checkedId, id, idAnswer, limit, nextPage, page, pageSchema, pagination, paging, text } from "./fields.ts";
import { betterstackTool } from "./service.ts";

/** Tools for an incident's timeline and the on-call calendars. */

const MOST_ITEMS = 50;

export const timelineTools = [
  betterstackTool({
    name: "get_timeline",
    description: "Reads an incident's timeline, oldest first: who was called and when, escalations, comments.",
    effect: "read",
    clock: "range",
    input_schema: z.strictObject({ incident_id: id }),
    output_schema: resultSchema("items", "items:[{ at kind title text by }] earlier_left_out:number"),
    work: async (ask, input) => {
      const path = ["v3", "incidents", checkedId(input.incident_id), "timeline"];
      const { data } = await ask({ path, answer: z.object({ data: z.array(item) }) });
      const sorted = data.map(({ attributes }) => attributes).sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
      return {
        items: sorted.slice(-MOST_ITEMS).map(itemOf),
        earlier_left_out: Math.max(0, sorted.length - MOST_ITEMS) || undefined,
      };
    },
  }),
  betterstackTool({
    name: "add_comment",
    description: "Comments on an incident: your findings with their evidence. Does not page anyone.",
    ...WRITE_ONCE,
    targets: [],
    input_schema: z.strictObject({
      incident_id: id,
      text: z.string().min(1).max(10_000).describe("Markdown."),
    }),
    output_schema: resultSchema("id", "id created_at existing:flag"),
    work: async (ask, input, context) => {
      const path = ["v2", "incidents", checkedId(input.incident_id), "comments"];
      const marker = markerOf(context, input);
      const earlier = await findComment(ask, path, marker);
      if (earlier) return { ...writtenOf(earlier), existing: true };
      const body = { content: `${input.text}\n\n${marker}` };
      const { data } = await ask({ path, body, answer: z.object({ data: comment }) });
      return writtenOf(data);
    },
  }),
  betterstackTool({
    name: "list_on_call",
    description: "Lists on-call calendars and who is on call now.",
    ...SNAPSHOT,
    input_schema: z.strictObject({ limit, page }),
    output_schema: pageSchema("calendars", "id name team is_default:flag on_call:[{ name email }]"),
    work: async (ask, input) => {
      const answer = await ask({ path: ["v2", "on-calls"], query: paging(input), answer: calendarsAnswer });
      const people = new Map(answer.included?.map(({ id, attributes }) => [id, attributes]));
      const calendars = answer.data.map(({ id, attributes, relationships }) => ({
        id,
        ...pick(attributes, "name team:team_name is_default:default_calendar"),
        on_call: (relationships?.on_call_users?.data ?? []).map(({ id: person, meta }) => {
          const known = people.get(person);
          const name = [known?.first_name, known?.last_name].filter((part) => part).join(" ");
          return { name: name || undefined, email: known?.email ?? meta?.email };
        }),
      }));
      return { calendars, next_page: nextPage(answer) };
    },
  }),
];

const person = lenient(z.object({ name: text, full_name: text, email: text }));

const item = z.object({
  attributes: z.object({
    item_type: text,
    at: z.string(),
    data: lenient(
      z.object({
        title: text,
        content: lenient(z.union([z.string(), z.object({ text, user: person })])),
      }),
    ),
  }),
});

function itemOf({ item_type, at, data }: z.infer<typeof item>["attributes"]) {
  const { title, content } = data ?? {};
  const { text: words, user } = typeof content === "string" ? { text: content } : (content ?? {});
  const by = user?.name ?? user?.full_name ?? user?.email;
  return { at, kind: item_type, title, text: words ? withoutMarkers(words) : undefined, by };
}

const comment = z.object({ id: idAnswer, attributes: z.object({ content: text, created_at: text }) });

async function findComment(ask: Ask, path: readonly string[], marker: string) {
  const { data } = await ask({ path, answer: z.object({ data: z.array(comment) }) });
  return data.find(({ attributes }) => attributes.content?.includes(marker));
}

function writtenOf({ id, attributes }: z.infer<typeof comment>) {
  return { id, created_at: attributes.created_at };
}

/** Omits telephone numbers. */
const user = z.object({ id: idAnswer, attributes: z.object({ first_name: text, last_name: text, email: text }) });
const onCall = z.object({ id: idAnswer, meta: z.object({ email: text }).nullish() });
const calendar = z.object({
  id: idAnswer,
  attributes: z.object({ name: text, team_name: text, default_calendar: lenient(z.boolean()) }),
  relationships: lenient(z.object({ on_call_users: z.object({ data: z.array(onCall).nullish() }).nullish() })),
});
const calendarsAnswer = z.object({ data: z.array(calendar), included: lenient(z.array(user)), pagination });
