import type { Linear } from "./client.ts";
import { isMissingIssue } from "./failure.ts";
import { isId } from "./fields.ts";
import { teamFilter } from "./filters.ts";

/** Runs work on an issue. If it is not found, explains whether the number or the team is wrong. */
export async function aboutIssue<Result>(linear: Linear, issue: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!isMissingIssue(error)) throw error;
    if (isId(issue))
      throw new Error(
        `No issue with the id ${issue} is visible. The id is wrong, or LINEAR_API_KEY cannot see its team.`,
      );
    const key = issue.split("-")[0] ?? "";
    const { teams } = await linear.ask<Teams>(VISIBLE_TEAMS, { team: teamFilter(key) });
    if (teams.nodes.length > 0)
      throw new Error(`The team ${key} exists, but ${issue} does not. Check the number, or search for the issue.`);
    throw new Error(`No team ${key} is visible. The key in ${issue} is wrong, or LINEAR_API_KEY cannot see that team.`);
  }
}

interface Teams {
  readonly teams: { readonly nodes: readonly unknown[] };
}

const VISIBLE_TEAMS = "query VisibleTeams($team: TeamFilter) { teams(filter: $team, first: 1) { nodes { id } } }";
