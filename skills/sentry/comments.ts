import { markerOf, resultSchema, WRITE_ONCE } from "skillflow/internal";
import * as z from "zod";
import { issue, organization } from "./fields.ts";
import { type Sentry, sentryTool } from "./service.ts";

export const commentTools = [
  sentryTool({
    name: "add_comment",
    description: "Comments on an issue.",
    ...WRITE_ONCE,
    targets: ["organization"],
    input_schema: z.strictObject({ organization, issue, text: z.string().min(1).max(20_000).describe("Markdown.") }),
    output_schema: resultSchema("id", "id created_at existing:flag"),
    work: async (sentry, input, context) => {
      const marker = markerOf(context, input);
      const earlier = await findComment(sentry, input.issue, marker);
      if (earlier) return { ...commentOf(earlier), existing: true };
      const body = { text: `${input.text}\n\n${marker}` };
      const path = ["issues", input.issue, "comments"];
      return commentOf(await sentry.send<Comment>("POST", path, { scope: "event:write", body }));
    },
  }),
];

interface Comment {
  readonly id: string;
  readonly dateCreated: string;
  readonly data?: { readonly text?: string } | null;
}

function commentOf({ id, dateCreated }: Comment) {
  return { id, created_at: dateCreated };
}

/** Finds a comment on the first page, which has the newest hundred. */
async function findComment(sentry: Sentry, issue: string, marker: string): Promise<Comment | undefined> {
  const query = { per_page: 100 };
  const { data } = await sentry.get<readonly Comment[]>(["issues", issue, "comments"], { scope: "event:read", query });
  return data.find((comment) => comment.data?.text?.includes(marker));
}
