import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { stringOf } from "../../../../src/core/engine/evidence/folded.ts";
import { readQuote } from "../../../../src/core/engine/evidence/quote.ts";
import { findQuotes } from "../../../../src/core/engine/evidence/source.ts";

/** Whether a result contains a quote. */

const stands = (quote: string, ...texts: string[]) => recordsOf(quote, ...texts) !== undefined;

/** The records that hold a quote. */
function recordsOf(quote: string, ...texts: string[]) {
  const [found] = findQuotes(texts, [readQuote(quote)]);
  return found?.length ? found.map(({ text }) => text) : undefined;
}

const LOG = "2026-11-22T08:55:42.500Z ERROR pool exhausted after 1500 ms (10 of 10 in use)\n\tat src/pool.js:53";
const NESTED = JSON.stringify({
  lines: [JSON.stringify({ level: "error", message: 'no "free" connection\nretry 3' })],
});

describe("a quote that a result contains", () => {
  test.each([
    ["as it is", "pool exhausted after 1500 ms", LOG],
    ["with other white space, over lines", "in use)  at\nsrc/pool.js:53", LOG],
    ["with typographic quotes and dashes", "“a – b” isn’t", 'said "a - b" isn\'t so'],
    ["in pieces in their order", "ERROR pool … 10 of 10 in use", LOG],
    ["in pieces separated by three dots, also at its ends", "...exhausted after... in use...", LOG],
    ["that holds dots itself", "Loading... done now", "Loading... done now"],
    ["in backticks, with a full stop in them", "`pool exhausted after.`", "the pool exhausted after"],
    ["in backticks, with a full stop after them", "`pool exhausted after`.", "the pool exhausted after"],
    ["with a number written otherwise", "exhausted after 1.5e3 ms", LOG],
    ["with a number with fraction zeros", "exhausted after 1500.00 ms", LOG],
    ["with a negative number", "delta is -5.0 now", "the delta is -5 now"],
    ["of a date alone", "2026-11-22", LOG],
    ["with a unit next to its number", "took 1500ms in all", "it took 1500ms in all, or more"],
    ["from JSON, unescaped", 'no "free" connection', JSON.stringify({ m: 'no "free" connection' })],
    ["from JSON in JSON, unescaped twice", 'no "free" connection retry 3', NESTED],
    ["from JSON, as the model saw it", '{"level":"error"', '[{"level":"error","n":1}]'],
    ["that is a whole field, however short", "503", '{"status":503,"path":"/"}'],
    ["that is a whole field of equal value", "503.0", '[{"status":503}]'],
    ["that is a whole element of a list", "yes", '{"all":["no","yes"]}'],
    ["that is a whole field in JSON in JSON", "error", NESTED],
    ["that is a whole row, however short", '["1",6]', '{"columns":["a","count"],"rows":[["2",9],["1",6]]}'],
    ["that is a whole object, however short", '{"a": 1}', '[{"a":1},{"a":2}]'],
    ["of a row whose text has quotation marks, escaped", '"pay \\"now\\" failed"', '[["pay \\"now\\" failed",1]]'],
    ["of a row whose text has quotation marks, plain", 'pay "now" failed', '[["pay \\"now\\" failed",1]]'],
    ["of a line of JSON in a row, escaped", '{\\"level\\":\\"error\\"', NESTED],
    ["of a line of JSON in a row, plain", '{"level":"error"', NESTED],
    [
      "that runs over a whole marker",
      "token [redacted:API_TOKEN] was refused",
      "the token [redacted:API_TOKEN] was refused",
    ],
    ["that writes a marker as an ellipsis", "the token … was refused", "the token [redacted:API_TOKEN] was refused"],
    ["in a blob", "the last line", '{"blob_id":"blob:1"}', "first\nthe last line\n"],
  ])("%s", (_, quote, ...texts) => {
    expect(stands(quote, ...texts)).toBe(true);
  });
});

describe("a quote that a result does not contain", () => {
  test.each([
    ["of other words", "pool exhausted before 1500 ms", LOG],
    ["that is as long as it has to be by what does not show", "\u200b\u200b\u200b\u200bpool", LOG],
    ["of a redaction alone, and what does not show", "[redacted:KEY]\u00ad".repeat(8), "[redacted:KEY]".repeat(8)],
    ["that is one number, written with many zeros", "000000010.000000", LOG],
    ["of short numbers, written with many zeros", "10.000000", LOG],
    ["in another case", "POOL EXHAUSTED AFTER", LOG],
    ["with another number", "exhausted after 1501 ms", LOG],
    ["with the beginning of a number", "exhausted after 15", LOG],
    ["with the end of a number", "500 ms (10 of 10 in use)", LOG],
    ["with the beginning of an identifier's number", "on node pod-4", "on node pod-42"],
    ["with the beginning of an address", "host 10.0.0.1", "host 10.0.0.12"],
    ["with another version of equal value", "release v1.20", "release v1.2"],
    ["with a thousands separator of its own", "1,500 requests", "1500 requests"],
    ["without the sign", "is 5 degrees", "it is -5 degrees"],
    ["with another large number", "id 9007199254740993", "id 9007199254740992"],
    ["in pieces in another order", "10 of 10 in use … ERROR pool", LOG],
    ["in pieces of which one is too short", "pool … (10 … in use", LOG],
    ["that is short and no whole field", "ERROR", LOG],
    ["that is short and a part of a row", '["1",6', '[["1",6,0]]'],
    ["that is short and a part of a field", "err", NESTED],
    ["that is empty", "", '{"a":""}'],
    ["that is an ellipsis", "…", '{"a":"…"}'],
    ["that is white space", "        ", "a         b"],
    ["inside a marker", "redacted:API_TOKEN", "the token [redacted:API_TOKEN] was refused"],
    ["of a marker's name", "API_TOKEN", "the token [redacted:API_TOKEN] was refused"],
    ["of a marker's variable of .env", "env API_TOKEN", "the token [redacted:.env API_TOKEN] was refused"],
    ["of another marker", "token [redacted:OTHER] was refused", "token [redacted:API_TOKEN] was refused"],
    ["over a part of a marker", "TOKEN] was refused", "the token [redacted:API_TOKEN] was refused"],
    ["that is a marker and little more", "a [redacted:API_TOKEN] b", "a [redacted:API_TOKEN] b"],
    ["that is a whole field that was redacted", "[redacted:API_TOKEN]", '{"token":"[redacted:API_TOKEN]"}'],
    ["that runs from one text into the next", "end of one begin of two", "end of one", "begin of two"],
  ])("%s", (_, quote, ...texts) => {
    expect(stands(quote, ...texts)).toBe(false);
  });
});

test("a few characters and a million dots are too short a quote", () => {
  expect(stands(`x${"…".repeat(1_000_000)}`, LOG)).toBe(false);
  expect(stands(`x${".".repeat(1_000_000)}`, LOG)).toBe(false);
});

test("a quote is found at any position, with the lines that contain it", () => {
  const text = fc.string({ minLength: 12, unit: fc.constantFrom("a", "b", " ", "\n", "é", "-", "x", ",", "[") });
  fc.assert(
    fc.property(text, fc.nat(), fc.integer({ min: 9, max: 40 }), (whole, from, length) => {
      const start = from % whole.length;
      const quote = whole.slice(start, start + length);
      fc.pre(quote.replace(/\s/g, "").length >= 9);
      const records = recordsOf(quote, whole);
      expect(records).toBeDefined();
      for (const record of records ?? []) expect(stringOf(record)).toContain(stringOf(quote.trim().replace(/,$/, "")));
    }),
    { numRuns: 300 },
  );
});

test("ten thousand quotes of a result of many lines are found quickly, each for itself", () => {
  const lines = Array.from(
    { length: 100_000 },
    (_, n) => `2026-11-22T08:00:00Z WARN request ${n} took ${n % 977} ms, retry`,
  );
  const quotes = Array.from({ length: 10_000 }, (_, n) => {
    const at = n * 10;
    return readQuote(
      n % 2 === 0 ? `WARN request ${at} took ${at % 977} ms` : `WARN request ${at} took ${(at % 977) + 1} ms`,
    );
  });
  const found = findQuotes([lines.join("\n")], quotes);
  expect(found.filter((one) => one !== undefined)).toHaveLength(5000);
  expect(found.every((one, n) => (one !== undefined) === (n % 2 === 0))).toBe(true);
});

test("quotes that repeat one letter cost no more than one search each", () => {
  const text = "a".repeat(300_000);
  const quotes = Array.from({ length: 500 }, (_, n) => readQuote(`${"a".repeat(200 + n)}b`));
  expect(findQuotes([text], quotes).some((one) => one !== undefined)).toBe(false);
});
