import { followPath } from "../../base/path.ts";
import { shortText } from "../../base/preview.ts";
import { defined, isObject, type Json, type JsonObject } from "../../base/values.ts";
import type { Workflow } from "../../document/workflow/workflow.ts";
import type { NodeResult } from "../event/node-result.ts";
import type { RunRecord } from "../event/record.ts";
import { heldIn } from "../evidence/claims.ts";
import { lastVisitsOf } from "../fold/last-visits.ts";
import type { State } from "../fold/state.ts";
import type { LastVisit } from "../fold/visit.ts";
import type { JudgedRecheck, RecheckedClaim } from "../recheck/answer.ts";
import { holds, type JudgedClaim, judgedAt, mergeClaims } from "./claims.ts";
import type { FindingJson } from "./json.ts";
import { isWithin, missingIn, missingWords, plainPath, type Told } from "./missing.ts";
import { describeQuotes, type FoundQuote } from "./quotes.ts";

/**
 * Conclusions of a run as far as it has come, after its checks. Independent of the run's status. The claims are those that
 * hold, those of the node with the cause first.
 */
export interface Finding extends Omit<FindingJson, "cause" | "claims"> {
  readonly run: string;
  readonly reportUrl?: string;
  readonly cause?: Cause;
  /** No claim of the node with the cause holds, or the cause or headline repeats a claim that does not. */
  readonly isUnshown?: true;
  /** No quote of any claim was found. */
  readonly isUnquoted?: true;
  /** If facts are missing: the headline without a remark about them. */
  readonly plainHeadline?: string;
  /** For a recheck: the claims of the earlier run, and whether their symptoms are gone. */
  readonly rechecked?: readonly RecheckedClaim[];
  readonly claims: readonly FoundClaim[];
}

export type Cause = Omit<NonNullable<FindingJson["cause"]>, "shown"> & { readonly confidence?: string };

/** A candidate that was ruled out, and the reason. */
export type Excluded = FindingJson["ruled_out"][number];

export interface FoundClaim extends JudgedClaim {
  readonly quotes: readonly FoundQuote[];
}

type Paths = NonNullable<Workflow["report"]>;
type Field = keyof Paths;
/** Record of the run whose results the state has. That of an inner run has the inner workflow. */
type Investigated = Pick<RunRecord, "run" | "report_url" | "workflow" | "inner">;

/** Reads the finding from the paths in the workflow's `report`. Without it, guesses from the field names of the results. */
export function findingOf(state: State, record: Investigated): Finding {
  const { judged, isUnshown, headline, plainHeadline, missing, found } = titled(state, record);
  const verdict = state.end?.verdict ?? verdictIn(rootIn(state), record.workflow);
  const kept = mergeClaims(judged.filter(holds));
  const cited = kept.flatMap(({ cites }) => heldIn(cites));
  const quotes = describeQuotes(state, cited);
  const claims = kept.map((claim): FoundClaim => {
    return { ...claim, quotes: heldIn(claim.cites).flatMap((cite) => quotes.get(cite) ?? []) };
  });
  return {
    run: record.run,
    ...defined("reportUrl", record.report_url),
    ...found,
    ...defined("headline", headline),
    ...defined("missing", missing),
    ...(missing ? defined("plainHeadline", plainHeadline) : {}),
    ...defined("verdict", verdict),
    ...(isUnshown ? { isUnshown } : {}),
    ...(judged.some(({ supported }) => supported) ? {} : { isUnquoted: true as const }),
    claims,
    counts: countsOf(judged),
  };
}

export function recheckFinding({ recheck, deciding }: JudgedRecheck, { report_url }: Investigated): Finding {
  const { run, of, answer, claims } = recheck;
  const symptoms = answer === "held" ? "The symptoms are gone" : (deciding?.claim ?? "no claim can be checked again");
  return {
    run,
    ...defined("reportUrl", report_url),
    headline: shortText(`${HEADS[answer]}: ${symptoms} (recheck of run ${of})`, MOST_TITLE),
    verdict: answer,
    ...{ ruled_out: [], missing_evidence: [], claims: [], rechecked: claims },
    counts: { claims: 0, kept: 0, partial: 0, unbound: 0 },
  };
}

const HEADS = { held: "Held", not_held: "Not held", inconclusive: "Inconclusive" } as const;

/** Returns the headline of a finding without describing its quotes. */
export function headlineIn(state: State, record: Investigated): string | undefined {
  return titled(state, record).headline;
}

function titled(state: State, record: Investigated) {
  const { workflow } = record;
  const read = workflow.report ? namedIn(rootIn(state), workflow.report) : guessedIn(speakersIn(state));
  const { source, told, ...found } = read;
  const visits = lastVisitsOf(state);
  const sources = visits.filter((visit) => isSource(visit, source));
  const judged = [...sources, ...visits.filter((visit) => !sources.includes(visit))].flatMap((visit) =>
    judgedAt(record, visit),
  );
  const isUnshown = isBare(record, sources, found) || repeatsUnshown(found, judged);
  const missing = missingIn(visits, told);
  const plainHeadline = isUnshown ? unshownTitle(found) : found.headline;
  const title = plainHeadline ?? found.cause?.text;
  const words = missingWords(missing, found.headline === undefined ? "cause" : "headline");
  const headline = title === undefined || words === undefined ? plainHeadline : markedTitle(title, ` (${words})`);
  return { found, judged, isUnshown, missing, plainHeadline, headline };
}

/** Returns the node that `report.cause` points into if evidence was checked there and no claim of it holds. */
export function unshownCause(state: State, record: Investigated): string | undefined {
  const { report } = record.workflow;
  if (report?.cause === undefined) return undefined;
  const { source, ...found } = namedIn(rootIn(state), report);
  const sources = lastVisitsOf(state).filter((visit) => isSource(visit, source));
  return found.cause && isBare(record, sources, found) ? source?.split(/[.[]/, 1)[0] : undefined;
}

/** Checks whether the path of a text leads into the data of a visit, or into that of a node inside a map or call. */
function isSource({ path, step }: LastVisit, source: string | undefined): boolean {
  const place = source?.includes("[*]") ? path.replace(/\[\d+\]/g, "[*]") : path;
  return source !== undefined && step.checked !== undefined && isWithin(source, place);
}

/** Checks whether evidence was checked where the cause or the headline comes from, and no claim there holds. */
function isBare(record: Investigated, sources: readonly LastVisit[], { cause }: Pick<Found, "cause">): boolean {
  const claims = sources.flatMap((visit) => judgedAt(record, visit));
  return sources.length > 0 && (cause !== undefined || claims.length > 0) && !claims.some(holds);
}

function rootIn({ results, context }: State): JsonObject {
  return { input: context.input, ...Object.fromEntries([...results].map(([node, { data }]) => [node, data])) };
}

function countsOf(judged: readonly JudgedClaim[]): Finding["counts"] {
  const kept = judged.filter(holds);
  return {
    claims: judged.length,
    kept: kept.length,
    partial: kept.filter(({ partial }) => partial).length,
    unbound: kept.filter(({ unbound }) => unbound).length,
  };
}

type Found = Omit<
  Finding,
  "verdict" | "claims" | "counts" | "isUnshown" | "isUnquoted" | "missing" | "run" | "reportUrl"
> & {
  /** Paths of the texts. */
  readonly told: readonly Told[];
  /** Path of the cause or, without a cause, of the headline. */
  readonly source?: string | undefined;
};

/** Checks whether the cause or the headline repeats a claim that does not hold. */
function repeatsUnshown(
  { headline, cause }: Pick<Found, "headline" | "cause">,
  claims: readonly JudgedClaim[],
): boolean {
  const sentences = (isShown: boolean) => {
    return new Set(claims.flatMap((claim) => (holds(claim) === isShown ? plain(claim.text) : [])));
  };
  const [shown, dropped] = [sentences(true), sentences(false)];
  const leads = [headline, cause?.text].flatMap((text) => (text === undefined ? [] : plain(text)));
  return leads.some((text) => dropped.has(text) && !shown.has(text));
}

/** Normalizes a sentence: collapses white space and removes the final period. */
function plain(text: string): string {
  return text.trim().split(/\s+/).join(" ").replace(/\.$/, "");
}

function unshownTitle({ headline, cause }: Pick<Found, "headline" | "cause">): string | undefined {
  const title = headline ?? cause?.text;
  return title === undefined ? undefined : shortText(`Cause not shown by evidence: ${title}`, MOST_TITLE);
}

/** Adds a remark to a title, in one line that no view cuts. */
function markedTitle(title: string, mark: string): string {
  return `${shortText(title.trim().split(/\s+/).join(" "), MOST_TITLE - mark.length)}${mark}`;
}

export const MOST_TITLE = 120;

/** Returns the cause in the words of every view. */
export function causeText({ cause, isUnshown }: Pick<Finding, "cause" | "isUnshown">): string | undefined {
  return cause && (isUnshown ? `not shown by evidence: ${cause.text}` : cause.text);
}

function verdictIn(root: JsonObject, { verdict = [] }: Pick<Workflow, "verdict">): string | undefined {
  const all = [verdict].flat().map((path) => valuesAt(path, root));
  const found = all.find((values) => values.length > 0) ?? [];
  return found.length === 1 && typeof found[0] === "string" ? found[0] : undefined;
}

/** Values of a field, and the path that they come from. */
interface Read {
  readonly path: string;
  readonly values: readonly Json[];
}

function namedIn(root: JsonObject, paths: Paths): Found {
  const around = paths.cause === undefined ? {} : besides(paths.cause, root);
  return collected(around, (field) => {
    const path = paths[field];
    return path === undefined ? undefined : { path: plainPath(path), values: valuesAt(path, root) };
  });
}

/** Collects a finding from its fields. `around`: the object that contains the cause, and may contain the lists. */
function collected(around: JsonObject, read: (field: Field) => Read | undefined): Found {
  const told = TEXTS.flatMap(([name, field]): Told[] => {
    const { path = "", values = [] } = read(name) ?? {};
    const text = textOf([...values]);
    return text === undefined ? [] : [{ field, path, text }];
  });
  const { cause: said, ...texts } = Object.fromEntries(told.map(({ field, text }) => [field, text])) as Texts;
  const cause = causeOf(said, around);
  const list = (field: Field) => (read(field)?.values ?? [around[field] ?? null]).flat() as Json[];
  return {
    ...texts,
    ...defined("cause", cause),
    ruled_out: list("ruled_out").flatMap(excludedOf),
    missing_evidence: list("missing_evidence").flatMap((item) => textOf(item) ?? []),
    source: read(cause ? "cause" : "headline")?.path,
    told,
  };
}

/** Fields with texts, and their names in a finding. */
const TEXTS = [
  ["headline", "headline"],
  ["severity", "severity"],
  ["impact", "impact"],
  ["cause", "cause"],
  ["action", "first_step"],
] as const;
type Texts = { readonly [Name in (typeof TEXTS)[number][1]]?: string };

function excludedOf(item: Json): Excluded[] {
  const text = textOf(item);
  const reasons = isObject(item) ? ["because", "why", "reason"].map((name) => textOf((item as JsonObject)[name])) : [];
  const why = reasons.find((reason) => reason !== undefined);
  return text === undefined ? [] : [{ text, ...(why === undefined || why === text ? {} : { why }) }];
}

/** Returns the values at a path. A missing value is not an error. */
function valuesAt(path: string, root: Json): readonly Json[] {
  const found = followPath(path, root);
  return "missing" in found ? [] : found;
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
const SPEAKING = ["text", "summary", "cause", "candidate", "claim", "title", "name", "what", "description"];

/** Returns the value at a path if it is an object, otherwise the object that contains it. */
function besides(path: string, root: Json): JsonObject {
  const [value] = valuesAt(path, root);
  if (isObject(value)) return value as JsonObject;
  const [around] = valuesAt(path.split(".").slice(0, -1).join("."), root);
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
  ruled_out: ["ruled_out"],
  missing_evidence: ["missing_evidence"],
};

function guessedIn(speakers: ReturnType<typeof speakersIn>): Found {
  const read = (field: Field) => {
    const isList = field === "ruled_out" || field === "missing_evidence";
    const isRight = (value: Json | undefined) => (isList || typeof value !== "object") && textOf(value) !== undefined;
    for (const name of NAMES[field]) {
      const found = speakers.find(({ data }) => isRight(data[name]));
      if (found) return { data: found.data, path: `${found.node}.${name}`, values: [found.data[name] ?? null] };
    }
    return undefined;
  };
  return collected(read("cause")?.data ?? {}, read);
}

/** Returns the data of each node whose last visit succeeded with some. Nodes with evals come first, then the latest. */
function speakersIn({ path }: State) {
  const last = new Map<string, NodeResult | undefined>();
  for (const { node, result } of path) {
    last.delete(node);
    last.set(node, result);
  }
  const gave = [...last].reverse().flatMap(([node, result]) => {
    const hasData = result?.status === "success" && Object.keys(result.data).length > 0;
    return hasData ? [{ node, data: result.data, isProven: (result.evals ?? []).length > 0 }] : [];
  });
  return [...gave.filter(({ isProven }) => isProven), ...gave.filter(({ isProven }) => !isProven)];
}

/** Returns the structured form. Members that are not known are absent. */
export function findingJson(finding: Finding): FindingJson {
  const { headline, plainHeadline, missing, verdict, severity, impact, cause, first_step, isUnshown, claims } = finding;
  const { confidence: _, ...where } = cause ?? { text: "" };
  const members = {
    headline: missing ? plainHeadline : headline,
    verdict,
    severity,
    impact,
    cause: cause && { ...where, shown: !isUnshown },
    first_step,
    claims: claims.map(({ text, status, quotes, unbound }) => ({
      ...{ claim: text, status, missing: unbound },
      quotes: quotes.map(({ record: _record, ...quote }) => quote),
    })),
    ruled_out: finding.ruled_out,
    missing_evidence: finding.missing_evidence,
    missing,
    counts: finding.counts,
  };
  return JSON.parse(JSON.stringify(members));
}
