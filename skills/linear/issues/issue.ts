import { pick } from "skillflow/internal";
import type { Page } from "../fields.ts";

/** Fields of an issue: those requested from Linear and those returned to the model. */

export const ISSUE =
  "id identifier title state state_type priority team project assignee labels:[text] created_at updated_at url";

const LINKED = "identifier title state";

export const ISSUE_DETAILS = `${ISSUE} creator due_date estimate:number completed_at canceled_at branch parent:{ identifier title } sub_issues:[{
  ${LINKED} }] relations:[{ type ${LINKED} }] links:[{ title subtitle url source }] incomplete body`;

export const BRIEF = `id identifier title url priorityLabel createdAt updatedAt
  state { name type } team { key name } assignee { displayName } project { name } labels(first: 10) { nodes { name } }`;

const MORE = "pageInfo { hasNextPage }";

export const DETAILS = `${BRIEF} description dueDate estimate completedAt canceledAt creator { displayName } branchName
  parent { identifier title }
  children(first: 50) { nodes { identifier title state { name } } ${MORE} }
  relations(first: 50) { nodes { type relatedIssue { identifier title state { name } } } ${MORE} }
  inverseRelations(first: 50) { nodes { type issue { identifier title state { name } } } ${MORE} }
  attachments(first: 50) { nodes { title subtitle url sourceType } ${MORE} }`;

interface Person {
  readonly displayName: string;
}

interface Linked {
  readonly identifier: string;
  readonly title: string;
  readonly state: { readonly name: string };
}

export interface Issue {
  readonly id: string;
  readonly identifier: string;
  readonly title: string;
  readonly url: string;
  readonly priorityLabel: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly state: { readonly name: string; readonly type: string };
  readonly team: { readonly key: string; readonly name: string };
  readonly assignee: Person | null;
  readonly project: { readonly name: string } | null;
  readonly labels: Pick<Page<{ readonly name: string }>, "nodes">;
  readonly description?: string | null;
}

export interface IssueDetails extends Issue {
  readonly dueDate: string | null;
  readonly estimate: number | null;
  readonly completedAt: string | null;
  readonly canceledAt: string | null;
  readonly creator: Person | null;
  readonly branchName: string;
  readonly parent: { readonly identifier: string; readonly title: string } | null;
  readonly children: Page<Linked>;
  readonly relations: Page<{ readonly type: string; readonly relatedIssue: Linked }>;
  readonly inverseRelations: Page<{ readonly type: string; readonly issue: Linked }>;
  readonly attachments: Page<{ title: string; subtitle: string | null; url: string; sourceType: string | null }>;
}

export function briefOf(issue: Issue) {
  return {
    ...pick(issue, "id identifier title state:state.name state_type:state.type priority:priorityLabel"),
    team: `${issue.team.name} (${issue.team.key})`,
    project: issue.project?.name,
    assignee: issue.assignee?.displayName,
    labels: issue.labels.nodes.map(({ name }) => name),
    ...pick(issue, "created_at:createdAt updated_at:updatedAt url"),
  };
}

export function detailsOf(issue: IssueDetails) {
  const { children, attachments } = issue;
  const isCut = [children, issue.relations, issue.inverseRelations, attachments].some(
    (one) => one.pageInfo.hasNextPage,
  );
  const relations = issue.relations.nodes.map(({ type, relatedIssue }) => ({ type, ...linkOf(relatedIssue) }));
  const inverse = issue.inverseRelations.nodes.map(({ type, issue }) => ({
    type: `inverse of ${type}`,
    ...linkOf(issue),
  }));
  return {
    ...briefOf(issue),
    ...pick(issue, "creator:creator?.displayName due_date:dueDate estimate completed_at:completedAt"),
    ...pick(issue, "canceled_at:canceledAt branch:branchName parent"),
    sub_issues: children.nodes.map(linkOf),
    relations: [...relations, ...inverse],
    links: attachments.nodes.map(({ title, subtitle, url, sourceType }) => ({
      title,
      subtitle,
      url,
      source: sourceType,
    })),
    incomplete: isCut ? "There are more sub-issues, relations or links than these." : undefined,
    body: issue.description,
  };
}

function linkOf({ identifier, title, state }: Linked) {
  return { identifier, title, state: state.name };
}
