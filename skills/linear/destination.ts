import type { Linear } from "./client.ts";
import { nameFilter, teamFilter, usableLabels, userFilter } from "./filters.ts";
import { type Named, pick, refuseName, unknownName } from "./names.ts";

export interface Wanted {
  /** Default: the only team that the key sees. */
  readonly team?: string | undefined;
  readonly state?: string | undefined;
  readonly labels?: readonly string[] | undefined;
  readonly project?: string | undefined;
  readonly assignee?: string | undefined;
}

/** Destination of an issue, by id only. */
export interface Destination {
  readonly teamId: string;
  readonly stateId?: string;
  readonly projectId?: string;
  readonly assigneeId?: string;
  /** Label ids by requested name. */
  readonly labelIds: ReadonlyMap<string, string>;
}

const DESTINATION = `query Destination(
  $team: TeamFilter, $labels: IssueLabelFilter, $projects: ProjectFilter, $users: UserFilter,
  $withLabels: Boolean!, $withProjects: Boolean!, $withUsers: Boolean!
) {
  teams(filter: $team, first: 5) { nodes { id name key states(first: 50) { nodes { id name } } } }
  labels: issueLabels(filter: $labels, first: 50) @include(if: $withLabels) { nodes { id name isGroup team { id } } }
  projects(filter: $projects, first: 10) @include(if: $withProjects) { nodes { id name } }
  users(filter: $users, first: 10) @include(if: $withUsers) { nodes { id name displayName email } }
}`;

interface Nodes<Node> {
  readonly nodes: readonly Node[];
}

interface Found {
  readonly teams: Nodes<Named & { readonly key: string; readonly states: Nodes<Named> }>;
  readonly labels?: Nodes<Label>;
  readonly projects?: Nodes<Named>;
  readonly users?: Nodes<Person>;
}

interface Label extends Named {
  readonly isGroup: boolean;
  readonly team?: { readonly id: string } | null;
}

interface Person extends Named {
  readonly displayName: string;
  readonly email: string;
}

/** Looks up all names in one request. Sends a second one only to list the names that exist. */
export async function findDestination(linear: Linear, wanted: Wanted): Promise<Destination> {
  const { labels = [], state, project, assignee } = wanted;
  const found = await linear.ask<Found>(DESTINATION, {
    team: wanted.team === undefined ? {} : teamFilter(wanted.team),
    // Without the team, labels of the same name in many other teams could fill the only page.
    labels: {
      and: [{ or: labels.map(nameFilter) }, ...(wanted.team === undefined ? [] : [usableLabels(wanted.team)])],
    },
    projects: project ? nameFilter(project) : {},
    users: assignee ? userFilter(assignee) : {},
    withLabels: labels.length > 0,
    withProjects: project !== undefined,
    withUsers: assignee !== undefined,
  });
  const teams = found.teams.nodes.map((team) => ({ ...team, aliases: [team.key] }));
  const team = wanted.team === undefined ? onlyTeam(teams) : pick("team", wanted.team, teams);
  if (!team) return refuseName(linear, "team", wanted.team ?? "");
  const usable = found.labels?.nodes.filter((label) => !label.isGroup && (!label.team || label.team.id === team.id));
  const { nodes: projects = [] } = found.projects ?? {};
  const { nodes: people = [] } = found.users ?? {};
  return {
    teamId: team.id,
    ...(state ? { stateId: pickState(state, team).id } : {}),
    ...(project
      ? { projectId: (pick("project", project, projects) ?? (await refuseName(linear, "project", project))).id }
      : {}),
    ...(assignee
      ? { assigneeId: (pickPerson(assignee, people) ?? (await refuseName(linear, "user", assignee))).id }
      : {}),
    labelIds: await findLabels(linear, labels, { teamId: team.id, usable: usable ?? [] }),
  };
}

function onlyTeam<T extends Named>(teams: readonly T[]): T | undefined {
  if (teams.length > 1) {
    throw new Error(
      `The key sees several teams: ${teams.map(({ name }) => name).join(", ")}. Give team, or set LINEAR_TEAM.`,
    );
  }
  return teams[0];
}

function pickState(state: string, team: Named & { readonly states: Nodes<Named> }): Named {
  const found = pick("state", state, team.states.nodes);
  if (!found) throw unknownName(`state of ${team.name}`, state, team.states.nodes);
  return found;
}

function pickPerson(wanted: string, people: readonly Person[]): Named | undefined {
  if (wanted === "me") return people[0];
  const known = people.map((person) => ({ ...person, aliases: [person.displayName, person.email] }));
  return pick("user", wanted, known);
}

/** Finds labels. A team's own label takes precedence over a workspace label with the same name. */
async function findLabels(
  linear: Linear,
  wanted: readonly string[],
  { teamId, usable }: { readonly teamId: string; readonly usable: readonly Label[] },
): Promise<ReadonlyMap<string, string>> {
  const own = usable.filter((label) => label.team?.id === teamId);
  const ids = new Map<string, string>();
  for (const name of wanted) {
    const label = pick("label", name, own) ?? pick("label", name, usable) ?? (await refuseName(linear, "label", name));
    ids.set(name, label.id);
  }
  return ids;
}
