import { followPath } from "../../base/path.ts";
import { isObject, type Json, type JsonObject, stringsIn } from "../../base/values.ts";
import type { EvidenceEvaluator, EvidenceRule } from "../../document/workflow/evaluator.ts";
import type { EventOf } from "../event/event.ts";
import { foldedClaim } from "./quote.ts";

export interface Cite {
  /** `r7`, or the invalid text given instead. */
  readonly ref: string;
  readonly quote: string;
}

export type Checked = EventOf<"evidence:checked">;
export type CheckedClaim = Checked["claims"][number];
export type CheckedCite = CheckedClaim["cites"][number];

/** Reasons of refuted claims by their text, as quotes are compared. */
export type Refutations = ReadonlyMap<string, string>;

export interface EarlierClaim {
  readonly node: string;
  readonly text: string;
  /** Citations that hold, if the claim is supported. */
  readonly cites: readonly Cite[];
}

/** Returns the claims in order, or the missing part of the path. */
export function claimsOf(rule: EvidenceRule, data: JsonObject): readonly Json[] | { readonly missing: string } {
  return followPath(rule.claims, data);
}

export function citesOf({ cites = "evidence[*]", ref = "ref", quote = "quote" }: EvidenceRule, claim: Json): Cite[] {
  const found = followPath(cites, claim);
  if ("missing" in found) return [];
  return found.map((cite) => ({ ref: refOf(scalarAt(ref, cite)), quote: scalarAt(quote, cite) }));
}

function scalarAt(path: string, cite: Json): string {
  const found = followPath(path, cite);
  const [value = null] = "missing" in found ? [] : found;
  return value === null || typeof value === "object" ? "" : String(value);
}

/** Returns a claim's text: its field `claim` or else its first string. Without one, returns its JSON. */
export function claimText(claim: Json): string {
  if (typeof claim === "string") return claim;
  if (typeof claim !== "object" || claim === null) return String(claim);
  const texts = [(claim as JsonObject).claim, ...Object.values(claim)].filter((value) => typeof value === "string");
  return texts[0] ?? JSON.stringify(claim);
}

/** Removes the claims with this text from the lists in the data of an earlier node. */
export function withoutClaim(data: JsonObject, text: string): JsonObject {
  const wanted = foldedClaim(text);
  const left = (value: Json): Json => {
    if (Array.isArray(value)) {
      return (value as readonly Json[]).filter((item) => foldedClaim(claimText(item)) !== wanted).map(left);
    }
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value as JsonObject).map(([key, member]) => [key, left(member)]));
  };
  return left(data) as JsonObject;
}

/** Returns the text of a claim whose facts are compared with the records: all its strings, without its citations. */
export function factualText({ cites = "evidence[*]" }: EvidenceRule, claim: Json): string {
  return stringsIn(replaceAt(segmentsOf(cites), claim, () => undefined) ?? null).join("\n");
}

/** Normalizes a reference: brackets, capitals and an offset do not count. Several are separated by a comma. */
function refOf(text: string): string {
  const refs = text.split(/[,;]/, MOST_REFS).map((part) => {
    return /^\s*\[?(r[1-9]\d{0,8}|input)(?:@\d{1,12})?\]?\s*$/i.exec(part)?.[1]?.toLowerCase();
  });
  return refs.every((ref) => ref !== undefined) ? refs.join(", ") : text;
}

const MOST_REFS = 10;

export function refsOf({ ref }: Cite): readonly string[] {
  return ref.split(", ", MOST_REFS);
}

/** Treatment of claims without support, and of those with facts that no quoted record contains. */
export interface ClaimModes {
  readonly unsupported: "fail" | "drop" | "mark";
  readonly unbound: "drop" | "mark";
}

export function modesOf(evaluator: EvidenceEvaluator | undefined): ClaimModes {
  return { unsupported: evaluator?.on_unsupported ?? "fail", unbound: evaluator?.on_unbound ?? "mark" };
}

export function heldIn(cites: readonly CheckedCite[]): CheckedCite[] {
  return cites.filter(({ problem }) => problem === undefined);
}

export function isDropped({ supported, unbound }: CheckedClaim, modes: ClaimModes): boolean {
  return (modes.unsupported === "drop" && !supported) || (modes.unbound === "drop" && unbound !== undefined);
}

/**
 * Removes claims from the answer, or marks them. Unless unsupported claims fail, removes invalid cites; marked claims list
 * them. Refutations that do not hold are treated like unsupported claims.
 */
export function withoutUnsupported(evaluator: EvidenceEvaluator, data: JsonObject, found: Checked): JsonObject {
  const { rule } = evaluator;
  const { claims, refuted = [] } = found;
  const modes = modesOf(evaluator);
  const isMixed = rule.refutes === rule.claims;
  let position = 0;
  const next = (claim: Json): Json | undefined => {
    const index = position++;
    const check = claims[index] ?? { claim, supported: false, cites: [] };
    const isFalse = isMixed && refuted[index]?.holds === false;
    if (isDropped(check, modes) || (isFalse && modes.unsupported === "drop")) return undefined;
    const { partial, unbound, cites } = check;
    const kept = modes.unsupported === "fail" ? claim : keepCites(rule, claim, cites);
    if (!isObject(kept)) return kept;
    const supported = check.supported && !isFalse;
    const marks = { supported, ...(partial ? { partial } : {}), ...(unbound ? { unbound } : {}) };
    if (modes.unsupported !== "mark") return { ...kept, ...marks };
    const rejected = cites.flatMap(({ ref, quote, problem }) => (problem ? [{ ref, quote, reason: problem }] : []));
    return { ...kept, ...marks, ...(rejected.length > 0 ? { rejected } : {}) };
  };
  const own = (replaceAt(segmentsOf(rule.claims), data, next) ?? {}) as JsonObject;
  return isMixed ? own : withoutFalse(evaluator, own, found);
}

/** Removes refutations that do not hold from the answer, or marks them. */
function withoutFalse(evaluator: EvidenceEvaluator, data: JsonObject, { refuted = [] }: Checked): JsonObject {
  const { refutes } = evaluator.rule;
  const { unsupported } = modesOf(evaluator);
  if (refutes === undefined || unsupported === "fail") return data;
  let position = 0;
  const next = (entry: Json): Json | undefined => {
    if (refuted[position++]?.holds !== false) return entry;
    if (unsupported === "drop") return undefined;
    return isObject(entry) ? { ...(entry as JsonObject), supported: false } : entry;
  };
  return (replaceAt(segmentsOf(refutes), data, next) ?? {}) as JsonObject;
}

function keepCites({ cites: path = "evidence[*]" }: EvidenceRule, claim: Json, cites: readonly CheckedCite[]): Json {
  let position = 0;
  const kept = replaceAt(segmentsOf(path), claim, (cite) => {
    return cites[position++]?.problem === undefined ? cite : undefined;
  });
  return kept ?? null;
}

function segmentsOf(path: string): readonly string[] {
  return path.replace(/^(all|any):/, "").split(".");
}

/** Replaces each value at a path, in order. Undefined removes it from its list or object. */
function replaceAt(path: readonly string[], value: Json, replace: (found: Json) => Json | undefined): Json | undefined {
  const [segment, ...rest] = path;
  if (segment === undefined) return replace(value);
  const key = segment.replace("[*]", "");
  if (!isObject(value) || !Object.hasOwn(value, key)) return value;
  const object = value as JsonObject;
  const member = object[key] as Json;
  if (!segment.endsWith("[*]")) return withMember(object, key, replaceAt(rest, member, replace));
  if (!Array.isArray(member)) return value;
  const items = member.map((item) => replaceAt(rest, item as Json, replace));
  const kept = items.filter((item) => item !== undefined);
  return withMember(object, key, kept);
}

function withMember(object: JsonObject, key: string, member: Json | undefined): JsonObject {
  const entries = Object.entries(object).map(([name, value]) => [name, name === key ? member : value] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as JsonObject;
}
