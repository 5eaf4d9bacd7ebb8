import { isAddress } from "../../base/inert.ts";
import { defined, groupBy, isObject, type Json, type JsonObject, memo, parseJson, textAt } from "../../base/values.ts";
import { outputOf } from "../event/call.ts";
import { resultText } from "../event/prompt.ts";
import type { CheckedCite } from "../evidence/claims.ts";
import { momentAt } from "../evidence/moments.ts";
import { readQuote } from "../evidence/quote.ts";
import type { EvidenceRecord } from "../evidence/records.ts";
import { findQuotes } from "../evidence/source.ts";
import type { State } from "../fold/state.ts";
import type { FindingJson } from "./json.ts";

type Quote = FindingJson["claims"][number]["quotes"][number];

/** A quote that was found in a result, with what its record says about itself. */
export interface FoundQuote extends Readonly<Quote> {
  /** The quoted record. Undefined if it is in a part that was not read. */
  readonly record?: EvidenceRecord;
}

/** Quotes with the result they were found in: each step and report describes the same ones again. */
const known = new WeakMap<CheckedCite, { readonly output: Json | undefined; readonly found: FoundQuote }>();

/** Describes quotes. Reads each result once. Parts of results that are kept as blobs are not read. */
export function describeQuotes(state: State, cites: readonly CheckedCite[]): ReadonlyMap<CheckedCite, FoundQuote> {
  const described = new Map<CheckedCite, FoundQuote>();
  // Many quotes can be of one long record.
  const parsed = memo(parseJson);
  for (const [ref, group] of groupBy(cites, (cite) => cite.ref)) {
    const call = state.run.calls.get(ref);
    const output = ref === "input" ? state.context.input : call && outputOf(call);
    const fresh = group.filter((cite) => !known.has(cite) || known.get(cite)?.output !== output);
    const texts = output === undefined || fresh.length === 0 ? [] : [resultText(output)];
    const read = fresh.map(({ quote }) => readQuote(quote));
    for (const [index, [record] = []] of findQuotes(texts, read).entries()) {
      const cite = fresh[index] as CheckedCite;
      const fields = record && fieldsOf(record, parsed);
      const found = {
        ref,
        ...(call ? { tool: call.tool } : {}),
        quote: cite.quote,
        ...(record && fields ? { record, ...timeOf(record, fields) } : {}),
        ...defined("url", [textAt(fields, "url"), textAt(output, "url")].find(isAddress)),
      };
      known.set(cite, { output, found });
    }
    for (const cite of group) {
      const { found } = known.get(cite) ?? {};
      if (found) described.set(cite, found);
    }
  }
  return described;
}

/** Returns the members of a record: of an object, of a table's row, or of a line of JSON. */
function fieldsOf({ value, text, columns }: EvidenceRecord, parsed: typeof parseJson): JsonObject {
  if (columns && Array.isArray(value)) {
    return Object.fromEntries(columns.map((name, index): [string, Json] => [name, (value as Json[])[index] ?? null]));
  }
  const read = value ?? (/^\s*\{/.test(text) ? parsed(text) : undefined);
  return isObject(read) ? (read as JsonObject) : {};
}

const TIMES = ["time", "timestamp", "@timestamp", "at", "date", "ts"];
const LONGEST_TIME = 60;

function timeOf(record: EvidenceRecord, fields: JsonObject): { readonly time?: string } {
  const name = TIMES.find((each) => isTime(fields[each]));
  const line = record.value === undefined ? record.text.slice(0, LONGEST_TIME + 1).replace(/^[\s[("]+/, "") : "";
  const time = name === undefined ? line.slice(0, momentAt(line, 0)?.end ?? 0) : String(fields[name]);
  return time === "" ? {} : { time };
}

/** Checks whether a field has a time. `at` may be a place, such as `app.log@1024`. */
function isTime(value: Json | undefined): boolean {
  if (typeof value === "number") return true;
  if (typeof value !== "string" || value.length > LONGEST_TIME) return false;
  return /^\d+(?:\.\d+)?$/.test(value) || [...value.matchAll(/(?<!\w)\w/g)].some(({ index }) => momentAt(value, index));
}
