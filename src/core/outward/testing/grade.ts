import { withinSecond } from "../../base/schema/time-bound.ts";
import { groupBy, isObject, type JsonObject } from "../../base/values.ts";
import type { RunRecord } from "../../engine/event/record.ts";
import { findingOf } from "../../engine/finding/finding.ts";
import type { State } from "../../engine/fold/state.ts";
import type { Truth } from "./backtest.ts";

/** Compares what runs found with what is true. */

export const GRADES = ["right", "partly", "wrong", "abstained"] as const;
export type Grade = (typeof GRADES)[number];
const SCORES: Readonly<Record<Grade, number>> = { right: 1, partly: 0.5, wrong: 0, abstained: 0.25 };

/** Answer of a run. Null for what it does not contain. */
export type Answer = Readonly<ReturnType<typeof answerOf>>;

export type Part = Exclude<keyof Truth, "decoys">;

export interface Graded {
  readonly grade: Grade;
  readonly score: number;
  /** Whether each part that the truth has was met. */
  readonly parts: { readonly [Key in Part]?: boolean };
  /** Patterns of the decoys that the run took for the cause. */
  readonly decoys: readonly string[];
}

const INCONCLUSIVE = "inconclusive";
const LEAST_COMMIT = 7;

export function gradeAnswer(truth: Truth, answer: Answer): Graded {
  const parts = partsMet(truth, answer);
  const decoys = (truth.decoys ?? []).filter((pattern) => {
    return isMatch(pattern, answer.cause) && !answer.refuted.some((claim) => isMatch(pattern, claim));
  });
  const grade = gradeOf(truth, answer, { parts, decoys });
  return { grade, score: SCORES[grade], parts, decoys };
}

/** Grade of a run that failed or said nothing. */
export function gradeFailure(truth: Truth): Graded {
  const nothing = { verdict: null, cause_kind: null, commit: null, service: null, cause: null, refuted: [] };
  return { grade: "wrong", score: SCORES.wrong, parts: partsMet(truth, nothing), decoys: [] };
}

function gradeOf(truth: Truth, { verdict }: Answer, { parts, decoys }: Pick<Graded, "parts" | "decoys">): Grade {
  if (verdict === INCONCLUSIVE && truth.verdict !== INCONCLUSIVE) return "abstained";
  const { verdict: isVerdict = true, ...others } = parts;
  if (!isVerdict) return "wrong";
  const met = Object.values(others);
  if (met.every(Boolean)) return decoys.length > 0 ? "partly" : "right";
  return met.some(Boolean) ? "partly" : "wrong";
}

function partsMet(truth: Truth, answer: Answer): Graded["parts"] {
  const { verdict, cause_kind: kind, commit, service, cause_matches: patterns } = truth;
  return {
    ...(verdict === undefined ? {} : { verdict: answer.verdict === verdict }),
    ...(kind === undefined ? {} : { cause_kind: answer.cause_kind === kind }),
    ...(commit === undefined ? {} : { commit: isSameCommit(commit, answer.commit) }),
    ...(service === undefined ? {} : { service: answer.service?.toLowerCase() === service.toLowerCase() }),
    ...(patterns === undefined ? {} : { cause_matches: patterns.every((each) => isMatch(each, answer.cause)) }),
  };
}

/** Either id may be a prefix of the other. */
function isSameCommit(wanted: string, found: string | null): boolean {
  const [a, b] = [wanted.toLowerCase(), (found ?? "").toLowerCase()];
  return Math.min(a.length, b.length) >= LEAST_COMMIT && (a.startsWith(b) || b.startsWith(a));
}

/** A pattern that takes longer than a second counts as not matching. */
function isMatch(pattern: string, text: string | null): boolean {
  return text !== null && withinSecond(() => new RegExp(pattern, "i").test(text)) === true;
}

/** Reads the answer of a run: from its finding, and otherwise the last member of that name in its results. */
export function answerOf(record: RunRecord, state: State) {
  const finding = findingOf(state, record);
  const results = [...state.results.values()].map(({ data }) => data ?? {});
  const last = (key: string) => results.flatMap((data) => [...membersOf(data, key)]).at(-1) ?? null;
  const checks = state.path.flatMap(({ checked = [] }) => checked);
  return {
    verdict: finding.verdict ?? last("verdict"),
    cause_kind: last("cause_kind"),
    commit: finding.cause?.commit ?? last("commit"),
    service: last("service"),
    cause: finding.cause?.text ?? last("cause"),
    /** Claims that the run refuted with evidence that was found. */
    refuted: checks.flatMap(({ refuted = [] }) => refuted.flatMap(({ claim, holds }) => (holds ? claim : []))),
  };
}

function* membersOf(value: unknown, key: string): Generator<string> {
  if (Array.isArray(value)) for (const one of value) yield* membersOf(one, key);
  if (!isObject(value)) return;
  for (const [name, one] of Object.entries(value as JsonObject)) {
    if (name !== key) yield* membersOf(one, key);
    else if (typeof one === "string") yield one;
  }
}

/** Scores of the runs of each case, by id: the first run of all cases, then the second. */
export type Scores = ReadonlyMap<string, readonly number[]>;

/** Compares two results by the cases that both have. Undefined if there are none. */
export function compareScores(before: Scores, now: Scores) {
  const ids = [...now.keys()].filter((id) => before.has(id));
  if (ids.length === 0) return undefined;
  const [old, fresh] = [runMeans(before, ids), runMeans(now, ids)];
  const spread = 2 * Math.sqrt(errorOf(old) ** 2 + errorOf(fresh) ** 2);
  const [a, b] = [meanOf(old), meanOf(fresh)];
  return { before: a, now: b, spread, fell: a - b > spread + 1e-9, cases: ids.length };
}

function runMeans(scores: Scores, ids: readonly string[]): number[] {
  const rows = ids.map((id) => scores.get(id) ?? []);
  const runs = Math.max(...rows.map(({ length }) => length));
  return Array.from({ length: runs }, (_, run) => meanOf(rows.flatMap((row) => row[run] ?? [])));
}

export function meanOf(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function errorOf(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const mean = meanOf(values);
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return Math.sqrt(squares / (values.length - 1) / values.length);
}

/** Share of the runs with the most common answer. */
export function agreementOf(answers: readonly Pick<Answer, "verdict" | "cause_kind" | "commit">[]): number {
  const groups = groupBy(answers, ({ verdict, cause_kind, commit }) => {
    return JSON.stringify([verdict, cause_kind, commit?.toLowerCase().slice(0, LEAST_COMMIT) ?? null]);
  });
  return answers.length === 0 ? 1 : Math.max(...[...groups.values()].map(({ length }) => length)) / answers.length;
}
