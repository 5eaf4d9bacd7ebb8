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
    handler: (input, context) => list(context, input, { name: "Teams", filter: named(input) }),
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
      return list(context, input, { name: "Labels", filter: { ...named(input), ...usable } });
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
      return list(context, input, { name: "States", filter: { ...named(input), ...own } });
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
      return list(context, input, { name: "Projects", filter: { ...named(input), ...own } });
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
      return list(context, { limit: input.limit, cursor: input.cursor }, { name: "Users", filter });
    },
  }),
];

/** Lists of the workspace, by the name of their query: the field, the type of its filter, and the fields of a node. */
const LISTS = {
  Teams: ["teams", "TeamFilter", "id key name description"],
  Labels: ["issueLabels", "IssueLabelFilter", "id name description is_group: isGroup parent { name } team { key }"],
  States: ["workflowStates", "WorkflowStateFilter", "id name type description team { key }"],
  Projects: [
    "projects",
    "ProjectFilter",
    `id name description url progress health status { name type } lead { name: displayName }
      start_date: startDate target_date: targetDate updated_at: updatedAt teams(first: 5) { nodes { key } }`,
  ],
  Users: [
    "users",
    "UserFilter",
    "id name display_name: displayName email title timezone status: statusLabel is_me: isMe",
  ],
} as const;

function queryOf(name: keyof typeof LISTS): string {
  const [field, type, node] = LISTS[name];
  return `query ${name}($filter: ${type}, $first: Int, $after: String) {
    list: ${field}(filter: $filter, first: $first, after: $after) {
      nodes { ${node} } pageInfo { hasNextPage endCursor }
    }
  }`;
}

interface Input {
  readonly team?: string | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

function list(context: ToolContext, input: Input, of: { readonly name: keyof typeof LISTS; readonly filter: object }) {
  return withLinear(context, async (linear) => {
    const variables = { filter: of.filter, ...paging(input) };
    const { list: page } = await linear.ask<{ list: Page<object> }>(queryOf(of.name), variables);
    if (page.nodes.length === 0 && input.team) await checkNames(linear, { team: input.team });
    return { [of.name.toLowerCase()]: page.nodes.map(flat), next_cursor: nextCursor(page) };
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
