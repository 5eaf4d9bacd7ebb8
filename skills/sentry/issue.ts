import { pick, withoutMarkers } from "skillflow/internal";

/** Issues as Sentry returns them, and the part that the model sees. */

interface Owner {
  readonly type?: string;
  readonly name?: string;
  readonly email?: string;
}

export interface Issue {
  readonly id: string;
  readonly shortId: string;
  readonly title: string;
  readonly culprit: string | null;
  readonly level: string;
  readonly status: string;
  readonly substatus: string | null;
  readonly priority: string | null;
  readonly issueCategory: string;
  readonly isUnhandled?: boolean;
  readonly count: string;
  readonly userCount: number;
  readonly firstSeen: string;
  readonly lastSeen: string;
  readonly project: { readonly slug: string };
  readonly assignedTo: Owner | null;
  readonly metadata: { readonly value?: string };
  readonly permalink: string;
}

export interface IssueDetails extends Issue {
  readonly numComments: number;
  readonly firstRelease: Release | null;
  readonly lastRelease: Release | null;
  readonly statusDetails: object;
  readonly tags: readonly { readonly key: string; readonly totalValues: number }[];
  readonly activity: readonly Activity[];
}

interface Release {
  readonly version: string;
  readonly dateCreated: string;
}

interface Activity {
  readonly type: string;
  readonly dateCreated: string;
  readonly user?: Owner | null;
  readonly data?: { readonly text?: string; readonly version?: string; readonly assigneeEmail?: string } | null;
}

export function briefOf(issue: Issue) {
  return {
    ...pick(issue, "id short_id:shortId title value:metadata.value culprit level status substatus priority"),
    ...pick(issue, "category:issueCategory"),
    unhandled: issue.isUnhandled || undefined,
    events: Number(issue.count),
    ...pick(issue, "users:userCount first_seen:firstSeen last_seen:lastSeen project:project.slug"),
    assigned_to: nameOf(issue.assignedTo),
    url: issue.permalink,
  };
}

const MOST_ACTIVITIES = 15;

export function detailsOf(issue: IssueDetails) {
  return {
    ...briefOf(issue),
    status_details: issue.statusDetails,
    comments: issue.numComments,
    first_release: releaseOf(issue.firstRelease),
    last_release: releaseOf(issue.lastRelease),
    tags: Object.fromEntries(issue.tags.slice(0, 40).map(({ key, totalValues }) => [key, totalValues])),
    activity: issue.activity.slice(0, MOST_ACTIVITIES).map(activityOf),
    activity_left_out: Math.max(0, issue.activity.length - MOST_ACTIVITIES) || undefined,
  };
}

function releaseOf(release: Release | null) {
  return release ? { version: release.version, created_at: release.dateCreated } : undefined;
}

function activityOf({ type, dateCreated, user, data }: Activity) {
  const { text, version, assigneeEmail: assignee } = data ?? {};
  const words = typeof text === "string" ? withoutMarkers(text) : undefined;
  return { type, at: dateCreated, by: nameOf(user), text: words, version, assignee };
}

function nameOf(owner: Owner | null | undefined): string | undefined {
  return owner ? (owner.name ?? owner.email) : undefined;
}
