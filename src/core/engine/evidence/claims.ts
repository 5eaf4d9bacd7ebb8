import { followPath } from "../../base/path.ts";
import { isObject, type Json, type JsonObject } from "../../base/values.ts";
import type { EvidenceRule } from "../../document/workflow/evaluator.ts";

/** The claims of an answer, and what they cite. */

export interface Cite {
  /** `r7`, or what stands there instead. */
  readonly ref: string;
  readonly quote: string;
}

export interface CheckedCite extends Cite {
  /** Why it does not hold. */
  readonly problem?: string;
}

export interface CheckedClaim {
  /** As it was answered. */
  readonly claim: Json;
  readonly supported: boolean;
  readonly cites: readonly CheckedCite[];
}

/** Each claim's cites, in order; or what of the path is missing. */
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

/** The sentence of a claim, where it has one. */
export function claimText(claim: Json): string {
  if (typeof claim === "string") return claim;
  if (typeof claim !== "object" || claim === null) return String(claim);
  const texts = Object.values(claim).filter((value) => typeof value === "string");
  return texts[0] ?? JSON.stringify(claim);
}

/** `r7` and `[r7]` are references; anything else stays what it is. */
function refOf(text: string): string {
  return /^\[(r[1-9]\d*)\]$/.exec(text)?.[1] ?? text;
}

/** The answer without what does not hold (drop), or with each claim marked (mark). */
export function withoutUnsupported(
  rule: EvidenceRule,
  mode: "drop" | "mark",
  data: JsonObject,
  checked: readonly CheckedClaim[],
): JsonObject {
  let position = 0;
  const next = (claim: Json): Json | undefined => {
    const { supported = false, cites = [] } = checked[position++] ?? {};
    if (mode === "drop" && !supported) return undefined;
    const kept = keepCites(rule, claim, cites);
    return mode === "mark" && isObject(kept) ? { ...kept, supported } : kept;
  };
  return (replaceAt(segmentsOf(rule.claims), data, next) ?? {}) as JsonObject;
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

/** Replaces each value at a path, in order; undefined takes it out of its list or object. */
function replaceAt(path: readonly string[], value: Json, replace: (found: Json) => Json | undefined): Json | undefined {
  const [segment, ...rest] = path;
  if (segment === undefined) return replace(value);
  const key = segment.replace("[*]", "");
  if (!isObject(value) || !Object.hasOwn(value, key)) return value;
  const object = value as JsonObject;
  const member = object[key] as Json;
  if (!segment.endsWith("[*]")) return withMember(object, key, replaceAt(rest, member, replace));
  if (!Array.isArray(member)) return value;
  return withMember(
    object,
    key,
    member.map((item) => replaceAt(rest, item as Json, replace)).filter((item) => item !== undefined),
  );
}

function withMember(object: JsonObject, key: string, member: Json | undefined): JsonObject {
  const entries = Object.entries(object).map(([name, value]) => [name, name === key ? member : value] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as JsonObject;
}
