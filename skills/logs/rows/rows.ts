import { StringDecoder } from "node:string_decoder";
import { parseRecord } from "../line/record.ts";
import { type Fill, takeTurn } from "../read/blocks.ts";
import { type Convert, convertCsv } from "./csv.ts";
import { convertDocuments } from "./document.ts";
import { convertExposition, looksLikeExposition } from "./exposition.ts";
import { isOtlp } from "./telemetry.ts";

/** Format of a file: plain lines, or a format that is converted to rows, one JSON object per line. */
export type Layout = "lines" | "csv" | "json document" | "otlp" | "prometheus";

export function layoutOf(name: string, bytes: Buffer): Layout {
  const bare = name.replace(/\.gz$/i, "");
  const head = bytes.toString("utf8").replace(/^[\s\ufeff]+/, "");
  if (head.includes("\0")) return "lines";
  if (/\.[ct]sv$/i.test(bare)) return "csv";
  if (/^[{[]/.test(head)) return jsonLayout(bare, head);
  return looksLikeExposition(head) ? "prometheus" : "lines";
}

export function readRows(source: Fill, layout: Layout, name: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  return convert(source, converterOf(layout, name), signal);
}

const PIECE = 64 * 1024;

async function* convert(source: Fill, { push, end }: Convert, signal: AbortSignal): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(PIECE);
  const decoder = new StringDecoder("utf8");
  let isFirst = true;
  for (let read = await source(buffer); read > 0; read = await source(buffer)) {
    const text = decoder.write(buffer.subarray(0, read));
    yield* joined(push(isFirst ? text.replace(/^\ufeff/, "") : text));
    isFirst = false;
    await takeTurn(signal);
  }
  yield* joined(push(decoder.end()));
  yield* joined(end());
}

/** Joins rows into pieces as they are produced, because a short list may result in many rows. */
function* joined(rows: Iterable<string>): Generator<Buffer> {
  let text = "";
  for (const row of rows) {
    text += `${row}\n`;
    if (text.length < PIECE) continue;
    yield Buffer.from(text);
    text = "";
  }
  if (text !== "") yield Buffer.from(text);
}

function converterOf(layout: Layout, name: string): Convert {
  if (layout === "csv") return convertCsv(name);
  return layout === "prometheus" ? convertExposition() : convertDocuments();
}

/** Returns the layout of JSON: a document spans lines or is alone in its file. Lines may be exports with many rows. */
function jsonLayout(name: string, head: string): Layout {
  const [first = "", second = ""] = head.split("\n", 2);
  const isNamedLines = /\.(?:jsonl|ndjson|log|out|err)(?:\.|$)/i.test(name);
  if (/^[{[][\s{["]*"?resource_?(?:Logs|Spans|Metrics)"/i.test(head)) return "otlp";
  if (first.startsWith("[")) return isList(head, name) ? "json document" : "lines";
  if (parseRecord(first).format === "json") {
    const isOnly = head.slice(first.length).trim() === "";
    if (isOtlp(parseRecord(first).fields)) return "otlp";
    return isOnly && !isNamedLines ? "json document" : "lines";
  }
  if (parseRecord(second).format === "json" && second.startsWith("{")) return "lines";
  const isEndless = first.length === head.length;
  if (isEndless && isNamedLines) return "lines";
  return /^\{\s*(?:"|$)/.test(first) ? "json document" : "lines";
}

function isList(head: string, name: string): boolean {
  return /^\[\s*\{\s*["}]/.test(head) || (/\.json$/i.test(name) && /^\[\s*(?:[[{"\d-]|\])/.test(head));
}
