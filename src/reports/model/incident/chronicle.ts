import { formatTime } from "../../../core/base/preview.ts";
import { isObject, type Json, type JsonObject, textAt } from "../../../core/base/values.ts";
import { containerOf } from "../../../core/engine/evidence/records.ts";
import type { Account } from "../account.ts";
import { lastVisits } from "../visits.ts";

/** A moment of the incident, from the run's input, a timeline in a result, or a record in a result. */
export interface Moment {
  readonly kind: "alert" | "change" | "claim" | "told";
  /** Milliseconds since 1970. Undefined if the text contains no time. */
  readonly time: number | undefined;
  readonly at: string;
  readonly what: string;
  /** Result that contains the moment. */
  readonly ref?: string;
}

/** Returns the moments of the incident in order, each once. Moments without a time come last. */
export function momentsOf(account: Account): Moment[] {
  const { record, visits, evidence, finding } = account;
  const told = lastVisits(visits).flatMap(({ result }) => Object.values(result?.data ?? {}).flatMap(toldIn));
  const claims = evidence.claims.slice(0, evidence.kept).flatMap(({ text, cites }) => {
    const quoted = cites.map((cite) => ({ ...cite, time: evidence.quoteOf(cite)?.time ?? cite.quote }));
    const dated = quoted.find(({ time, problem }) => problem === undefined && instantIn(time) !== undefined);
    return dated ? [momentAt("claim", dated.time, text, dated.ref)] : [];
  });
  const alert = claims.length > 0 ? alertIn(record.input) : [];
  const known = new Map<string, Moment>();
  const day = [...alert, ...claims].find(({ time }) => time !== undefined)?.at.slice(0, 10);
  const changes = changesIn(account, finding.cause?.commit);
  for (const moment of [...alert, ...changes, ...claims, ...told.map((each) => onDay(each, day))]) {
    const words = (moment.kind === "change" ? "" : moment.what).replace(/[^\p{L}\p{N}]+/gu, " ").trim();
    const key = `${words.toLowerCase()} ${moment.at}`;
    if (!known.has(key)) known.set(key, moment);
  }
  return [...known.values()].sort((a, b) => (a.time ?? Infinity) - (b.time ?? Infinity));
}

function momentAt(kind: Moment["kind"], text: string, what: string, ref?: string): Moment {
  const time = instantIn(text);
  const at = time === undefined ? text : formatTime(new Date(time).toISOString());
  return { kind, time, at, what, ...(ref === undefined ? {} : { ref }) };
}

/** Adds the day of the incident to a time of day. */
function onDay(moment: Moment, day: string | undefined): Moment {
  if (moment.time !== undefined || day === undefined || !/^\d\d:\d\d(?::\d\d)?(?![\d:])/.test(moment.at)) return moment;
  return momentAt("told", `${day} ${moment.at}`, moment.what);
}

const ISO = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?(?![\d:])/;

/** Returns the instant of the first time in a text, or of a number of seconds or milliseconds since 1970. */
export function instantIn(value: Json | undefined): number | undefined {
  if (typeof value === "number")
    return value > 1e12 && value < 4e12 ? value : value > 1e9 && value < 4e9 ? value * 1000 : undefined;
  const [found] = (typeof value === "string" && ISO.exec(value)) || [];
  if (found === undefined) return undefined;
  const time = Date.parse(/[Z+]|-\d\d:?\d\d$/.test(found.slice(16)) ? found : `${found.replace(" ", "T")}Z`);
  return Number.isNaN(time) ? undefined : time;
}

function toldIn(value: Json): Moment[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: Json): Moment[] => {
    const at = textIn(item, ["at", "time", "when", "timestamp"]);
    const what = textIn(item, ["what", "event", "summary", "text", "description"]);
    return at === undefined || what === undefined ? [] : [momentAt("told", at, what)];
  });
}

function textIn(value: Json | undefined, names: readonly string[]): string | undefined {
  return names.map((name) => textAt(value, name)).find((text) => text !== undefined);
}

const STARTS = [
  ...["startsAt", "starts_at", "started_at", "triggered_at"],
  ...["fired_at", "occurred_at", "first_seen", "firstSeen"],
];
const CREATED = ["created_at", "datetime", "timestamp", "time", "date", "at"];
const TITLES = ["title", "summary", "alertname", "name", "message"];
const MOST_READ = 2000;

/** Returns the time when the alert fired. Prefers members that state the start, then those nearest to the root. */
function alertIn(input: Json): Moment[] {
  const objects: JsonObject[] = [];
  const left: Json[] = [input];
  for (let at = 0; at < Math.min(left.length, MOST_READ); at++) {
    const value = left[at];
    if (isObject(value)) objects.push(value as JsonObject);
    if (typeof value === "object" && value !== null) for (const each of Object.values(value)) left.push(each as Json);
  }
  const find = (names: readonly string[]) => names.flatMap((name) => objects.map((each) => each[name]));
  const fired = find([...STARTS, ...CREATED]).find((each) => instantIn(each) !== undefined);
  const time = instantIn(fired);
  if (time === undefined) return [];
  const title = find(TITLES).find((each) => typeof each === "string" && each !== "");
  return [momentAt("alert", new Date(time).toISOString(), `Alert: ${String(title ?? "without a title")}`)];
}

/** Lists of results that hold changes: releases, deployments, commits. */
const LISTS = ["events", "deployments", "deploys", "releases", "change_events", "commits", "tags"];
const TIMES = ["time", "timestamp", "date", "created_at", "published_at", "started_at"];
const IDS = ["commit", "sha", "id", "version", "tag", "ref", "name", "revision", "release"];
const MOST_CHANGES = 5000;
const MOST_SHOWN = 5;

/** Returns the records of the change at fault: its commit, the first tag after it, and what deployed either of them. */
function changesIn({ every }: Account, commit: string | undefined): Moment[] {
  if (commit === undefined || commit.length < SHORTEST_ID) return [];
  const calls = every.flatMap((visit) => visit.calls);
  const all = calls.flatMap(({ outcome, ref, planned }) => {
    return outcome && "output" in outcome && planned === undefined ? changesAt(outcome.output, ref) : [];
  });
  const changes = all.slice(0, MOST_CHANGES).sort((a, b) => a.time.localeCompare(b.time));
  const made = changes.find(({ item }) => names(item, [commit]));
  const release =
    made && changes.find(({ item, time }) => item.name !== undefined && time >= made.time && isId(item.id));
  const ids = [commit, ...[release?.item.name, release?.item.id].filter((id) => typeof id === "string")];
  const known = new Map(changes.flatMap((each) => (names(each.item, ids) ? [[each.time, each] as const] : [])));
  return [...known.values()].slice(0, MOST_SHOWN).map(({ item, time, ref }) => {
    return momentAt("change", time, `Change: ${describe(item)}`, ref);
  });
}

const SHORTEST_ID = 7;
const isId = (value: Json | undefined) => typeof value === "string" && /^[0-9a-f]{7,64}$/.test(value);

/** Reports whether a record is about one of the changes. Ids of commits may be shortened. */
function names(item: JsonObject, ids: readonly string[]): boolean {
  const own = IDS.map((name) => item[name]).filter((each): each is string => typeof each === "string");
  return own.some((each) =>
    ids.some((id) => each === id || (isId(each) && isId(id) && (each.startsWith(id) || id.startsWith(each)))),
  );
}

function changesAt(value: Json, ref: string, depth = 0): { item: JsonObject; time: string; ref: string }[] {
  if (!isObject(value) || depth > 2) return [];
  return Object.entries(value as JsonObject).flatMap(([key, member]) => {
    if (!LISTS.includes(key) || !Array.isArray(member)) return changesAt(member, ref, depth + 1);
    return member.slice(0, MOST_CHANGES).flatMap((each: Json) => {
      const line = isObject(each) && typeof each.text === "string" ? containerOf(each.text) : undefined;
      const item = isObject(line) ? (line as JsonObject) : each;
      const time = textIn(item, TIMES);
      const instant = instantIn(time);
      return instant === undefined ? [] : [{ item: item as JsonObject, time: new Date(instant).toISOString(), ref }];
    });
  });
}

/** Describes a change: `checkout v1.14.0: Coupon codes`. Shortens commit ids, and messages to their first line. */
function describe(item: JsonObject): string {
  const name = [textIn(item, ["service", "environment"]), textIn(item, ["version", "tag", "name", "id", "sha"])];
  const said = textIn(item, ["subject", "title", "reason", "summary", "message", "description", "text"]);
  const [why] = said?.split("\n", 1) ?? [];
  const id = name.flatMap((each) => each?.replace(/^([0-9a-f]{12})[0-9a-f]{28}$/, "$1") ?? []).join(" ");
  return [id, why].filter((each) => each).join(": ");
}
