import { defineTool, type ToolContext } from "skillflow";
import { SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { withLinear } from "./client.ts";
import * as fields from "./fields.ts";
import { nextCursor, type Page, paged, pageSchema, paging } from "./fields.ts";
import { checkNames, teamFilter, usableLabels } from "./filters.ts";

const team = fields.name.optional();
const name = z.string().min(1).max(200).optional().describe("Text in the name.");

export const workspaceTools = [
  defineTool({
    name: "list_teams",
    description: "Lists the teams that the key can see, with their keys.",
    ...SNAPSHOT,
    selects: ["name"],
    input_schema: z.strictObject({ name, ...paged }),
    output_schema: pageSchema("teams", "id key name description"),
    handler: (input, context) => list(context, input, { query: TEAMS, list: "teams", filter: named(input) }),
  }),
  defineTool({
    name: "list_labels",
    description: "Lists issue labels of the workspace and the teams. A label group is not a label.",
    ...SNAPSHOT,
    selects: ["team", "name"],
    input_schema: z.strictObject({ team, name, ...paged }),
    output_schema: pageSchema("labels", "id name description is_group:flag parent team"),
    handler: (input, context) => {
      const usable = input.team ? usableLabels(input.team) : {};
      return list(context, input, { query: LABELS, list: "labels", filter: { ...named(input), ...usable } });
    },
  }),
  defineTool({
    name: "list_states",
    description: "Lists workflow states. Each team has its own.",
    ...SNAPSHOT,
    selects: ["team", "name"],
    input_schema: z.strictObject({ team, name, ...paged }),
    output_schema: pageSchema("states", "id name type description team"),
    handler: (input, context) => {
      const own = input.team ? { team: teamFilter(input.team) } : {};
      return list(context, input, { query: STATES, list: "states", filter: { ...named(input), ...own } });
    },
  }),
  defineTool({
    name: "list_projects",
    description: "Lists projects with their status, lead and dates.",
    ...SNAPSHOT,
    selects: ["team", "name"],
    input_schema: z.strictObject({ team, name, ...paged }),
    output_schema: pageSchema(
      "projects",
      `id name description url progress:number health status:{ name type } lead start_date target_date updated_at
        teams:[text]`,
    ),
    handler: (input, context) => {
      const own = input.team ? { accessibleTeams: { some: teamFilter(input.team) } } : {};
      return list(context, input, { query: PROJECTS, list: "projects", filter: { ...named(input), ...own } });
    },
  }),
  defineTool({
    name: "list_users",
    description: "Lists active people: names, e-mail addresses, time zones.",
    ...SNAPSHOT,
    selects: ["name"],
    input_schema: z.strictObject({ name, ...paged }),
    output_schema: pageSchema("users", "id name display_name email title timezone status is_me:flag"),
    handler: (input, context) => {
      const called = input.name
        ? [{ name: { containsIgnoreCase: input.name } }, { displayName: { containsIgnoreCase: input.name } }]
        : [];
      const filter = { active: { eq: true }, ...(called.length > 0 ? { or: called } : {}) };
      return list(context, { limit: input.limit, cursor: input.cursor }, { query: USERS, list: "users", filter });
    },
  }),
];

const PAGE = "pageInfo { hasNextPage endCursor }";

const TEAMS = `query Teams($filter: TeamFilter, $first: Int, $after: String) {
  list: teams(filter: $filter, first: $first, after: $after) { nodes { id key name description } ${PAGE} }
}`;
const LABELS = `query Labels($filter: IssueLabelFilter, $first: Int, $after: String) {
  list: issueLabels(filter: $filter, first: $first, after: $after) {
    nodes { id name description is_group: isGroup parent { name } team { key } }
    ${PAGE}
  }
}`;
const STATES = `query States($filter: WorkflowStateFilter, $first: Int, $after: String) {
  list: workflowStates(filter: $filter, first: $first, after: $after) {
    nodes { id name type description team { key } }
    ${PAGE}
  }
}`;
const PROJECTS = `query Projects($filter: ProjectFilter, $first: Int, $after: String) {
  list: projects(filter: $filter, first: $first, after: $after) {
    nodes {
      id name description url progress health status { name type } lead { name: displayName }
      start_date: startDate target_date: targetDate updated_at: updatedAt teams(first: 5) { nodes { key } }
    }
    ${PAGE}
  }
}`;

const USERS = `query Users($filter: UserFilter, $first: Int, $after: String) {
  list: users(filter: $filter, first: $first, after: $after) {
    nodes { id name display_name: displayName email title timezone status: statusLabel is_me: isMe }
    ${PAGE}
  }
}`;

interface Listing {
  readonly query: string;
  readonly list: string;
  readonly filter: object;
}

interface Input {
  readonly team?: string | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

function list(context: ToolContext, input: Input, { query, list: kind, filter }: Listing) {
  return withLinear(context, async (linear) => {
    const { list: page } = await linear.ask<{ list: Page<object> }>(query, { filter, ...paging(input) });
    if (page.nodes.length === 0 && input.team) await checkNames(linear, { team: input.team });
    return { [kind]: page.nodes.map(flat), next_cursor: nextCursor(page) };
  });
}

function named(input: { readonly name?: string | undefined }) {
  return input.name ? { name: { containsIgnoreCase: input.name } } : {};
}

/** Replaces an object that has only a name with that name: `{team: {key: "ENG"}}` becomes `{team: "ENG"}`. */
function flat(node: object): object {
  const members = Object.entries(node).map(([key, value]) => [key, flatValue(value)] as const);
  return Object.fromEntries(members);
}

function flatValue(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if ("nodes" in value && Array.isArray(value.nodes)) return value.nodes.map(flatValue);
  const members = Object.values(value);
  return members.length === 1 ? members[0] : value;
}
