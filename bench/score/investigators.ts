import { isObject, type Json, type JsonObject } from "../../src/core/base/values.ts";
import type { Alert } from "./evidence.ts";

/** Scripted investigators: each a fixed way through the tools, which knows the alert and what the tools answered. */

export interface Call {
  readonly tool: string;
  readonly input: JsonObject;
}
/** Turns of calls made at once; each turn sees what its calls answered. */
type Investigator = (alert: Alert) => Generator<readonly Call[], void, readonly Json[]>;

export const INVESTIGATORS: Readonly<Record<string, Investigator>> = {
  "by time": byTime,
  "by change": byChange,
  "by service": byService,
  "by search": bySearch,
};

const TROUBLE =
  "\\b(?:error|fail\\w*|time[d ]*out|refused|denied|expired|warn\\w*|slow\\w*|crash\\w*|kill\\w*|5\\d\\d)\\b";
const troubled = { matches: TROUBLE, ignore_case: true };

/** When did it begin, and what are the lines around that? */
function* byTime({ logs, at }: Alert): ReturnType<Investigator> {
  yield [{ tool: "logs_files", input: { files: logs } }];
  const [counted] = yield [
    { tool: "logs_count_by", input: { files: logs, ...troubled, bucket: "10s" } },
    { tool: "logs_search", input: { files: logs, ...troubled, limit: 25 } },
  ];
  yield [{ tool: "logs_time_window", input: { files: logs, at, seconds: 30, ...troubled, limit: 40 } }];
  const rise = steepestRise(counted);
  if (rise) yield [{ tool: "logs_time_window", input: { files: logs, at: rise, seconds: 10, limit: 40 } }];
}

/** What changed before it, and what is in the changes? */
function* byChange({ deploys, repository, at }: Alert): ReturnType<Investigator> {
  const [found, logged] = yield [
    { tool: "logs_search", input: { files: deploys, until: at, order: "last", limit: 10 } },
    { tool: "git_log", input: { repository, limit: 15, files: true } },
  ];
  const deployed = [...new Set(JSON.stringify(found).match(/\b[0-9a-f]{40}\b/g) ?? [])];
  const [from, to] = deployed.slice(-2);
  if (from && to) yield [{ tool: "git_diff", input: { repository, from, to } }];
  const shown = subjectsOf(logged).filter(({ subject }) => !subject.startsWith("Release "));
  yield shown.slice(0, 5).map(({ id }) => ({ tool: "git_show", input: { repository, commits: [id] } }));
}

/** Who fails, with what, what does every source say, and what do the metrics? */
function* byService({ logs, metrics, deploys }: Alert): ReturnType<Investigator> {
  const [listed, measured] = yield [
    { tool: "logs_files", input: { files: logs } },
    { tool: "logs_files", input: { files: metrics } },
    { tool: "logs_count_by", input: { files: logs, ...troubled, shape: true, limit: 25 } },
  ];
  yield sourcesOf(listed).map((source) => ({ tool: "logs_sample", input: { files: source, limit: 5 } }));
  yield [
    { tool: "logs_search", input: { files: logs, where: { level: ["error", "ERROR", 50] }, order: "last", limit: 20 } },
    { tool: "logs_series", input: { files: metrics, ...columnsOf(measured) } },
    { tool: "logs_search", input: { files: deploys } },
  ];
}

/** Where do the alert's own words stand? */
function* bySearch({ words, logs, repository }: Alert): ReturnType<Investigator> {
  const wanted = words.slice(0, 6);
  yield wanted.map((word) => ({
    tool: "logs_search",
    input: { files: logs, contains: word, ignore_case: true, limit: 10 },
  }));
  yield wanted.slice(0, 3).map((word) => ({ tool: "git_log", input: { repository, grep: word, limit: 5 } }));
}

/** The bucket with the largest growth over the one before it. */
function steepestRise(counted: Json | undefined): string | undefined {
  const day = isObject(counted) && typeof counted["day"] === "string" ? `${counted["day"]}T` : "";
  const buckets = [...bucketsOf(counted)].sort(([a], [b]) => (a < b ? -1 : 1));
  const rises = buckets.map(([time, count], index) => ({ time, by: count - (buckets[index - 1]?.[1] ?? 0) }));
  const [rise] = rises.sort((a, b) => b.by - a.by);
  return rise && (/^\d\d:/.test(rise.time) ? `${day}${rise.time}Z` : rise.time);
}

/** Every pair of a time and a number, wherever it stands in a result. */
function* bucketsOf(value: Json | undefined): Generator<[time: string, count: number]> {
  if (Array.isArray(value)) for (const one of value) yield* bucketsOf(one);
  if (!isObject(value)) return;
  for (const [key, one] of Object.entries(value)) {
    if (/^(?:20\d\d-\d\d-\d\dT)?\d\d:\d\d/.test(key) && typeof one === "number") yield [key, one];
    else yield* bucketsOf(one as Json);
  }
}

/** The first logs that a listing names. */
function sourcesOf(listed: Json | undefined): readonly string[] {
  return [...new Set(JSON.stringify(listed).match(/workflows\/[^"*]*\/logs\/[^"*]*\w/g) ?? [])].slice(0, 8);
}

/** What a listing of metrics names, told apart: what was measured, and of what. */
function columnsOf(listed: Json | undefined): { readonly fields: string[]; readonly by: string[] } {
  const file = isObject(listed) && Array.isArray(listed["files"]) ? listed["files"][0] : undefined;
  const names = isObject(file) && Array.isArray(file["fields"]) ? file["fields"].map(String) : [];
  const isLabel = (name: string) => /^(?:metric|instance|route|status|place)$/.test(name);
  const fields = names.filter(
    (name) => !isLabel(name) && !/^(?:time\w*|label|service|host|mount|version)$/i.test(name),
  );
  return { fields: fields.slice(0, 10), by: names.filter(isLabel) };
}

function subjectsOf(logged: Json | undefined): readonly { readonly id: string; readonly subject: string }[] {
  const commits = isObject(logged) && Array.isArray(logged["commits"]) ? logged["commits"] : [];
  return commits.flatMap((commit) => {
    const { id, subject } = isObject(commit) ? commit : {};
    return typeof id === "string" && typeof subject === "string" ? [{ id, subject }] : [];
  });
}
