import { pick, resultSchema, SNAPSHOT, textLike, WRITE_ONCE } from "skillflow/internal";
import * as z from "zod";
import { type Linear, linearTool } from "../client.ts";
import { body, issue, nextCursor, type Page, paged, pageSchema, paging } from "../fields.ts";
import { aboutIssues } from "../filters.ts";
import { createOnce, identityOf, requireSaved } from "../identity.ts";

export const commentTools = [
  linearTool({
    name: "list_comments",
    description: "Reads the comments of an issue, newest first. `parent_id` is the comment that a reply belongs to.",
    ...SNAPSHOT,
    input_schema: z.strictObject({ issue, ...paged }),
    output_schema: pageSchema("comments", "id author created_at edited_at resolved_at parent_id url body"),
    work: (linear, input) =>
      aboutIssues(linear, [input.issue], async () => {
        const variables = { id: input.issue, ...paging(input) };
        const { issue: found } = await linear.ask<{ issue: { comments: Page<Comment> } }>(LIST, variables);
        return { comments: found.comments.nodes.map(commentOf), next_cursor: nextCursor(found.comments) };
      }),
  }),
  linearTool({
    name: "add_comment",
    description: "Comments on an issue, or replies to a comment.",
    ...WRITE_ONCE,
    targets: [],
    input_schema: z.strictObject({
      issue,
      body: body.min(1),
      parent_id: textLike(/^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/, 36)
        .optional()
        .describe("The comment to reply to, from list_comments."),
    }),
    output_schema: resultSchema("id", "id url created_at existing:flag"),
    work: (linear, input, context) =>
      aboutIssues(linear, [input.issue], () => {
        const id = identityOf(context, input);
        const { issue: issueId, body: text, parent_id: parentId } = input;
        const comment = { id, issueId, body: text, ...(parentId ? { parentId } : {}) };
        return createOnce(
          () => findComment(linear, id),
          () => createComment(linear, comment),
        );
      }),
  }),
];

const COMMENT = `id body url createdAt editedAt resolvedAt parentId
  user { displayName } botActor { name } externalUser { displayName }`;

const LIST = `query Comments($id: String!, $first: Int, $after: String) {
  issue(id: $id) { comments(first: $first, after: $after) { nodes { ${COMMENT} } pageInfo { hasNextPage endCursor } } }
}`;
const FIND = `query FindComment($id: ID!) {
  comments(filter: { id: { eq: $id } }, first: 1, includeArchived: true) { nodes { id url createdAt } }
}`;
const CREATE = `mutation CreateComment($input: CommentCreateInput!) {
  result: commentCreate(input: $input) { success comment { id url createdAt } }
}`;

interface Comment {
  readonly id: string;
  readonly body: string;
  readonly url: string;
  readonly createdAt: string;
  readonly editedAt: string | null;
  readonly resolvedAt: string | null;
  readonly parentId: string | null;
  readonly user: { readonly displayName: string } | null;
  readonly botActor: { readonly name: string | null } | null;
  readonly externalUser: { readonly displayName: string } | null;
}

function commentOf(comment: Comment) {
  const { user, botActor, externalUser } = comment;
  return {
    id: comment.id,
    author: user?.displayName ?? botActor?.name ?? externalUser?.displayName,
    ...pick(comment, "created_at:createdAt edited_at:editedAt resolved_at:resolvedAt parent_id:parentId url body"),
  };
}

type Written = Pick<Comment, "id" | "url" | "createdAt">;

async function findComment(linear: Linear, id: string) {
  const { comments } = await linear.ask<{ comments: { nodes: readonly Written[] } }>(FIND, { id });
  return comments.nodes[0] && writtenOf(comments.nodes[0]);
}

async function createComment(linear: Linear, input: Readonly<Record<string, string>>) {
  const { result } = await linear.ask<{ result: { success: boolean; comment: Written } }>(CREATE, { input });
  requireSaved(result.success, "comment");
  return writtenOf(result.comment);
}

function writtenOf({ id, url, createdAt }: Written) {
  return { id, url, created_at: createdAt };
}
