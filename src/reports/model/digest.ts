import { isAddress } from "../../core/base/inert.ts";
import { shortText } from "../../core/base/preview.ts";
import { defined, isObject, type Json, type JsonObject, memberAt } from "../../core/base/values.ts";
import { listAt } from "../../core/document/inner/items.ts";
import { placeOf } from "../../core/document/inner/place.ts";
import type { MapSettings } from "../../core/document/workflow/node.ts";
import { classOf, countClasses, headlineOf, rankOf } from "../../core/engine/board/digest.ts";
import type { EventOf, RunEvent } from "../../core/engine/event/event.ts";
import { linkOf, standingWords, viewReport } from "./plan.ts";
import type { Report } from "./report.ts";

/** Summary of the items that a run's maps processed. Code builds it from the recorded run alone, without a model. */
export type Digest = ReturnType<typeof digestOf>;

export type DigestItem = ReturnType<typeof itemOf>;

/** Verdicts that send no digest. People who get empty digests stop reading them. */
const QUIET = ["nothing_new", "inconclusive"];
const MOST_ITEMS = 200;
const MOST_CLAIMS = 6;

export function digestOf(report: Report) {
  const { record, result } = report;
  const lists = Object.entries(record.workflow.nodes).flatMap(([node, { map }]) => {
    const data = result.results[node]?.data;
    return map && data ? [readList(report, { node, map, data })] : [];
  });
  const all = lists.flatMap(({ items }) => items);
  const counts = countClasses(all.map((item) => item.class));
  const failed = lists.flatMap((list) => list.failed);
  const sum = (name: "unchanged" | "skipped" | "left" | "beyond") =>
    lists.reduce((total, list) => total + list[name], 0);
  return {
    schema: "skillflow.digest/1" as const,
    run: record.run,
    workflow: record.workflow.name,
    status: result.status,
    ...defined("verdict", result.verdict),
    /** For example `3 actionable, 2 noise`, or `Nothing new`. */
    headline: headlineOf(counts, failed.length),
    ...quietRule(result, lists.length, all.length),
    /** Number of items judged in this run, by class. */
    counts,
    items: all.slice(0, MOST_ITEMS),
    failed: failed.slice(0, MOST_ITEMS),
    /** Number of items that an earlier run judged and that have not changed, and of those skipped for other reasons. */
    ...{ unchanged: sum("unchanged"), skipped: sum("skipped") },
    /** Number of items left for the next run, and of those that the list itself reports as left out. */
    ...{ left: sum("left"), beyond: sum("beyond") },
    gaps: lists.flatMap(({ gaps }) => gaps).slice(0, 20),
    /** Number of judged items that exceed the maximum length of `items`. */
    untold: Math.max(0, all.length - MOST_ITEMS),
  };
}

/** Decides whether the digest is worth sending. Failed, inconclusive and uneventful runs send nothing. */
function quietRule({ status, verdict }: Report["result"], lists: number, judged: number) {
  const quiet = (why: string) => ({ send: false, why });
  if (status !== "succeeded") return quiet(`the run ended as ${status}`);
  if (lists === 0) return quiet("no node of the run mapped over a list");
  if (judged === 0) return quiet("nothing was judged in this run");
  if (verdict !== undefined && QUIET.includes(verdict)) return quiet(`the verdict is ${verdict}`);
  return { send: true, why: `${judged} judged in this run` };
}

function readList(report: Report, { node, map, data }: { node: string; map: MapSettings; data: JsonObject }) {
  const entries = Array.isArray(data["items"]) ? data["items"].filter(isEntry) : [];
  const chosen = report.events.findLast((event) => event.type === "map:start" && event.node === node && !event.at);
  const places = chosen as (EventOf<"map:start"> & RunEvent) | undefined;
  const source = sourceOf(report, map);
  // Only the first of several items with the same key runs. Reversed, so that it overwrites the others.
  const indexes = new Map(places?.items.toReversed().map(({ key, index }) => [key, index]));
  const itemAt = (key: string) => source.list[indexes.get(key) ?? -1] ?? null;
  const skipped = entries.filter(({ status }) => status === "skipped");
  const unchanged = places?.items.filter(({ seen }) => seen).length ?? 0;
  const failed = entries.filter(({ status }) => status === "failed" || status === "stopped");
  const writes = writesOf(report);
  return {
    items: entries
      .filter(({ status }) => status === "success")
      .map((entry) => itemOf(entry, itemAt(entry.key), writes(placeOf(undefined, node, entry.key))))
      .sort((a, b) => rankOf(a.class) - rankOf(b.class)),
    failed: failed.map(({ key, status, data: { error } }) => ({
      ...{ key: cut(key), title: titleOf(itemAt(key), key) },
      error: cut(typeof error === "string" ? error : status),
    })),
    unchanged,
    skipped: skipped.length - unchanged,
    left: numberIn(data["left"]),
    beyond: numberIn(source.beside["left"]),
    gaps: textsIn(source.beside["gaps"]).map(cut),
  };
}

interface Entry {
  readonly key: string;
  readonly status: string;
  readonly data: JsonObject;
  readonly skipped_reason?: string;
}

function isEntry(value: Json): value is Json & Entry {
  return isObject(value) && typeof value.key === "string" && isObject(value.data);
}

/** Returns the list that a map iterates over, and the object that contains it. */
function sourceOf({ record, result }: Report, { over }: MapSettings) {
  const results = Object.entries(result.results).map(([node, { data }]): [string, Json] => [node, data]);
  const root: JsonObject = { input: record.input, ...Object.fromEntries(results) };
  const beside = memberAt(root, ...over.split(".").slice(0, -1));
  return { list: listAt(over, root) ?? [], beside: isObject(beside) ? (beside as JsonObject) : {} };
}

function itemOf({ key, data }: Entry, item: Json, writes: ReturnType<ReturnType<typeof writesOf>>) {
  const results = isObject(data["results"]) ? Object.values(data["results"] as JsonObject).filter(isObject) : [];
  const told = (...names: string[]) => {
    const found = results.flatMap((result) => names.flatMap((name) => textIn((result as JsonObject)[name])));
    return found[0] === undefined ? undefined : cut(found[0]);
  };
  const fields = isObject(item) ? (item as JsonObject) : {};
  const link = [fields["link"], fields["url"], fields["permalink"]].flatMap(textIn).find(isAddress);
  return {
    key: cut(key),
    title: titleOf(item, key),
    class: classOf(data),
    ...defined("link", link),
    ...defined("why", told("why", "reason")),
    ...defined("cause", told("cause")),
    ...defined("confidence", told("confidence")),
    ...defined("commit", told("commit")),
    ...defined("next_step", told("next_step", "first_step")),
    ...defined("duplicate", told("duplicate", "known_issue")),
    evidence: results.map((result) => claimsIn(result as JsonObject)).find((claims) => claims.length > 0) ?? [],
    writes,
  };
}

/** Returns the claims of a result, without those that the evidence check marked as unsupported. */
function claimsIn({ claims }: JsonObject) {
  if (!Array.isArray(claims)) return [];
  return claims.slice(0, MOST_CLAIMS).flatMap((claim: Json) => {
    if (!isObject(claim) || typeof claim.claim !== "string" || claim.supported === false) return [];
    const cites = Array.isArray(claim.evidence) ? (claim.evidence as Json[]) : [];
    return [{ claim: cut(claim.claim), cites: cites.slice(0, 3).flatMap(citeIn) }];
  });
}

function citeIn(cite: Json): { ref: string; quote: string }[] {
  if (!isObject(cite) || typeof cite.ref !== "string" || typeof cite.quote !== "string") return [];
  return [{ ref: shortText(cite.ref, 12), quote: cut(cite.quote) }];
}

/** Returns a function that lists the operations planned at a place, with their status. */
function writesOf(report: Report) {
  const places = new Map(
    report.events.flatMap((event) =>
      event.type === "operation:planned" ? [[event.operation.id, event.at ?? ""]] : [],
    ),
  );
  const shown = viewReport(report).operations;
  return (place: string) =>
    shown.flatMap(({ operation: { id, summary }, now }) => {
      const at = places.get(id) ?? "";
      if (at !== place && !at.startsWith(`${place}/`)) return [];
      const link = linkOf(now.output);
      const written = defined("link", isAddress(link) ? link : undefined);
      return [{ id, standing: standingWords(now.standing), text: cut(summary), ...written }];
    });
}

function titleOf(item: Json, key: string): string {
  const { title, name, headline } = isObject(item) ? (item as JsonObject) : {};
  return cut([title, name, headline, key].flatMap(textIn)[0] ?? key);
}

const MOST_TEXT = 400;
const cut = (text: string) => shortText(text, MOST_TEXT);
const textIn = (value: Json | undefined) => (typeof value === "string" && value.trim() !== "" ? [value] : []);
const textsIn = (value: Json | undefined) => (Array.isArray(value) ? (value as Json[]).flatMap(textIn) : []);
const numberIn = (value: Json | undefined) => (typeof value === "number" && value > 0 ? Math.floor(value) : 0);
