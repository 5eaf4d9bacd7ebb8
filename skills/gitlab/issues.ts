import {
  type Ask,
  each,
  lenient,
  markerOf,
  pick,
  resultSchema,
  SNAPSHOT,
  WRITE_ONCE,
  withoutMarkers,
} from "skillflow/internal";
import * as z from "zod";
import { amount, flag, limit, number, page, paged, person, project, text } from "./fields.ts";
import { gitlabTool, nextPage, pageSchema, paging, WRITES, withoutActions } from "./service.ts";

const ISSUE = `number:number title state author assignees:[text] labels:[text] comments:number confidential:flag created_at
  updated_at closed_at url`;

const labels = z.array(z.string().min(1).max(255)).max(20);

export const issueTools = [
  gitlabTool({
    name: "search_issues",
    description:
      "Finds issues by words in title and text, labels and state, last changed first. With comments: get_issue.",
    ...SNAPSHOT,
    selects: ["search", "state", "labels"],
    input_schema: z.strictObject({
      project,
      search: z.string().min(1).max(200).optional().describe("Two or three words of the error."),
      state: z.enum(["opened", "closed"]).optional(),
      labels: labels.optional().describe("The issue must have all of them."),
      ...paged,
    }),
    output_schema: pageSchema("issues", ISSUE),
    work: async ({ ask }, input) => {
      const found = await ask({
        path: ["issues"],
        query: {
          search: input.search,
          state: input.state,
          labels: input.labels?.join(","),
          order_by: "updated_at",
          sort: "desc",
          ...paging(input),
        },
        answer: z.array(issue),
      });
      return { issues: found.map(briefOf), next_page: nextPage(found, input) };
    },
  }),
  gitlabTool({
    name: "get_issue",
    description: "Reads one issue: its full text, and its comments, newest first.",
    ...SNAPSHOT,
    echoes: ["number"],
    input_schema: z.strictObject({ project, number, limit: limit.describe("Number of comments."), page }),
    output_schema: resultSchema("number notes", `${ISSUE} text notes:[{ id:number author at text }] next_page:number`),
    work: async ({ ask }, input) => {
      const place = ["issues", String(input.number)];
      const found = await ask({ path: place, answer: issue });
      const query = { order_by: "created_at", sort: "desc", ...paging(input) };
      const notes = await ask({ path: [...place, "notes"], query, answer: z.array(note) });
      return {
        ...briefOf(found),
        text: withoutMarkers(found.description ?? ""),
        notes: notes
          .filter(({ system }) => !system)
          .map(({ id, author, created_at, body }) => {
            return { id, author: author?.username, at: created_at, text: withoutMarkers(body ?? "") };
          }),
        next_page: nextPage(notes, input),
      };
    },
  }),
  gitlabTool({
    name: "create_issue",
    description: "Creates an issue. Search for an existing one first.",
    ...WRITE_ONCE,
    targets: ["project"],
    input_schema: z.strictObject({
      project,
      title: z.string().min(1).max(255),
      text: z.string().max(100_000).optional().describe("Markdown."),
      labels: labels.optional(),
      confidential: z.boolean().optional().describe("Visible only to members of the project."),
    }),
    output_schema: resultSchema("number", `${ISSUE} existing:flag note`),
    work: async ({ ask }, input, context) => {
      const marker = markerOf(context, input);
      const known = await findIssue(ask, marker);
      if (known) return { ...briefOf(known), existing: true };
      const body = {
        title: input.title,
        description: withMarker(input.text, marker),
        labels: input.labels?.join(","),
        confidential: input.confidential,
      };
      const made = await ask({ path: ["issues"], body, effect: "write", needs: WRITES, answer: issue });
      const names = made.labels?.map((name) => name.toLowerCase());
      const ignored = input.labels?.filter((name) => names && !names.includes(name.toLowerCase())) ?? [];
      const note = `GitLab did not set ${ignored.join(", ")}. The token may lack the role for labels.`;
      return { ...briefOf(made), note: ignored.length > 0 ? note : undefined };
    },
  }),
  gitlabTool({
    name: "add_comment",
    description: "Comments on an issue or a merge request.",
    ...WRITE_ONCE,
    targets: ["project"],
    input_schema: z.strictObject({
      project,
      on: z.enum(["issue", "merge_request"]).optional().describe("Default issue."),
      number,
      text: z.string().min(1).max(100_000).describe("Markdown."),
    }),
    output_schema: resultSchema("id", "id:number created_at existing:flag"),
    work: async ({ ask, everywhere }, input, context) => {
      const marker = markerOf(context, input);
      const path = [input.on === "merge_request" ? "merge_requests" : "issues", String(input.number), "notes"];
      const query = { order_by: "created_at", sort: "desc", per_page: 100, page: 1 };
      const notes = await ask({ path, query, answer: z.array(note) });
      const marked = notes.filter((one) => one.body?.includes(marker));
      const own = marked.length > 0 ? await everywhere({ path: ["user"], answer: user }) : undefined;
      // An untrusted author may copy a marker, so only the token's own comments count.
      const known = marked.find(({ author }) => author?.username === own?.username);
      if (known) return { id: known.id, created_at: known.created_at, existing: true };
      const body = { body: withMarker(input.text, marker) };
      const { id, created_at } = await ask({ path, body, effect: "write", needs: WRITES, answer: note });
      return { id, created_at };
    },
  }),
];

const issue = z.object({
  iid: z.number(),
  ...each(text, "title description state"),
  author: person,
  assignees: lenient(z.array(person)),
  labels: lenient(z.array(z.string())),
  user_notes_count: amount,
  confidential: flag,
  ...each(text, "created_at updated_at closed_at web_url"),
});
type Issue = z.infer<typeof issue>;

const note = z.object({ id: z.number(), body: text, author: person, created_at: text, system: flag });

const user = z.object({ username: z.string() });

function briefOf(found: Issue) {
  return {
    ...pick(found, "number:iid title state author:author?.username"),
    assignees: found.assignees?.flatMap((one) => (one?.username ? [one.username] : [])),
    labels: found.labels,
    comments: found.user_notes_count,
    confidential: found.confidential || undefined,
    ...pick(found, "created_at updated_at closed_at"),
    url: found.web_url,
  };
}

/** Maximum number of pages to search for an issue that another run may have filed. */
const MOST_PAGES = 5;

/** Finds an issue by its marker among the token's own, because an untrusted author may copy a marker. */
async function findIssue(ask: Ask, marker: string): Promise<Issue | undefined> {
  for (let candidate = 1; candidate <= MOST_PAGES; candidate++) {
    const paged = { limit: 100, page: candidate };
    const query = { scope: "created_by_me", order_by: "created_at", sort: "desc", ...paging(paged) };
    const found = await ask({ path: ["issues"], query, answer: z.array(issue) });
    const known = found.find(({ description }) => description?.includes(marker));
    if (known || nextPage(found, paged) === undefined) return known;
  }
  return undefined;
}

function withMarker(written: string | undefined, marker: string): string {
  return written ? `${withoutActions(written)}\n\n${marker}` : marker;
}
