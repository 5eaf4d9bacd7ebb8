import type { LinearDocument } from "@linear/sdk";
import { NothingDone } from "skillflow";
import type { Linear } from "./client.ts";
import { isMissingIssue } from "./failure.ts";
import { isId } from "./fields.ts";
import { type Kind, refuseName } from "./names.ts";

type Narrowing = Partial<
  Readonly<Record<"team" | "state" | "label" | "project" | "assignee" | `${"created" | "updated"}_after`, string>>
> & { readonly status?: "open" | "closed" };

const CLOSED = ["completed", "canceled", "duplicate"];

export function issueFilter(input: Narrowing): LinearDocument.IssueFilter {
  const type = input.status && { type: input.status === "open" ? { nin: CLOSED } : { in: CLOSED } };
  const state = { ...(input.state ? nameFilter(input.state) : {}), ...type };
  return {
    ...(input.team ? { team: teamFilter(input.team) } : {}),
    ...(Object.keys(state).length > 0 ? { state } : {}),
    ...(input.label ? { labels: { some: nameFilter(input.label) } } : {}),
    ...(input.project ? { project: nameFilter(input.project) } : {}),
    ...(input.assignee ? { assignee: userFilter(input.assignee) } : {}),
    ...(input.created_after ? { createdAt: { gte: input.created_after } } : {}),
    ...(input.updated_after ? { updatedAt: { gte: input.updated_after } } : {}),
  };
}

export function teamFilter(team: string): LinearDocument.TeamFilter {
  if (isId(team)) return { id: { eq: team } };
  return { or: [{ key: { eqIgnoreCase: team } }, { name: { eqIgnoreCase: team } }] };
}

/** Returns a filter for the labels that a team's issues can have: its own and the workspace's. */
export function usableLabels(team: string): LinearDocument.IssueLabelFilter {
  return { or: [{ team: { null: true } }, { team: teamFilter(team) }] };
}

/** Returns a filter by id or name, for states, labels and projects. */
export function nameFilter(name: string) {
  return isId(name) ? { id: { eq: name } } : { name: { eqIgnoreCase: name } };
}

export function userFilter(user: string): LinearDocument.UserFilter {
  if (user === "me") return { isMe: { eq: true } };
  if (isId(user)) return { id: { eq: user } };
  const named = { eqIgnoreCase: user };
  return { or: [{ email: named }, { displayName: named }, { name: named }] };
}

const NAMED = `query Named(
  $team: TeamFilter, $state: WorkflowStateFilter, $label: IssueLabelFilter, $project: ProjectFilter, $user: UserFilter
) {
  team: teams(first: 1, filter: $team) { nodes { id } }
  state: workflowStates(first: 1, filter: $state) { nodes { id } }
  label: issueLabels(first: 1, filter: $label) { nodes { id } }
  project: projects(first: 1, filter: $project) { nodes { id } }
  user: users(first: 1, filter: $user) { nodes { id } }
}`;

/** Throws if a name does not exist, because Linear would return no results without an error. */
export async function checkNames(linear: Linear, input: Narrowing): Promise<void> {
  const { team, state, label, project, assignee: user } = input;
  const wanted = Object.entries({ team, state, label, project, user }).filter(([, name]) => name && name !== "me");
  if (wanted.length === 0) return;
  const found = await linear.ask<Readonly<Record<Kind, { nodes: readonly unknown[] }>>>(NAMED, {
    ...(team ? { team: teamFilter(team) } : {}),
    ...(state ? { state: nameFilter(state) } : {}),
    ...(label ? { label: nameFilter(label) } : {}),
    ...(project ? { project: nameFilter(project) } : {}),
    ...(user ? { user: userFilter(user) } : {}),
  });
  for (const [kind, name = ""] of wanted as [Kind, string][]) {
    if (found[kind].nodes.length === 0) await refuseName(linear, kind, name);
  }
}

/** Runs work on issues. If one is not found, explains which one, and whether its number or its team is wrong. */
export async function aboutIssues<Result>(
  linear: Linear,
  issues: readonly (string | undefined)[],
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const issue = isMissingIssue(error) ? await missingOf(linear, issues) : undefined;
    if (issue === undefined) throw error;
    throw new NothingDone(await explainMissing(linear, issue));
  }
}

/** Returns the first issue that Linear does not find. */
async function missingOf(linear: Linear, issues: readonly (string | undefined)[]): Promise<string | undefined> {
  const named = issues.filter((issue) => issue !== undefined);
  for (const issue of named.slice(0, -1)) {
    try {
      await linear.ask("query VisibleIssue($id: String!) { issue(id: $id) { id } }", { id: issue });
    } catch (error) {
      if (isMissingIssue(error)) return issue;
      throw error;
    }
  }
  return named.at(-1);
}

async function explainMissing(linear: Linear, issue: string): Promise<string> {
  if (isId(issue))
    return `No issue with the id ${issue} is visible. The id is wrong, or LINEAR_API_KEY cannot see its team.`;
  const key = issue.split("-")[0] ?? "";
  const { teams } = await linear.ask<Teams>(VISIBLE_TEAMS, { team: teamFilter(key) });
  return teams.nodes.length > 0
    ? `The team ${key} exists, but ${issue} does not. Check the number, or search for the issue.`
    : `No team ${key} is visible. The key in ${issue} is wrong, or LINEAR_API_KEY cannot see that team.`;
}

interface Teams {
  readonly teams: { readonly nodes: readonly unknown[] };
}

const VISIBLE_TEAMS = "query VisibleTeams($team: TeamFilter) { teams(filter: $team, first: 1) { nodes { id } } }";
