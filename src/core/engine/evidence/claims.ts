import { followPath } from "../../base/path.ts";
import { isObject, type Json, type JsonObject } from "../../base/values.ts";
import type { EvidenceRule } from "../../document/workflow/evaluator.ts";

/** Claims of an answer and their citations. */

export interface Cite {
  /** `r7`, or the invalid text given instead. */
  readonly ref: string;
  readonly quote: string;
}

export interface CheckedCite extends Cite {
  /** Reason that the citation is invalid. */
  readonly problem?: string;
}

export interface CheckedClaim {
  /** The claim as the model wrote it. */
  readonly claim: Json;
  readonly supported: boolean;
  readonly cites: readonly CheckedCite[];
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

/** Returns a claim's text, or its JSON if it has none. */
export function claimText(claim: Json): string {
  if (typeof claim === "string") return claim;
  if (typeof claim !== "object" || claim === null) return String(claim);
  const texts = Object.values(claim).filter((value) => typeof value === "string");
  return texts[0] ?? JSON.stringify(claim);
}

/** Removes the brackets from `[r7]`. Other text stays unchanged. */
function refOf(text: string): string {
  return /^\[(r[1-9]\d*)\]$/.exec(text)?.[1] ?? text;
}

/** Removes unsupported claims from the answer (drop), or marks each claim (mark). Removes invalid citations. */
export function withoutUnsupported(
  { rule, mode }: { readonly rule: EvidenceRule; readonly mode: "drop" | "mark" },
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
