import { clip, pick } from "skillflow/internal";
import { type Exception, exceptionOf, framesOf, type Stacktrace } from "./trace.ts";

/** Event as Sentry returns it. The model sees the failure first, and only the ids of users. */

export interface EventDetails {
  readonly eventID: string;
  readonly groupID: string | null;
  readonly title: string;
  readonly message: string;
  readonly platform: string | null;
  readonly culprit: string | null;
  readonly location: string | null;
  readonly dateCreated?: string;
  readonly dist: string | null;
  readonly release?: { readonly version: string; readonly dateCreated?: string } | null;
  readonly user: { readonly id?: string | null; readonly username?: string | null } | null;
  readonly tags: readonly { readonly key: string; readonly value: string }[];
  readonly contexts: Readonly<Record<string, Context>> | null;
  readonly entries: readonly Entry[];
  readonly errors: readonly { readonly type: string; readonly message?: string }[];
  readonly occurrence?: Occurrence | null;
  readonly previousEventID?: string | null;
  readonly nextEventID?: string | null;
}

type Context = Readonly<Record<string, unknown>> | null;

interface Entry {
  readonly type: string;
  readonly data: unknown;
}

interface Occurrence {
  readonly issueTitle?: string;
  readonly subtitle?: string;
  readonly evidenceDisplay?: readonly { readonly name: string; readonly value: string }[];
}

export function eventOf(event: EventDetails) {
  const { user, release, occurrence } = event;
  return {
    ...pick(event, "id:eventID issue_id:groupID at:dateCreated title culprit location"),
    message: messageOf(event),
    exceptions: exceptionsOf(event),
    ...threadOf(event),
    occurrence: occurrence
      ? {
          title: occurrence.issueTitle,
          subtitle: occurrence.subtitle,
          evidence: occurrence.evidenceDisplay?.slice(0, 10).map(({ name, value }) => ({ name, value })),
        }
      : undefined,
    release: release?.version,
    release_created_at: release?.dateCreated,
    dist: event.dist,
    platform: event.platform,
    user: user?.id ?? user?.username,
    tags: tagsOf(event.tags),
    contexts: contextsOf(event.contexts ?? {}),
    request: requestOf(event),
    breadcrumbs: breadcrumbsOf(event),
    processing_errors: event.errors.slice(0, 5).map(({ type, message }) => message ?? type),
    previous_event: event.previousEventID,
    next_event: event.nextEventID,
  };
}

const MOST_TAGS = 30;

/** Returns tags without user data and without query strings. */
export function tagsOf(tags: readonly { readonly key: string; readonly value: string }[]) {
  const shown = tags.filter(({ key }) => !/^user(\.|$)/.test(key)).slice(0, MOST_TAGS);
  return Object.fromEntries(shown.map(({ key, value }) => [key, clip(withoutQuery(value), 200)]));
}

function withoutQuery(text: string): string {
  return /^https?:/.test(text) ? text.replace(/[?#].*$/s, "") : text;
}

function dataOf<Data>({ entries }: EventDetails, type: string): Data | undefined {
  return (entries.find((entry) => entry.type === type)?.data ?? undefined) as Data | undefined;
}

function messageOf(event: EventDetails): string | undefined {
  const entry = dataOf<{ readonly formatted?: string | null }>(event, "message");
  const message = entry?.formatted ?? event.message;
  return message && message !== event.title ? message : undefined;
}

const MOST_EXCEPTIONS = 4;

/** Returns exceptions with the last raised first. Sentry sorts the cause first. */
function exceptionsOf(event: EventDetails) {
  const { values = [] } = dataOf<{ readonly values?: readonly Exception[] }>(event, "exception") ?? {};
  const shown = values.slice(-MOST_EXCEPTIONS).reverse();
  const left = values.length - shown.length;
  return shown.map((exception, index) => ({
    ...exceptionOf(exception),
    ...(index === shown.length - 1 && left > 0 ? { further_causes: left } : {}),
  }));
}

interface Thread {
  readonly name?: string | null;
  readonly crashed?: boolean;
  readonly current?: boolean;
  readonly stacktrace?: Stacktrace | null;
}

/** Returns the crashed thread, or a bare stack trace, if there is no exception. */
function threadOf(event: EventDetails) {
  if (dataOf(event, "exception")) return {};
  const { values = [] } = dataOf<{ readonly values?: readonly Thread[] }>(event, "threads") ?? {};
  const thread = values.find(({ crashed }) => crashed) ?? values.find(({ current }) => current);
  const stacktrace = thread?.stacktrace ?? dataOf<Stacktrace>(event, "stacktrace");
  return stacktrace ? { thread: thread?.name ?? undefined, ...framesOf(stacktrace) } : {};
}

/** Returns each context as one line: its name and version, or trace ids. */
function contextsOf(contexts: Readonly<Record<string, Context>>) {
  const lines = Object.entries(contexts).map(([key, context]) => {
    const parts = ["name", "version", "op", "trace_id", "span_id", "status", "statusText"].map(
      (part) => context?.[part],
    );
    return [key, parts.filter((part) => typeof part === "string" || typeof part === "number").join(" ")] as const;
  });
  return Object.fromEntries(lines.filter(([, line]) => line !== "").slice(0, 12));
}

/** Omits the query, headers, cookies and body, which may contain user input and credentials. */
function requestOf(event: EventDetails) {
  const request = dataOf<{ readonly method?: string | null; readonly url?: string | null }>(event, "request");
  if (!request) return undefined;
  return { method: request.method ?? undefined, url: request.url?.replace(/[?#].*$/s, "") };
}

const MOST_BREADCRUMBS = 12;

interface Breadcrumb {
  readonly timestamp?: string | null;
  readonly category?: string | null;
  readonly level?: string | null;
  readonly message?: string | null;
  readonly data?: Readonly<Record<string, unknown>> | null;
}

/** Returns the last breadcrumbs, oldest first, one line each. */
function breadcrumbsOf(event: EventDetails): readonly string[] | undefined {
  const { values = [] } = dataOf<{ readonly values?: readonly Breadcrumb[] }>(event, "breadcrumbs") ?? {};
  if (values.length === 0) return undefined;
  return values.slice(-MOST_BREADCRUMBS).map(({ timestamp, category, level, message, data }) => {
    const { method, url, status_code: status } = data ?? {};
    const place = typeof url === "string" ? url.replace(/[?#].*$/s, "") : undefined;
    const parts = [timestamp, category, level, message, method, place, status];
    return clip(parts.filter((part) => part !== undefined && part !== null && part !== "").join(" "), 250);
  });
}
