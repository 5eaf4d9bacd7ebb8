import { followPath } from "../../core/base/path.ts";
import { shortText } from "../../core/base/preview.ts";
import { isObject, type Json, type JsonObject } from "../../core/base/values.ts";
import { hasNothingShown } from "../../core/engine/fold/degraded.ts";
import { evidenceOf } from "./evidence.ts";
import type { Report } from "./report.ts";
import type { Visit } from "./visit.ts";
import { lastVisits } from "./visits.ts";

/** Conclusions of a run, independent of its status. */
export interface Finding {
  readonly headline?: string;
  readonly severity?: string;
  readonly impact?: string;
  readonly cause?: Cause;
  /** Recommended first step. */
  readonly action?: string;
  readonly verdict?: string;
  /** No claim of the node with the cause is supported, or the cause or headline repeats an unsupported claim. */
  readonly isUnshown?: true;
  /** Last visit of each node that returned data, best first. */
  readonly from: readonly Visit[];
}

export interface Cause {
  readonly text: string;
  readonly file?: string;
  readonly line?: string;
  readonly commit?: string;
  readonly confidence?: string;
}

type Field = "headline" | "severity" | "impact" | "cause" | "action";

/** Reads the finding from the paths in the workflow's `report`. Without it, guesses from the field names of the results. */
export function findingOf({ record, result }: Report, visits: readonly Visit[]): Finding {
  const from = speakersIn(visits);
  const { report } = record.workflow;
  const verdict = result.verdict === undefined ? {} : { verdict: result.verdict };
  const { node, ...found } = report ? namedIn(record.input, result.results, report) : guessedIn(from);
  const of = node === undefined || !Object.hasOwn(result.results, node) ? undefined : result.results[node];
  const isUnshown = (of && hasNothingShown(of)) || repeatsUnshown(found, visits);
  return { ...(isUnshown ? unshown(found) : found), ...verdict, from };
}

/** Checks whether the cause or the headline repeats a claim that evidence does not support. */
function repeatsUnshown({ headline, cause }: Found, visits: readonly Visit[]): boolean {
  const { claims } = evidenceOf(visits);
  const sentences = (isShown: boolean) => {
    return new Set(claims.flatMap(({ text, supported }) => (supported === isShown ? plain(text) : [])));
  };
  const [shown, dropped] = [sentences(true), sentences(false)];
  const leads = [headline, cause?.text].flatMap((text) => (text === undefined ? [] : plain(text)));
  return leads.some((text) => dropped.has(text) && !shown.has(text));
}

/** Normalizes a sentence: collapses white space and removes the final period. */
function plain(text: string): string {
  return text.trim().split(/\s+/).join(" ").replace(/\.$/, "");
}

type Found = Omit<Finding, "verdict" | "from"> & {
  /** Node that provided the cause or, without a cause, the headline. */
  readonly node?: string | undefined;
};

/** Marks a finding as unsupported, at the start of its headline and of its cause. */
function unshown({ headline, cause, ...found }: Found): Found {
  const title = headline ?? cause?.text;
  return {
    ...found,
    ...(title === undefined ? {} : { headline: shortText(`Cause not shown by evidence: ${title}`, MOST_TITLE) }),
    ...(cause ? { cause: { ...cause, text: `unsupported: ${cause.text}` } } : {}),
    isUnshown: true,
  };
}

const MOST_TITLE = 120;

function namedIn(
  input: JsonObject,
  results: Report["result"]["results"],
  paths: { readonly [Name in Field]?: string | undefined },
): Found {
  const data = Object.entries(results).map(([node, result]) => [node, result.data] as const);
  const root: JsonObject = { input, ...Object.fromEntries(data) };
  const text = (field: Field) => {
    const path = paths[field];
    return path === undefined ? undefined : textAt(path, root);
  };
  const causeAt = paths.cause;
  const cause = causeAt === undefined ? undefined : causeOf(text("cause"), besides(causeAt, root));
  const found = collected(
    { headline: text("headline"), severity: text("severity"), impact: text("impact"), action: text("action") },
    cause,
  );
  const path = cause ? causeAt : paths.headline;
  return { ...found, node: path?.replace(/^(?:all|any):/, "").split(".")[0] };
}

function collected(
  texts: { readonly [Name in Exclude<Field, "cause">]: string | undefined },
  cause: Cause | undefined,
): Found {
  const known = Object.entries(texts).filter(([, text]) => text !== undefined);
  return { ...(Object.fromEntries(known) as Found), ...(cause ? { cause } : {}) };
}

/** Returns the text at a path. A missing value is not an error. */
function textAt(path: string, root: Json): string | undefined {
  const found = followPath(path, root);
  if ("missing" in found) return undefined;
  const texts = found.flatMap((value) => textOf(value) ?? []);
  return texts.length === 0 ? undefined : texts.join("; ");
}

function textOf(value: Json | undefined): string | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value !== "object") return String(value).trim() === "" ? undefined : String(value);
  if (Array.isArray(value)) {
    const texts = value.flatMap((item: Json) => textOf(item) ?? []);
    return texts.length === 0 ? undefined : texts.join("; ");
  }
  const members = value as JsonObject;
  const name = SPEAKING.find((key) => typeof members[key] === "string");
  return name === undefined ? undefined : textOf(members[name]);
}

/** Fields that describe an object, best first. */
const SPEAKING = ["text", "summary", "cause", "claim", "title", "name", "what", "description"];

/** Returns the value at a path if it is an object, otherwise the object that contains it. */
function besides(path: string, root: Json): JsonObject {
  const values = followPath(path, root);
  const value = "missing" in values ? undefined : values[0];
  if (isObject(value)) return value as JsonObject;
  const parent = followPath(path.split(".").slice(0, -1).join("."), root);
  const around = "missing" in parent ? undefined : parent[0];
  return isObject(around) ? (around as JsonObject) : {};
}

function causeOf(text: string | undefined, around: JsonObject): Cause | undefined {
  if (text === undefined) return undefined;
  const told = CAUSE_FIELDS.flatMap((name) => {
    const value = textOf(around[name]);
    return value === undefined ? [] : [[name, value]];
  });
  return { text, ...Object.fromEntries(told) };
}

const CAUSE_FIELDS = ["file", "line", "commit", "confidence"] as const;

const NAMES: Readonly<Record<Field, readonly string[]>> = {
  headline: ["headline", "title", "conclusion", "root_cause", "cause", "summary", "finding", "answer"],
  severity: ["severity", "priority"],
  impact: ["impact"],
  cause: ["cause", "root_cause", "diagnosis"],
  action: ["first_step", "action", "next_step", "recommendation"],
};

function guessedIn(speakers: readonly Visit[]): Found {
  const datas = speakers.map(({ node, result }) => ({ node, data: result?.data ?? {} }));
  const find = (field: Field) => {
    for (const name of NAMES[field]) {
      const found = datas.find(({ data }) => typeof data[name] !== "object" && textOf(data[name]) !== undefined);
      if (found) return { ...found, text: textOf(found.data[name]) };
    }
    return undefined;
  };
  const text = (field: Field) => find(field)?.text;
  const cause = find("cause");
  const found = collected(
    { headline: text("headline"), severity: text("severity"), impact: text("impact"), action: text("action") },
    cause && causeOf(cause.text, cause.data),
  );
  return { ...found, node: (cause ?? find("headline"))?.node };
}

/** Returns each node's last visit if it succeeded with data. Visits with evals come first, then the latest. */
function speakersIn(visits: readonly Visit[]): Visit[] {
  const gave = lastVisits(visits).filter(
    ({ result }) => result?.status === "success" && Object.keys(result.data).length > 0,
  );
  const newest = gave.sort((a, b) => b.number - a.number);
  return [...newest.filter(isProven), ...newest.filter((visit) => !isProven(visit))];
}

function isProven({ result }: Visit): boolean {
  return (result?.evals ?? []).length > 0;
}
