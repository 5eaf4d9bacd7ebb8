import { GraphQLError } from "graphql";

/** A small workspace with Linear's behavior: filters, pages, ids and identifiers, and Linear's own refusals. */

type Row = Record<string, unknown>;
type Filter = Readonly<Record<string, unknown>>;
interface Args {
  readonly filter?: Filter;
  readonly first?: number;
  readonly after?: string;
}

export const IDS = {
  ops: "aaaaaaaa-0000-4000-8000-000000000001",
  web: "aaaaaaaa-0000-4000-8000-000000000002",
  opsTodo: "bbbbbbbb-0000-4000-8000-000000000001",
  opsDone: "bbbbbbbb-0000-4000-8000-000000000002",
  webTodo: "bbbbbbbb-0000-4000-8000-000000000003",
  bug: "cccccccc-0000-4000-8000-000000000001",
  opsBug: "cccccccc-0000-4000-8000-000000000002",
  sev1: "cccccccc-0000-4000-8000-000000000003",
  group: "cccccccc-0000-4000-8000-000000000004",
  webOnly: "cccccccc-0000-4000-8000-000000000005",
  project: "dddddddd-0000-4000-8000-000000000001",
  ada: "eeeeeeee-0000-4000-8000-000000000001",
  bob: "eeeeeeee-0000-4000-8000-000000000002",
  issue: "ffffffff-0000-4000-8000-000000000001",
  comment: "ffffffff-1111-4000-8000-000000000001",
} as const;

const TIME = "2026-01-31T08:00:00.000Z";

export interface Workspace {
  readonly issues: Row[];
  readonly comments: Row[];
  readonly labels: Row[];
  /** The values of the schema's Query and Mutation fields. */
  readonly root: Readonly<Record<string, (args: never) => unknown>>;
}

const PERSON = { active: true, title: "SRE", timezone: "Europe/London", statusLabel: null };

export function createWorkspace(): Workspace {
  const teams: Row[] = [
    { id: IDS.ops, key: "OPS", name: "Operations", description: "Runs it." },
    { id: IDS.web, key: "WEB", name: "Web Shop", description: null },
  ];
  const [ops, web] = teams as [Row, Row];
  const states: Row[] = [
    { id: IDS.opsTodo, name: "Todo", type: "unstarted", description: null, team: ops },
    { id: IDS.opsDone, name: "Done", type: "completed", description: null, team: ops },
    { id: IDS.webTodo, name: "Todo", type: "unstarted", description: null, team: web },
  ];
  const labels: Row[] = [
    { id: IDS.bug, name: "Bug", team: null },
    { id: IDS.opsBug, name: "Bug", team: ops },
    { id: IDS.sev1, name: "sev1", team: null },
    { id: IDS.group, name: "Severity", team: null, isGroup: true },
    { id: IDS.webOnly, name: "Basket", team: web },
  ].map((label) => ({ isGroup: false, description: null, parent: null, ...label }));
  const users: Row[] = [
    { id: IDS.ada, name: "Ada L.", displayName: "ada", email: "ada@example.com", isMe: true, ...PERSON },
    { id: IDS.bob, name: "Bob B.", displayName: "bob", email: "bob@example.com", isMe: false, ...PERSON },
  ];
  const project = {
    id: IDS.project,
    name: "Checkout",
    description: "Pays.",
    url: "https://linear.app/p/1",
    progress: 0.5,
  };
  const status = { name: "In Progress", type: "started" };
  const dates = { startDate: "2026-01-01", targetDate: null, updatedAt: TIME };
  const projects: Row[] = [
    {
      ...project,
      ...dates,
      status,
      health: "onTrack",
      lead: users[0],
      accessibleTeams: [ops],
      teams: () => connection([ops], {}),
    },
  ];
  const comments: Row[] = [];
  const issues: Row[] = [];
  const related: Row[] = [];
  const links: Row[] = [];
  const relatedTo = (side: string, id: unknown) => related.filter((one) => (one[side] as Row)["id"] === id);

  for (const team of teams)
    team["states"] = (args: Args) =>
      connection(
        states.filter((state) => state["team"] === team),
        args,
      );

  const issueOf = (fields: Row): Row => {
    const own = () => comments.filter((comment) => comment["issueId"] === fields["id"]);
    const nothing = () => connection([], {});
    const relations = {
      children: nothing,
      relations: (args: Args) => connection(relatedTo("issue", fields["id"]), args),
      inverseRelations: (args: Args) => connection(relatedTo("relatedIssue", fields["id"]), args),
      attachments: (args: Args) =>
        connection(
          links.filter((link) => link["issueId"] === fields["id"]),
          args,
        ),
      parent: null,
    };
    const person = { creator: users[0], assignee: null, project: null };
    const dates = {
      dueDate: null,
      estimate: null,
      completedAt: null,
      canceledAt: null,
      createdAt: TIME,
      updatedAt: TIME,
    };
    const issue: Row = {
      ...relations,
      ...person,
      ...dates,
      priorityLabel: "High",
      description: null,
      labelList: [],
      ...fields,
    };
    issue["labels"] = (args: Args) => connection(issue["labelList"] as Row[], args);
    issue["comments"] = (args: Args) => connection(own(), args);
    return issue;
  };
  const place = (number: number, team: Row) => {
    const identifier = `${team["key"]}-${number}`;
    return {
      number,
      identifier,
      url: `https://linear.app/acme/issue/${identifier}`,
      branchName: `ada/${identifier}`,
      team,
    };
  };
  issues.push(
    issueOf({
      id: IDS.issue,
      title: "Checkout 5xx",
      description: "Since 08:00.",
      state: states[0],
      labelList: [labels[2]],
      ...place(7, ops),
    }),
    issueOf({ id: IDS.issue.replace("ffff", "fffe"), title: "Checkout slow", state: states[1], ...place(8, ops) }),
    issueOf({ id: IDS.issue.replace("ffff", "fffd"), title: "Basket empty", state: states[2], ...place(1, web) }),
  );
  const comment = { body: "Seen again.", issueId: IDS.issue, user: users[1], botActor: null, externalUser: null };
  const moments = { createdAt: TIME, editedAt: null, resolvedAt: null, parentId: null, url: "https://linear.app/c/1" };
  comments.push({ id: IDS.comment, ...comment, ...moments });

  const findIssue = (id: unknown) =>
    found(
      "Issue",
      issues.find((issue) => issue["id"] === id || issue["identifier"] === id),
    );
  const byId = (kind: string, rows: readonly Row[], id: unknown) =>
    found(
      kind,
      rows.find((row) => row["id"] === id),
    );
  const changesOf = (input: Row, issue?: Row): Row => {
    const {
      parentId,
      stateId,
      teamId,
      projectId,
      assigneeId,
      labelIds,
      addedLabelIds = [],
      removedLabelIds = [],
      ...plain
    } = input;
    const team = teamId === undefined ? issue?.["team"] : byId("Team", teams, teamId);
    const state =
      stateId === undefined
        ? (issue?.["state"] ?? states.find((state) => state["team"] === team))
        : byId("WorkflowState", states, stateId);
    if ((state as Row)["team"] !== team) throw refusal("The state is not one of the team's.");
    const kept = labelIds ?? ((issue?.["labelList"] ?? []) as Row[]).map((label) => label["id"]);
    const ids = [...(kept as unknown[]), ...(addedLabelIds as unknown[])].filter(
      (id) => !(removedLabelIds as unknown[]).includes(id),
    );
    const people = assigneeId === undefined ? {} : { assignee: assigneeId && byId("User", users, assigneeId) };
    const projected = projectId === undefined ? {} : { project: byId("Project", projects, projectId) };
    return {
      ...plain,
      ...people,
      ...projected,
      ...(parentId === undefined ? {} : { parent: parentId && findIssue(parentId) }),
      team,
      state,
      labelList: ids.map((id) => byId("IssueLabel", labels, id)),
    };
  };
  const checkNew = (id: unknown, rows: readonly Row[]) => {
    if (!UUID_V4.test(String(id))) throw refusal("id must be a UUID");
    if (rows.some((row) => row["id"] === id)) throw refusal("An entity with this id exists.");
  };

  return {
    issues,
    comments,
    labels,
    root: {
      issue: ({ id }: { id: string }) => findIssue(id),
      issues: (args: Args) => connection(issues, args),
      searchIssues: ({ term, ...args }: Args & { term: string }) =>
        connection(
          issues.filter((issue) => `${issue["title"]} ${issue["description"]}`.includes(term)),
          args,
        ),
      comments: (args: Args) => connection(comments, args),
      teams: (args: Args) => connection(teams, args),
      workflowStates: (args: Args) => connection(states, args),
      issueLabels: (args: Args) => connection(labels, args),
      projects: (args: Args) => connection(projects, args),
      users: (args: Args) => connection(users, args),
      issueCreate: ({ input }: { input: Row }) => {
        checkNew(input["id"], issues);
        const changes = changesOf(input);
        const issue = issueOf({ ...place(issues.length + 10, changes["team"] as Row), ...changes });
        issues.unshift(issue);
        return { success: true, issue };
      },
      issueUpdate: ({ id, input }: { id: string; input: Row }) => {
        const issue = findIssue(id);
        return { success: true, issue: Object.assign(issue, changesOf(input, issue)) };
      },
      issueRelationCreate: ({ input }: { input: Row }) => {
        checkNew(input["id"], related);
        const sides = { issue: findIssue(input["issueId"]), relatedIssue: findIssue(input["relatedIssueId"]) };
        const issueRelation = { id: input["id"], type: input["type"], ...sides };
        related.push(issueRelation);
        return { success: true, issueRelation };
      },
      attachmentCreate: ({ input }: { input: Row }) => {
        const attachment = {
          subtitle: null,
          sourceType: "unknown",
          ...input,
          issueId: findIssue(input["issueId"])["id"],
        };
        links.push(attachment);
        return { success: true, attachment };
      },
      commentCreate: ({ input }: { input: Row }) => {
        checkNew(input["id"], comments);
        const issue = findIssue(input["issueId"]);
        if (input["parentId"]) byId("Comment", comments, input["parentId"]);
        const comment = { ...comments[0], parentId: null, ...input, issueId: issue["id"] };
        comments.unshift(comment);
        return { success: true, comment };
      },
    },
  };
}

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** A refusal in Linear's form. */
export function refusal(message: string, type = "invalid input"): GraphQLError {
  return new GraphQLError(message, { extensions: { type, code: "INPUT_ERROR", userError: true } });
}

function found(kind: string, row: Row | undefined): Row {
  if (row) return row;
  const extensions = {
    type: "invalid input",
    code: "INPUT_ERROR",
    userPresentableMessage: `Could not find referenced ${kind}.`,
  };
  throw new GraphQLError(`Entity not found: ${kind}`, { extensions });
}

function connection(rows: readonly Row[], { filter = {}, first = 50, after }: Args) {
  const fitting = rows.filter((row) => fits(row, filter));
  const start = after ? fitting.findIndex((row) => row["id"] === after) + 1 : 0;
  const nodes = fitting.slice(start, start + first);
  return { nodes, pageInfo: { hasNextPage: start + first < fitting.length, endCursor: nodes.at(-1)?.["id"] ?? null } };
}

function fits(value: unknown, filter: Filter): boolean {
  return Object.entries(filter).every(([key, wanted]) => {
    const filters = wanted as readonly Filter[];
    if (key === "or") return filters.length === 0 || filters.some((one) => fits(value, one));
    if (key === "and") return filters.every((one) => fits(value, one));
    if (key === "null") return (value === null) === wanted;
    if (key === "some") return (value as readonly unknown[]).some((item) => fits(item, wanted as Filter));
    if (key in COMPARE) return COMPARE[key]?.(value, wanted) ?? false;
    if (value === null || value === undefined) return false;
    if (key === "id") refuseOddId((wanted as { eq?: unknown }).eq);
    const member = (value as Row)[key === "labels" ? "labelList" : key];
    return fits(member, wanted as Filter);
  });
}

const COMPARE: Readonly<Record<string, (value: unknown, wanted: unknown) => boolean>> = {
  eq: (value, wanted) => value === wanted,
  eqIgnoreCase: (value, wanted) => String(value).toLowerCase() === String(wanted).toLowerCase(),
  containsIgnoreCase: (value, wanted) => String(value).toLowerCase().includes(String(wanted).toLowerCase()),
  in: (value, wanted) => (wanted as unknown[]).includes(value),
  nin: (value, wanted) => !(wanted as unknown[]).includes(value),
  gte: (value, wanted) => Date.parse(String(value)) >= Date.parse(String(wanted)),
};

function refuseOddId(id: unknown): void {
  if (!/^[0-9a-f-]{36}$/i.test(String(id))) throw refusal("Argument Validation Error: id must be a UUID");
}
