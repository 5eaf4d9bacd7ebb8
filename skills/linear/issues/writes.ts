import type { LinearDocument } from "@linear/sdk";
import { resultSchema, WRITE_ONCE } from "skillflow/internal";
import * as z from "zod";
import { type Linear, linearTool } from "../client.ts";
import { findDestination, type Wanted } from "../destination.ts";
import * as fields from "../fields.ts";
import { aboutIssues } from "../filters.ts";
import { createOnce, identityOf } from "../identity.ts";
import { BRIEF, briefOf, ISSUE, type Issue } from "./issue.ts";

export const issueWriteTools = [
  linearTool({
    name: "create_issue",
    description: "Creates an issue. Search for an existing one first.",
    ...WRITE_ONCE,
    targets: ["team"],
    input_schema: z.strictObject({
      team: fields.name.optional().describe("Default: the configured one."),
      title: fields.title,
      body: fields.body.optional(),
      state: fields.name.optional(),
      priority: fields.priority.optional(),
      labels: fields.labels.optional(),
      project: fields.name.optional(),
      assignee: fields.assignee.optional(),
      parent: fields.issue.optional().describe("The parent issue."),
    }),
    output_schema: resultSchema("id identifier", `${ISSUE} existing:flag`),
    work: (linear, input, context) => {
      const id = identityOf(context, input);
      const make = async () => {
        const team = input.team ?? context.config["LINEAR_TEAM"];
        const { labelIds, ...place } = await findDestination(linear, { ...input, team });
        const labels = input.labels ? { labelIds: [...labelIds.values()] } : {};
        return create(linear, { id, ...textOf(input), ...place, ...labels });
      };
      return createOnce(
        () => findById(linear, id),
        () => aboutIssues(linear, [input.parent], make),
      );
    },
  }),
  linearTool({
    name: "update_issue",
    description: "Changes only the given fields of an issue.",
    ...WRITE_ONCE,
    targets: ["team"],
    input_schema: z.strictObject({
      issue: fields.issue,
      title: fields.title.optional(),
      body: fields.body.optional(),
      team: fields.name.optional().describe("Moves the issue there."),
      state: fields.name.optional(),
      priority: fields.priority.optional(),
      labels: fields.labels.optional().describe("Replaces all."),
      add_labels: fields.labels.optional(),
      remove_labels: fields.labels.optional(),
      project: fields.name.optional(),
      assignee: fields.assignee.optional().describe("E-mail address, display name, `me`, id or `none`."),
      parent: fields.parent.optional().describe("The parent issue, or `none`."),
    }),
    output_schema: resultSchema("id identifier", ISSUE),
    work: (linear, input) => {
      const { issue: id, ...changes } = input;
      if (Object.keys(changes).length === 0) throw new Error("Give at least one field to change.");
      if (changes.labels && (changes.add_labels || changes.remove_labels)) {
        throw new Error("Give either `labels`, which replaces all, or `add_labels` and `remove_labels`.");
      }
      const parent = changes.parent === "none" ? undefined : changes.parent;
      return aboutIssues(linear, [id, parent], async () =>
        update(linear, id, { ...textOf(changes), ...(await placeOf(linear, id, changes)) }),
      );
    },
  }),
];

interface Text {
  readonly title?: string | undefined;
  readonly body?: string | undefined;
  readonly priority?: Parameters<typeof fields.priorityNumber>[0] | undefined;
  readonly parent?: string | undefined;
}

/** Returns the changes that need no lookup, with Linear's field names. */
function textOf({ title, body, priority, parent }: Text) {
  return {
    ...(title === undefined ? {} : { title }),
    ...(body === undefined ? {} : { description: body }),
    ...(parent === undefined ? {} : { parentId: parent === "none" ? null : parent }),
    ...(priority === undefined ? {} : { priority: fields.priorityNumber(priority) }),
  };
}

const FIND = `query FindIssue($id: ID!) {
  issues(filter: { id: { eq: $id } }, first: 1, includeArchived: true) { nodes { ${BRIEF} } }
}`;
const CREATE = `mutation CreateIssue($input: IssueCreateInput!) {
  result: issueCreate(input: $input) { success issue { ${BRIEF} } }
}`;
const UPDATE = `mutation UpdateIssue($id: String!, $input: IssueUpdateInput!) {
  result: issueUpdate(id: $id, input: $input) { success issue { ${BRIEF} } }
}`;
const TEAM = "query IssueTeam($id: String!) { issue(id: $id) { team { id } } }";

interface Written {
  readonly result: { readonly success: boolean; readonly issue: Issue | null };
}

async function findById(linear: Linear, id: string) {
  const { issues } = await linear.ask<{ issues: { nodes: readonly Issue[] } }>(FIND, { id });
  return issues.nodes[0] && briefOf(issues.nodes[0]);
}

async function create(linear: Linear, input: LinearDocument.IssueCreateInput) {
  return writtenOf(await linear.ask<Written>(CREATE, { input }));
}

async function update(linear: Linear, id: string, input: LinearDocument.IssueUpdateInput) {
  return writtenOf(await linear.ask<Written>(UPDATE, { id, input }));
}

function writtenOf({ result }: Written) {
  if (!result.success || !result.issue)
    throw new Error("Linear reports that it did not save the issue. Check before you repeat the call.");
  return briefOf(result.issue);
}

interface Changes extends Wanted {
  readonly add_labels?: readonly string[] | undefined;
  readonly remove_labels?: readonly string[] | undefined;
}

/** Returns the changes that refer to names. Sends no request if there are none. */
async function placeOf(linear: Linear, id: string, changes: Changes): Promise<LinearDocument.IssueUpdateInput> {
  const { labels, add_labels: added = [], remove_labels: removed = [], state, project } = changes;
  const unassigned = changes.assignee === "none" ? { assigneeId: null } : {};
  const assignee = changes.assignee === "none" ? undefined : changes.assignee;
  const names = [...(labels ?? []), ...added, ...removed];
  const isNamed = [changes.team, state, project, assignee].some((name) => name !== undefined) || names.length > 0;
  if (!isNamed) return { ...unassigned, ...(labels ? { labelIds: [] } : {}) };
  const team = changes.team ?? (await linear.ask<{ issue: { team: { id: string } } }>(TEAM, { id })).issue.team.id;
  const found = await findDestination(linear, { team, state, labels: names, project, assignee });
  const { labelIds, teamId, ...place } = found;
  const ids = (wanted: readonly string[]) => wanted.flatMap((name) => labelIds.get(name) ?? []);
  return {
    ...place,
    ...unassigned,
    ...(changes.team ? { teamId } : {}),
    ...(labels ? { labelIds: ids(labels) } : {}),
    ...(added.length > 0 ? { addedLabelIds: ids(added) } : {}),
    ...(removed.length > 0 ? { removedLabelIds: ids(removed) } : {}),
  };
}
