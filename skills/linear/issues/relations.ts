import { resultSchema, textLike, WRITE_ONCE } from "skillflow/internal";
import * as z from "zod";
import { type Linear, linearTool } from "../client.ts";
import { issue } from "../fields.ts";
import { aboutIssues } from "../filters.ts";
import { createOnce, identityOf, requireSaved } from "../identity.ts";

export const relationTools = [
  linearTool({
    name: "relate_issues",
    description:
      "Relates two issues, or marks one as a duplicate of the other, which closes it. For a sub-issue, set `parent` instead.",
    ...WRITE_ONCE,
    targets: [],
    input_schema: z.strictObject({
      issue,
      is: z.enum(["related", "blocks", "blocked_by", "duplicate_of"]).describe("Relation of `issue` to `other`."),
      other: issue,
    }),
    output_schema: resultSchema("id", "id issue is other existing:flag"),
    work: (linear, input, context) =>
      aboutIssues(linear, [input.issue, input.other], async () => {
        const { type, from, to } = directed(input);
        const relation = { id: identityOf(context, input), issueId: from, relatedIssueId: to, type };
        const made = await createOnce(
          () => findRelation(linear, { type, from, to }),
          () => createRelation(linear, relation),
        );
        return { ...made, issue: input.issue, is: input.is, other: input.other };
      }),
  }),
  linearTool({
    name: "attach_link",
    description: "Attaches a link to an issue, such as the run or report that it is based on.",
    ...WRITE_ONCE,
    targets: [],
    input_schema: z.strictObject({
      issue,
      url: textLike(/^https?:\/\/[^\s<>"]+$/, 1000),
      title: z.string().min(1).max(200),
      subtitle: z.string().min(1).max(300).optional(),
    }),
    output_schema: resultSchema("id url", "id url title existing:flag"),
    work: (linear, input, context) =>
      aboutIssues(linear, [input.issue], () => {
        const { issue: issueId, ...link } = input;
        return createOnce(
          () => findLink(linear, issueId, link.url),
          () => createLink(linear, { id: identityOf(context, input), issueId, ...link }),
        );
      }),
  }),
];

interface Direction {
  readonly type: "related" | "blocks" | "duplicate";
  readonly from: string;
  readonly to: string;
}

/** Converts a relation to Linear's direction: "blocked by" is stored as "blocks" on the other issue. */
function directed({ issue, is, other }: Readonly<Record<"issue" | "is" | "other", string>>): Direction {
  if (issue.toLowerCase() === other.toLowerCase()) throw new Error("Give two different issues.");
  if (is === "blocked_by") return { type: "blocks", from: other, to: issue };
  return { type: is === "duplicate_of" ? "duplicate" : is === "blocks" ? "blocks" : "related", from: issue, to: other };
}

const RELATED = `query Relations($from: String!, $to: String!) {
  from: issue(id: $from) {
    id relations(first: 100) { nodes { id type relatedIssue { id } } }
    inverseRelations(first: 100) { nodes { id type issue { id } } }
  }
  to: issue(id: $to) { id }
}`;
const CREATE_RELATION = `mutation CreateRelation($input: IssueRelationCreateInput!) {
  result: issueRelationCreate(input: $input) { success issueRelation { id } }
}`;
const LINKS = `query Links($id: String!, $url: String!) {
  issue(id: $id) { attachments(first: 1, filter: { url: { eq: $url } }) { nodes { id url title } } }
}`;
const CREATE_LINK = `mutation CreateLink($input: AttachmentCreateInput!) {
  result: attachmentCreate(input: $input) { success attachment { id url title } }
}`;

interface Related {
  readonly from: {
    readonly relations: { readonly nodes: readonly { id: string; type: string; relatedIssue: { id: string } }[] };
    readonly inverseRelations: { readonly nodes: readonly { id: string; type: string; issue: { id: string } }[] };
  };
  readonly to: { readonly id: string };
}

async function findRelation(linear: Linear, { type, from, to }: Direction) {
  const { from: source, to: target } = await linear.ask<Related>(RELATED, { from, to });
  const own = source.relations.nodes.find((one) => one.type === type && one.relatedIssue.id === target.id);
  // "Related" applies in both directions.
  const inverse = source.inverseRelations.nodes.find((one) => one.type === type && one.issue.id === target.id);
  const found = own ?? (type === "related" ? inverse : undefined);
  return found && { id: found.id };
}

async function createRelation(linear: Linear, input: object) {
  const { result } = await linear.ask<{ result: { success: boolean; issueRelation: { id: string } } }>(
    CREATE_RELATION,
    { input },
  );
  requireSaved(result.success, "relation");
  return { id: result.issueRelation.id };
}

interface Link {
  readonly id: string;
  readonly url: string;
  readonly title: string;
}

async function findLink(linear: Linear, id: string, url: string) {
  const { issue: found } = await linear.ask<{ issue: { attachments: { nodes: readonly Link[] } } }>(LINKS, { id, url });
  return found.attachments.nodes[0];
}

async function createLink(linear: Linear, input: object) {
  const { result } = await linear.ask<{ result: { success: boolean; attachment: Link } }>(CREATE_LINK, { input });
  requireSaved(result.success, "link");
  return result.attachment;
}
