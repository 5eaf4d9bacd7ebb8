import { isObject, type Json, type JsonObject, mapStrings, stringsIn } from "../../base/values.ts";
import type { EventBody } from "../event/event.ts";
import type { CiteFault } from "../event/node-result.ts";
import { resultText } from "../event/prompt.ts";
import { STATE_TOOLS } from "../tools/own-tools.ts";
import { type CitedResult, type Evidence, type EvidenceQuestion, examine, INPUT_REF } from "./check.ts";
import { stringOf } from "./folded.ts";
import { containerOf } from "./records.ts";

/** The evidence in results: neither failures and writes, nor what repeats the input or an earlier write. */

/** Checks the claims. `blobs` are the texts of the cited results' blobs, by id. */
export function answerQuestion(question: EvidenceQuestion, blobs: ReadonlyMap<string, string>): EventBody {
  const { results, input } = question;
  const byRef = new Map(results.map((result) => [result.call.ref, result]));
  const evidenceOf = (ref: string): Evidence => {
    if (ref === INPUT_REF) return { texts: [resultText(input)], isTeam: false };
    const result = byRef.get(ref);
    if (result) return evidenceIn(result, blobs);
    return { problem: `${ref || "nothing"} is not a result of this run`, code: "unknown_ref", isTeam: false };
  };
  return examine(question, evidenceOf);
}

/** Returns the evidence in a result. Planned, failed, rejected and unfinished calls and writes are not evidence. */
function evidenceIn(
  { call, isTeam, isWrite, isOwnCode, sent, echoes, blobs }: CitedResult,
  read: ReadonlyMap<string, string>,
): Evidence {
  const { ref, outcome, input } = call;
  const none = (problem: string, code: CiteFault = "no_evidence"): Evidence => {
    return { problem: `${ref} ${problem}`, code, isTeam };
  };
  if (call.planned) return none("was planned, not carried out");
  // Before the outcome, because whether a write failed may be unknown after a crash. The reason must not depend on that.
  if (isWrite) return none("is the result of a write, which is not evidence");
  if (!outcome) return none("has no result");
  if ("error" in outcome || (isObject(outcome.output) && Boolean(outcome.output.error))) return none("failed");
  if (STATE_TOOLS.includes(call.tool)) return none("is what an earlier run noted, which is not evidence of this one");
  if (isOwnCode)
    return none("is the result of code that the model wrote. Cite the results that the code read", "own_code");
  const lines = sentLines(sent);
  const kept = blobs.flatMap(({ blob_id }) => read.get(blob_id) ?? []);
  const own = withoutEchoes(outcome.output, input, echoes);
  const parts = [own, ...kept];
  const texts = parts.map((part) => resultText(withoutSent(part, lines)));
  const whole = lines.size > 0 ? { whole: parts.map(resultText) } : {};
  return { texts, repeats: own !== outcome.output, ...whole, isTeam };
}

/**
 * Leaves out the parts of a result that repeat the call's own arguments: fields that the tool declares, or else fields
 * that are a string of the input or a list of such strings. Fields of the result's records are kept, and so are column
 * names that the input gave if the column has values.
 */
export function withoutEchoes(output: Json, input: Json, echoes: readonly string[] | undefined): Json {
  const sent = new Set(stringsIn(input));
  const isSent = (value: unknown) => typeof value === "string" && value !== "" && sent.has(value);
  if (!isObject(output)) return !echoes && isSent(output) ? "" : output;
  const { rows } = output as JsonObject;
  const isEmpty = (at: number) =>
    Array.isArray(rows) && rows.every((row) => !Array.isArray(row) || (row[at] ?? "") === "");
  let isWhole = true;
  const kept = Object.entries(output as JsonObject).flatMap(([name, value]): [string, Json][] => {
    const isList = Array.isArray(value) && value.length > 0 && value.every(isSent);
    if (!(echoes ? echoes.includes(name) : isSent(value) || isList)) return [[name, value]];
    const isTable = name === "columns" && Array.isArray(value) && Array.isArray(rows);
    const left = isTable ? value.map((column, at) => (isSent(column) && isEmpty(at) ? "" : column)) : [];
    isWhole &&= isTable && left.every((column) => column !== "");
    return isTable ? [[name, left]] : [];
  });
  return isWhole ? output : Object.fromEntries(kept);
}

const LEAST_OF_LINE = 8;

/** Returns the lines of prose in what writes sent, normalized. */
function sentLines(inputs: readonly Json[]): ReadonlySet<string> {
  const lines = inputs.flatMap(stringsIn).flatMap((text) => text.split("\n"));
  return new Set(lines.map(stringOf).filter((line) => line.length >= LEAST_OF_LINE && line.includes(" ")));
}

/** Replaces the lines of a result that repeat what an earlier write sent. No quote matches the replacement. */
export function withoutSent(output: Json, sent: ReadonlySet<string>): Json {
  if (sent.size === 0) return output;
  const withoutLines = (text: string) => {
    const lines = text.split("\n").map((line) => (sent.has(stringOf(line)) ? "[redacted:sent]" : line));
    return lines.join("\n");
  };
  return mapStrings(typeof output === "string" ? (containerOf(output) ?? output) : output, withoutLines);
}
