import { SkillflowError } from "../../base/errors.ts";
import { shortText } from "../../base/preview.ts";
import { sha256 } from "../../base/sha256.ts";
import { groupBy, type Json, type JsonObject, memberAt } from "../../base/values.ts";

/** Joins the lists of several trackers into one board, in linear time. Lists are untrusted. */

export interface BoardInput {
  /** Results of the steps that listed issues, by step: `sentry`, then `sentry_2` for its next page. */
  readonly lists: JsonObject;
  /** Trackers that should have been read. */
  readonly trackers?: readonly string[];
}

/** Fields of an issue in a row. Those without `count` are issues that people wrote. */
interface Tracker {
  readonly list: string;
  readonly id: readonly string[];
  readonly title: string;
  readonly [field: string]: string | readonly string[];
}

const NOTE = { title: "title", first: "created_at", last: "updated_at", link: "url", words: "excerpt" };
const SEEN = { title: "title", level: "level", count: "events", first: "first_seen", last: "last_seen" };
const KIND = "by/@error.kind";

/** In the order of preference. */
const TRACKERS: Readonly<Record<string, Tracker>> = {
  sentry: { list: "issues", id: ["short_id"], ...SEEN, link: "url", frame: "culprit", service: "project" },
  datadog: {
    ...{ list: "buckets", id: ["by/service", KIND], title: KIND, count: "value" },
    ...{ release: "by/version", service: "by/service" },
  },
  logs: { list: "errors", id: ["shape"], title: "example", count: "count", first: "first", last: "last" },
  github: { list: "items", id: ["number"], ...NOTE },
  linear: { list: "issues", id: ["identifier"], ...NOTE },
};

const MOST_ISSUES = 200;
const MOST_ALSO = 10;
const MOST_FIELD = 120;
const MOST_TITLE = 300;
const LEVELS = ["fatal", "error", "warning", "info"];
const BANDS = ["1-9", "10-99", "100-999", "1000-9999", "10000+"];

/**
 * Returns the board: `source` is the tracker that counts errors, `issues` the newest first, `left` the number of those
 * beyond (at least one if there are more pages). Throws if no tracker was read: such a board is not empty.
 */
export function readBoard({ lists, trackers = [] }: BoardInput) {
  const wanted = Object.keys(TRACKERS).filter((name) => trackers.includes(name) || Object.hasOwn(lists, name));
  const read = wanted.map((name) => readTracker(name, lists));
  const gaps = read.flatMap(({ gap }) => gap);
  const listed = read.filter(({ isRead }) => isRead);
  const counting = listed.filter(({ counts }) => counts);
  const [first, ...others] = counting.length > 0 ? counting : listed;
  if (!first) throw new SkillflowError("input.invalid", `no tracker was read: ${gaps.join("; ")}`);
  const all = [...first.issues];
  for (const { issues } of others) {
    const index = indexOf(all);
    all.push(...issues.filter((issue) => !first.counts || !joinTo(index, issue)));
  }
  const index = indexOf(all);
  if (first.counts)
    for (const { issues, counts } of listed) if (!counts) for (const note of issues) joinTo(index, note);
  const sorted = all
    .map(({ fault, also }) => ({ ...fault, also: [...also] }))
    .sort((a, b) => timeOf(b.last_seen) - timeOf(a.last_seen));
  const left = [first, ...others].reduce((sum, tracker) => sum + tracker.left, Math.max(0, all.length - MOST_ISSUES));
  return { source: first.name, issues: sorted.slice(0, MOST_ISSUES), left, gaps };
}

const timeOf = (time: string | null) => Date.parse(time ?? "") || 0;

/** Reads the pages of a tracker. An issue that is on two pages counts once. */
function readTracker(name: string, lists: JsonObject) {
  const tracker = TRACKERS[name] as Tracker;
  const pages = Object.keys(lists).filter((step) => step.replace(/_\d+$/, "") === name);
  const rows = pages.map((step) => memberAt(lists, step, tracker.list));
  const isRead = rows.some(Array.isArray);
  const all = rows.flatMap((page) => (Array.isArray(page) ? page : [])).map((row) => issueOf(name, tracker, row));
  const found = all.filter(({ fault }) => !fault.fingerprint.endsWith("/"));
  const issues = [...groupBy(found, ({ fault }) => fault.fingerprint).values()].flatMap(([issue]) => issue ?? []);
  const last = lists[pages.at(-1) ?? ""];
  const total = Number(memberAt(last, "total_count") ?? 0);
  const hasMore = [memberAt(last, "next_cursor"), memberAt(last, "next_page")].some(Boolean);
  const gap = isRead && rows.every(Array.isArray) ? [] : [`${name}: not all of its issues could be listed`];
  const left = Math.max(hasMore ? 1 : 0, total - found.length);
  return { name, counts: tracker["count"] !== undefined, issues, isRead, gap, left };
}

type Issue = ReturnType<typeof issueOf>;

function issueOf(name: string, tracker: Tracker, row: Json) {
  const at = (path: string) => String(memberAt(row, ...path.split("/")) ?? "");
  const field = (key: string, most = MOST_FIELD) =>
    typeof tracker[key] === "string" ? shortText(at(tracker[key]), most) : "";
  const id = tracker.id.map(at).join("/");
  const title = shortText(at(tracker.title), MOST_TITLE);
  const count = Math.floor(Number(field("count")));
  const level = tracker["level"] ? field("level") : tracker["count"] ? "error" : "";
  const text = tracker["words"] ? `${title} ${field("words", MOST_TITLE)}` : "";
  return {
    fault: {
      fingerprint: `${name}/${id.length > MOST_FIELD ? sha256(id).slice(0, 12) : id}`,
      title,
      level: LEVELS.includes(level) ? level : "unknown",
      count_band: count >= 1 ? (BANDS[Math.min(String(count).length, BANDS.length) - 1] ?? "unknown") : "unknown",
      first_seen: field("first") || null,
      last_seen: field("last") || null,
      release: field("release") || null,
      frame: field("frame") || null,
      link: field("link", MOST_TITLE) || null,
    },
    /** Links or fingerprints of the same fault in other trackers. */
    also: new Set<string>(),
    exceptions: text === "" ? [/^[\w.$]+(?=:|$)/.exec(title)?.[0] ?? ""] : wordsOf(text),
    places: text === "" ? [...wordsOf(field("frame")), field("release"), `in ${field("service")}`] : wordsOf(text),
  };
}

function wordsOf(text: string): string[] {
  return [...new Set(text.split(/[^\w./@-]+/))].filter((word) => word.length > 2);
}

/** Adds an issue to the faults of other trackers with the same exception at the same frame, release or service. */
function joinTo(index: ReadonlyMap<string, readonly Issue[]>, { fault, exceptions, places }: Issue): boolean {
  const keys = exceptions.flatMap((exception) => places.map((place) => `${exception}\n${place}`));
  const same = keys.flatMap((key) => index.get(key) ?? []);
  const joined = same.filter((one) => !one.fault.release || !fault.release || one.fault.release === fault.release);
  for (const { also } of joined) if (also.size < MOST_ALSO) also.add(fault.link ?? fault.fingerprint);
  return joined.length > 0;
}

/** Returns the faults by exception and place, a few for each. Each tracker has already grouped its own. */
function indexOf(issues: readonly Issue[]): ReadonlyMap<string, readonly Issue[]> {
  const entries = issues.flatMap((issue) => {
    const [exception = ""] = issue.exceptions;
    const known = exception === "" ? [] : issue.places.filter((place) => place !== "" && place !== "in ");
    return known.map((place) => ({ key: `${exception}\n${place}`, issue }));
  });
  const groups = [...groupBy(entries, ({ key }) => key)];
  return new Map(groups.map(([key, found]) => [key, found.slice(0, MOST_ALSO).map(({ issue }) => issue)]));
}
