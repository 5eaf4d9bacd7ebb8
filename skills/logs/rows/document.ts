import { isObject } from "skillflow/internal";
import { parseJson } from "../line/record.ts";
import type { Convert } from "./csv.ts";
import {
  camel,
  elementRows,
  isOtlp,
  OTLP_LISTS,
  OTLP_RECORDS,
  otlpRows,
  recordRows,
  type Surroundings,
  surroundingOf,
} from "./telemetry.ts";

/**
 * Converts JSON documents to rows, one JSON object per line: the elements of the main list, or else the document
 * itself. A document too large for memory is read in pieces, and the elements of all its lists become rows.
 */
export function convertDocuments(): Convert {
  let text = "";
  let reading: Reading | undefined;
  let skimmed: Skim = { depth: 0, inString: false, at: 0 };
  let isBroken = false;
  function* read(ended: boolean): Generator<string> {
    while (!isBroken && text !== "") {
      if (reading) {
        const { rest, state } = yield* walk(reading, text, ended);
        text = rest;
        if (state === "more") return;
        reading = undefined;
        skimmed = { depth: 0, inString: false, at: 0 };
        isBroken = state === "broken";
        continue;
      }
      if (skimmed.at === 0) text = text.replace(/^[\s,\ufeff]+/, "");
      if (text === "") return;
      isBroken = skimmed.at === 0 && !/^[{[]/.test(text);
      if (isBroken) break;
      const end = skim(text, skimmed);
      if (end !== undefined) {
        yield* documentRows(text.slice(0, end));
        text = text.slice(end);
        skimmed = { depth: 0, inString: false, at: 0 };
      } else if (text.length > MOST_HELD) reading = beginReading();
      else if (ended) isBroken = true;
      else return;
    }
    // Text that is not JSON is passed on unchanged.
    if (isBroken && text !== "") {
      const cut = ended || text.length > MOST_HELD ? text.length : text.lastIndexOf("\n") + 1;
      if (cut > 0) yield text.slice(0, cut).replace(/\n$/, "");
      text = text.slice(cut);
    }
  }
  return {
    *push(more) {
      text += more;
      yield* read(false);
    },
    *end() {
      yield* read(true);
    },
  };
}

const MOST_HELD = 256 * 1024;
const MOST_ELEMENT = 8 * 1024 * 1024;

interface Skim {
  depth: number;
  inString: boolean;
  /** Position to continue from. */
  at: number;
}

/** Returns the end of the value at the start of a text, or undefined if it is incomplete. */
function skim(text: string, state: Skim): number | undefined {
  let { depth, inString, at } = state;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === 92) at++;
      else if (code === 34) {
        inString = false;
        if (depth === 0) return at + 1;
      }
    } else if (code === 34) inString = true;
    else if (code === 123 || code === 91) depth++;
    else if ((code === 125 || code === 93) && --depth === 0) return at + 1;
  }
  Object.assign(state, { depth, inString, at });
  return undefined;
}

function* documentRows(raw: string): Generator<string> {
  const value = parseJson(raw);
  if (isOtlp(value)) for (const row of otlpRows(value)) yield JSON.stringify(row);
  else {
    const list = value === undefined ? undefined : Array.isArray(value) ? "" : mainList(value);
    if (list === undefined) yield* rowsOf(raw, value);
    else yield* walk(beginReading(list), raw, true);
  }
}

/** Finds a document's main list of objects: it makes up at least half of the text, or has a typical name. */
function mainList(value: unknown): string | undefined {
  const lists = listsIn(value, "", 4).map(({ path, list }) => ({ path, size: JSON.stringify(list).length }));
  const [largest] = lists.sort((a, b) => b.size - a.size);
  if (!largest) return undefined;
  return ANSWER.test(largest.path) || largest.size * 2 >= JSON.stringify(value).length ? largest.path : undefined;
}

/** Typical names of result lists in APIs. */
const ANSWER = /\/(?:results?|events|logEvents|records|items|hits|series|entries|datapoints|MetricDataResults)$/i;

function listsIn(value: unknown, path: string, depth: number): readonly { path: string; list: readonly unknown[] }[] {
  if (!isObject(value) || depth === 0) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    const at = `${path}/${key}`;
    if (!Array.isArray(member)) return listsIn(member, at, depth - 1);
    const isList = member.length > 0 && member.every((each) => typeof each === "object" && each !== null);
    return isList ? [{ path: at, list: member }] : [];
  });
}

/** Yields an element's rows, or its own text if it has none. */
function* rowsOf(raw: string, element: unknown): Generator<string> {
  const rows = element === undefined ? undefined : elementRows(element);
  if (rows) for (const row of rows) yield JSON.stringify(row);
  else yield raw.replace(/(?<!\s)\s*\n\s*/g, "");
}

interface Frame {
  readonly path: string;
  /** Kind of content: members of an object, rows, or elements that contain rows. */
  readonly kind: "object" | "rows" | "holders";
  /** Resource and scope inside an OpenTelemetry export. They precede their records. */
  readonly around: Surroundings | undefined;
  key: string | undefined;
}

type Purpose = "row" | keyof Surroundings | "nothing";

/** Value that is read as a whole. */
interface Capture {
  readonly purpose: Purpose;
  readonly skim: Skim;
  readonly pieces: string[];
  size: number;
}

function captureFor(purpose: Purpose): Capture {
  return { purpose, skim: { depth: 0, inString: false, at: 0 }, pieces: [], size: 0 };
}

interface Reading {
  readonly frames: Frame[];
  /** Path of the list whose elements are the rows. Without one, the elements of every list are. */
  readonly list: string | undefined;
  capture: Capture | undefined;
}

function beginReading(list?: string): Reading {
  return { frames: [], list, capture: undefined };
}

interface Walked {
  /** Text to prepend to the next piece. */
  readonly rest: string;
  readonly state: "more" | "done" | "broken";
}

/** Reads one document in pieces. Yields the elements of the list at a path or, without one, of every list. */
function* walk(reading: Reading, text: string, ended: boolean): Generator<string, Walked> {
  const { frames } = reading;
  let at = 0;
  while (at < text.length) {
    if (reading.capture) {
      at += yield* take(reading, reading.capture, text.slice(at));
      continue;
    }
    BETWEEN.lastIndex = at;
    BETWEEN.test(text);
    at = BETWEEN.lastIndex;
    const character = text[at];
    if (character === undefined) break;
    const frame = frames.at(-1);
    if (character === "}" || character === "]") {
      frames.pop();
      at++;
      const outer = frames.at(-1);
      if (!outer) return { rest: text.slice(at), state: frame ? "done" : "broken" };
      outer.key = undefined;
    } else if (character === "{" || character === "[") at += open(reading, character);
    else {
      TOKEN.lastIndex = at;
      const token = TOKEN.exec(text)?.[0];
      const end = at + (token?.length ?? 0);
      const isKey = frame?.kind === "object" && frame.key === undefined;
      if (token === undefined && character === '"' && frame && !isKey && !ended) {
        reading.capture = captureFor("nothing");
        continue;
      }
      const mayGoOn = !ended && text.length - at < MOST_SURROUNDINGS;
      if (token === undefined || (end === text.length && character !== '"')) {
        return { rest: text.slice(at), state: mayGoOn ? "more" : "broken" };
      }
      if (!frame) return { rest: text.slice(at), state: "broken" };
      frame.key = isKey ? String(parseJson(token)) : undefined;
      at = end;
    }
  }
  return { rest: "", state: ended ? "broken" : "more" };
}

/** Enters an object or a list, or begins to read it as a whole. Returns the number of characters read. */
function open(reading: Reading, character: string): number {
  const { frames, list } = reading;
  const frame = frames.at(-1);
  const path = frame?.key === undefined ? (frame?.path ?? "") : `${frame.path}/${frame.key}`;
  const next = openingOf(frame, { isList: character === "[", path, list });
  if (frame && typeof next === "string") {
    reading.capture = captureFor(next);
    return 0;
  }
  if (typeof next !== "string") frames.push({ path, key: undefined, ...next });
  return 1;
}

/** Reads more of a whole value, and yields its rows at its end. Returns the number of characters read. */
function* take(reading: Reading, capture: Capture, part: string): Generator<string, number> {
  const { skim: state, pieces, purpose } = capture;
  state.at = 0;
  const end = skim(part, state);
  const taken = end ?? part.length;
  capture.size += taken;
  if (purpose !== "nothing" && capture.size <= MOST_ELEMENT) pieces.push(part.slice(0, taken));
  else pieces.length = 0;
  if (end === undefined) return taken;
  const { frames } = reading;
  const frame = frames.at(-1) as Frame;
  const raw = pieces.join("");
  const value = purpose === "nothing" || raw === "" ? undefined : parseJson(raw);
  if (purpose === "row" && raw !== "") {
    if (frame.around && isObject(value)) {
      const name = camel(frame.path.split("/").at(-1) ?? "");
      for (const row of recordRows(name, value, frame.around)) yield JSON.stringify(row);
    } else yield* rowsOf(raw, value);
  } else if (purpose !== "row" && purpose !== "nothing" && raw.length <= MOST_SURROUNDINGS) {
    frames.splice(-1, 1, { ...frame, around: { ...frame.around, [purpose]: value } });
  }
  reading.capture = undefined;
  (frames.at(-1) as Frame).key = undefined;
  return taken;
}

const MOST_SURROUNDINGS = 64 * 1024;
const BETWEEN = /[\s,:]*/y;
const TOKEN = /"[^"\\]*(?:\\[\s\S][^"\\]*)*"|[-+.\w]+/y;

interface Opening extends Pick<Reading, "list"> {
  readonly isList: boolean;
  readonly path: string;
}

function openingOf(frame: Frame | undefined, opening: Opening): Purpose | Pick<Frame, "kind" | "around"> {
  const { isList, path, list } = opening;
  if (!frame) return isList ? { kind: "rows", around: undefined } : { kind: "object", around: undefined };
  if (frame.kind === "rows") return "row";
  const { around } = frame;
  if (frame.kind === "holders") return isList ? "nothing" : { kind: "object", around };
  const key = frame.key ?? "";
  if (isList && OTLP_LISTS.has(camel(key))) return { kind: "holders", around: around ?? {} };
  if (around) {
    if (isList) return OTLP_RECORDS.has(camel(key)) ? { kind: "rows", around } : "nothing";
    return surroundingOf(key) ?? "nothing";
  }
  if (isList) return list === undefined || list === path ? { kind: "rows", around } : "nothing";
  return path.split("/").length <= 5 ? { kind: "object", around } : "nothing";
}
