import { isCollection, isScalar, parseDocument } from "yaml";
import { PATH_PATTERN } from "../base/path.ts";
import type { Json } from "../base/values.ts";
import type { Condition, OutputMatch, ValueRule } from "./workflow/rule.ts";

/** Parser and printer for the short form of `if` on an edge: `PATH OP VALUE`. */

export const LONGEST = 1_000;
export const PATH = PATH_PATTERN.source.slice(1, -1);
const EXISTS = new RegExp(`^(${PATH})\\s+exists$`);
const COMPARISON = new RegExp(`^(${PATH})(?:\\s*(!=|>=|<=|=)\\s*|\\s+(in)\\s+)(\\S[\\s\\S]*)$`);
const HOW = "write PATH = VALUE, !=, >=, <=, PATH in [A, B], or PATH exists";

/** Parses a condition to a rule. Returns the problem as a string if it is invalid. */
export function parseCondition(condition: Condition): ValueRule | string {
  if (typeof condition !== "string") return condition;
  const text = condition.trim();
  if (text === "") return `is empty: ${HOW}`;
  if (text.length > LONGEST) return `has more than ${LONGEST} characters: use the long form, output_matches`;
  const exists = EXISTS.exec(text)?.[1];
  if (exists !== undefined) return { output_required: [exists] };
  const [, path, sign, word, written] = COMPARISON.exec(text) ?? [];
  if (path === undefined || written === undefined) return `is not understood: ${HOW}`;
  const value = parseFlowValue(written);
  if ("problem" in value) return value.problem;
  const match = matchOf(path, sign ?? word ?? "", value.value);
  return typeof match === "string" ? match : { output_matches: [match] };
}

function matchOf(path: string, operator: string, value: Value): OutputMatch | string {
  if (operator === "=") return { path, equals: value };
  if (operator === "!=") return { path, equals: value, not: true };
  if (operator === "in") return Array.isArray(value) ? { path, in: value } : "needs a list after in: [a, b]";
  if (typeof value !== "number") return `needs a number after ${operator}`;
  return operator === ">=" ? { path, at_least: value } : { path, at_most: value };
}

type Read = { readonly value: Value } | { readonly problem: string };
type Value = Exclude<OutputMatch["equals"], undefined>;

/** Parses one YAML 1.2 core flow value. A plain scalar ends at the end of the line. */
function parseFlowValue(text: string): Read {
  const simple = text.startsWith("[") && text.endsWith("]") ? simpleList(text) : simpleValue(text);
  if (simple !== undefined) return { value: simple };
  if (/^["'[{]/.test(text)) return parseBracketed(text);
  if (text.includes("\n")) return { problem: "has text after the end of its line" };
  if (/^[&*!|>%@`#,\]}=]/.test(text)) return { problem: `has a value that begins with ${text[0]}: write it in quotes` };
  const mayBeTyped = /^[-+.\w~]+$/.test(text) && !/^(-|---|\.\.\.)$/.test(text);
  const value: Value = mayBeTyped ? parseDocument(text, CORE).toJS() : text;
  return isInJson(value) ? { value } : { problem: NOT_FINITE };
}

/** Reads words, whole numbers and Booleans. To load the YAML parser takes longer than the rest of many commands. */
function simpleValue(text: string): string | number | boolean | undefined {
  if (/^(?:true|false|0|-?[1-9]\d{0,14})$/.test(text)) return JSON.parse(text);
  return /^(?!(?:true|false|null)$)[a-z_][\w-]*$/i.test(text) ? text : undefined;
}

function simpleList(text: string): Value | undefined {
  const values = text.slice(1, -1).split(", ").map(simpleValue);
  return values.every((value) => value !== undefined) ? values : undefined;
}

const NOT_FINITE = "needs a finite number";

/** Checks for finite numbers, because results are JSON, which has no others. */
function isInJson(value: Json): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  return typeof value !== "object" || value === null || Object.values(value).every((each) => isInJson(each as Json));
}

const CORE = { version: "1.2", schema: "core", logLevel: "silent" } as const;

function parseBracketed(text: string): Read {
  try {
    const document = parseDocument(text, CORE);
    const { errors, contents } = document;
    if (errors[0]) return { problem: `has an invalid value: ${errors[0].message.split("\n")[0]}` };
    const isFlow = isCollection(contents) ? contents.flow === true : isScalar(contents);
    if (!isFlow) return { problem: "has text after its value" };
    const value: Value = document.toJS();
    return isInJson(value) ? { value } : { problem: NOT_FINITE };
  } catch {
    return { problem: "has a value that is nested too deeply, or has too many aliases" };
  }
}

/** Formats a rule in the short form, or close to it, for `graph`, events and traces. */
export function showCondition({ output_required = [], output_matches = [] }: ValueRule): string {
  return [...output_required.map((path) => `${path} exists`), ...output_matches.map(showMatch)].join(" and ");
}

function showMatch(match: OutputMatch): string {
  const { path, equals, not } = match;
  if (equals !== undefined) return `${path} ${not ? "!=" : "="} ${showValue(equals)}`;
  const turned = not ? "not " : "";
  if (match.in !== undefined) return `${path} ${turned}in ${showValue(match.in)}`;
  if (match.at_least !== undefined) return `${path} ${turned}>= ${match.at_least}`;
  if (match.at_most !== undefined) return `${path} ${turned}<= ${match.at_most}`;
  return `${path} ${turned}matches ${match.matches}`;
}

function showValue(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(showElement).join(", ")}]`;
  return typeof value === "string" && readsBack(value, value) ? value : JSON.stringify(value);
}

function showElement(value: Json): string {
  return typeof value === "string" && readsBack(`[${value}]`, [value]) ? value : JSON.stringify(value);
}

function readsBack(text: string, value: Json): boolean {
  const read = text.trim() === text && text !== "" ? parseFlowValue(text) : { problem: "blank" };
  return "value" in read && JSON.stringify(read.value) === JSON.stringify(value);
}
