import type { ToolContext } from "skillflow";
import { parseJson } from "../line/record.ts";

/** Contents of an alert, whichever monitoring system posted it. */
interface Alert {
  readonly title?: string;
  /** Cause or description that the title does not contain. */
  readonly text?: string;
  /** In kebab case, so that it is the same in every alert of the service. */
  readonly service?: string;
  /** Start of the alert, ISO 8601. */
  readonly at?: string;
  /** Paths and globs of logs, metrics and deploy events. */
  readonly files?: readonly string[];
  readonly repository?: string;
}

const MOST_VALUES = 5_000;
const MOST_TEXT = 20_000;
const MOST_DEPTH = 20;
const MOST_FILES = 50;

const STARTS = ["startsat", "started_at", "startedat", "triggered_at", "created_at", "statechangetime", "datetime"];
const TITLES = ["title", "summary", "alertname", "alarmname", "headline", "name", "subject", "description"];
const TEXTS = ["cause", "reason", "newstatereason", "culprit", "error", "message", "description", "alarmdescription"];
const SERVICES = ["service", "service_name", "servicename", "app", "application", "project_name", "job"];

const PATH = /^[\w./@*{},-]+$/;
/** Kinds of files that the tools read. Source files of stack traces are not among them. */
const EVIDENCE = /\.(?:log|jsonl?|ndjson|csv|prom|txt|gz|zst|bz2|xz|otlp)(?:\.\d+)?$/;
const REPOSITORY = /\.(?:bundle|git)$/;
const TIME = /^20\d\d-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?$/;

interface Entry {
  /** Lower-case key of the value. For `{name, value}` pairs it is the name. */
  readonly key: string;
  readonly text: string;
}

/** Finds the title, the service, the start and the evidence that an alert of any monitoring system names. */
export function readAlert({ alert }: { readonly alert: unknown }, { signal }: Pick<ToolContext, "signal">): Alert {
  signal.throwIfAborted();
  const entries = entriesOf(alert);
  const paths = [...new Set(entries.flatMap(({ text }) => pathsIn(text)))];
  const repository = paths.find((path) => REPOSITORY.test(path));
  const files = paths.filter(isEvidence).slice(0, MOST_FILES);
  const title = valueFor(entries, TITLES);
  const named = serviceOf(entries) ?? (repository && lastPart(repository).replace(REPOSITORY, ""));
  // Numbers in a title differ from alert to alert.
  const service = slug(named ?? title?.replace(/\d+/g, " "));
  const at = startOf(entries);
  const text = textsOf(entries, title ?? "")
    .join("\n")
    .slice(0, MOST_SHOWN);
  return {
    ...(title ? { title: title.slice(0, 300) } : {}),
    ...(text ? { text } : {}),
    ...(service ? { service } : {}),
    ...(at ? { at } : {}),
    ...(files.length > 0 ? { files } : {}),
    ...(repository ? { repository } : {}),
  };
}

/** Lists the strings and numbers of a value with their keys. A string that is a JSON object is read as one. */
function entriesOf(alert: unknown): readonly Entry[] {
  const entries: Entry[] = [];
  const visit = (value: unknown, key: string, depth: number): void => {
    if (entries.length >= MOST_VALUES || depth > MOST_DEPTH) return;
    if (typeof value === "string") {
      const inner = value.startsWith("{") && value.length <= MOST_TEXT * 5 ? parseJson(value) : undefined;
      if (inner) visit(inner, key, depth + 1);
      else entries.push({ key, text: value.slice(0, MOST_TEXT) });
    } else if (typeof value === "number") entries.push({ key, text: String(value) });
    else if (Array.isArray(value)) for (const each of value) visit(each, key, depth + 1);
    else if (typeof value === "object" && value !== null) {
      const named = value as { readonly name?: unknown; readonly value?: unknown };
      if (typeof named.name === "string" && "value" in value) visit(named.value, lower(named.name), depth + 1);
      else {
        const isService = SERVICES.includes(key);
        for (const [name, each] of Object.entries(value))
          visit(each, isService && /^(?:name|summary)$/.test(name) ? key : lower(name), depth + 1);
      }
    }
  };
  visit(alert, "", 0);
  return entries;
}

function lower(name: string): string {
  return name.slice(0, 100).toLowerCase();
}

function pathsIn(text: string): readonly string[] {
  const words = text.split(/[\s"'`()<>[\]|]+/);
  return words
    .filter((word) => word.length <= 500 && !word.includes("//"))
    .map((word) => word.replace(/[,;:.]{1,9}$/, ""))
    .filter((word) => PATH.test(word) && (REPOSITORY.test(word) || isEvidence(word)));
}

function isEvidence(path: string): boolean {
  return EVIDENCE.test(path) || (path.includes("/") && lastPart(path).includes("*"));
}

function lastPart(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Returns the first value of the first of these keys that an alert has. */
function valueFor(entries: readonly Entry[], keys: readonly string[], fits = (text: string) => text !== "") {
  for (const key of keys) {
    const entry = entries.find((each) => each.key === key && fits(each.text.trim()));
    if (entry) return entry.text.trim();
  }
  return undefined;
}

const MOST_SHOWN = 300;

/** Returns the cause and the description, without lines that name files and without what the title has. */
function textsOf(entries: readonly Entry[], title: string): readonly string[] {
  const texts = TEXTS.flatMap((key) => entries.filter((each) => each.key === key).map(({ text }) => text));
  const lines = texts.flatMap((text) => text.split("\n", 5)).map((line) => line.trim().slice(0, MOST_SHOWN));
  const wanted = lines.filter((line) => /[a-z]{3}/i.test(line) && !title.includes(line) && pathsIn(line).length === 0);
  return [...new Set(wanted)].slice(0, 5);
}

/** Reads a field, a tag of the form `service:checkout`, or the release `checkout@1.2.0`. */
function serviceOf(entries: readonly Entry[]): string | undefined {
  const tag = /(?:^|[\s,{])service[:=]\s?"?([\w./-]{1,100})/i;
  return (
    valueFor(entries, SERVICES, (text) => /^[\w ./-]{1,100}$/.test(text)) ??
    entries.flatMap(({ text }) => tag.exec(text)?.[1] ?? [])[0] ??
    valueFor(entries, ["release"], (text) => /^[\w.-]+@/.test(text))?.replace(/@.*/s, "")
  );
}

/** Writes a name in kebab case, at most eight words. */
function slug(name: string | undefined): string | undefined {
  const words =
    name
      ?.slice(0, 300)
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? [];
  return words.slice(0, 8).join("-") || undefined;
}

function startOf(entries: readonly Entry[]): string | undefined {
  const text =
    valueFor(entries, STARTS, (each) => TIME.test(each)) ?? entries.find((each) => TIME.test(each.text.trim()))?.text;
  const time = text === undefined ? epochOf(entries) : Date.parse(zoned(text.trim()));
  return time === undefined || Number.isNaN(time) ? undefined : new Date(time).toISOString();
}

/** A time without a zone is UTC. */
function zoned(text: string): string {
  return /(?:Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text.replace(" ", "T")}Z`;
}

/** Finds an epoch of this century, in seconds or milliseconds. */
function epochOf(entries: readonly Entry[]): number | undefined {
  const text = entries.find((entry) => /^1[5-9]\d{8}(?:\d{3})?(?:\.\d+)?$/.test(entry.text.trim()))?.text;
  if (text === undefined) return undefined;
  const number = Number(text);
  return number < 1e11 ? number * 1000 : number;
}
