import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { withoutEchoes } from "../../../../src/core/engine/evidence/question.ts";
import { readQuote } from "../../../../src/core/engine/evidence/quote.ts";
import { findQuotes, nearestTo } from "../../../../src/core/engine/evidence/source.ts";

const find = (quote: string, result: unknown) => {
  const text = typeof result === "string" ? result : JSON.stringify(result);
  const [found] = findQuotes([text], [readQuote(quote)]);
  if (!found) return "not found";
  return found.length === 0 ? "crosses" : found.map((record) => record.text);
};

const LINES = "first line of it\nsecond line of it\nthird line of it";
const ROWS = {
  columns: ["service", "count"],
  rows: [
    ["checkout", 12],
    ["payments", 40],
  ],
};
const DIFF =
  "diff --git a/x b/x\n@@ -1,2 +1,2 @@\n-old value here\n+new value here\n@@ -9,2 +9,2 @@\n-other old line\n+other new line";

describe("a quote within one record", () => {
  test.each<[what: string, quote: string, result: unknown, records: unknown]>([
    ["of a line", "second line", LINES, ["second line of it"]],
    ["over two lines", "of it second line", LINES, ["first line of it\nsecond line of it"]],
    ["of a map of lines", "a timeout", { lines: { "f1@0": "a timeout", "f1@60": "an order" } }, ["a timeout"]],
    [
      "of an object of texts",
      "a timeout",
      { note: { a: "a timeout", b: "x" } },
      ['{"note":{"a":"a timeout","b":"x"}}'],
    ],
    ["of a line, with an ellipsis", "second … of it", LINES, ["second line of it"]],
    [
      "of an element",
      '"id":7,"state":"down"',
      [
        { id: 7, state: "down" },
        { id: 8, state: "up" },
      ],
      ['{"id":7,"state":"down"}'],
    ],
    ["of a row", '"checkout",12', ROWS, ['["checkout",12]']],
    ["of a row, with space around commas", '["checkout" , 12]', ROWS, ['["checkout",12]']],
    [
      "of a row with lists and objects in its cells",
      '["GET /products",5,{"14:38":3},["10 → 20"]]',
      {
        rows: [
          ["GET /products", 5, { "14:38": 3 }, ["10 → 20"]],
          ["GET /", 2, {}, []],
        ],
      },
      ['["GET /products",5,{"14:38":3},["10 → 20"]]'],
    ],
    [
      "of an inner element",
      "timeout after",
      { items: [{ id: 1, logs: [{ m: "timeout after 3 s" }, { m: "ok" }] }] },
      ['{"m":"timeout after 3 s"}'],
    ],
    ["of a list of texts", '"alpha","beta"', { tags: ["alpha", "beta"] }, ['{"tags":["alpha","beta"]}']],
    ["of a text in JSON", "second line", { log: LINES }, ["second line of it"]],
    [
      "of a hunk, with an ellipsis over its lines",
      "old value … new value",
      DIFF,
      ["@@ -1,2 +1,2 @@\n-old value here\n+new value here"],
    ],
    [
      "of a line that is JSON",
      '"level": "error"',
      '{"level":"info","n":1}\n{"level":"error","n":2}',
      ['{"level":"error","n":2}'],
    ],
    [
      "of an element in a line that is JSON",
      "disk is full",
      '{"all":[{"m":"disk is full"},{"m":"disk is fine"}]}\n{}',
      ['{"m":"disk is full"}'],
    ],
    [
      "that ends with the comma after it",
      '{"id":7,"state":"down"},',
      [{ id: 7, state: "down" }, { id: 8 }],
      ['{"id":7,"state":"down"}'],
    ],
  ])("%s", (_, quote, result, records) => {
    expect(find(quote, result)).toEqual(records);
  });

  test("is found in each record that has it", () => {
    expect(find("timed out", "a timed out\nb\nc timed out")).toEqual(["a timed out", "c timed out"]);
  });
});

describe("a quote across records", () => {
  test.each<[what: string, quote: string, result: unknown]>([
    ["of a map of lines, by an ellipsis", "timeout … order", { lines: { "f1@0": "a timeout", "f1@60": "an order" } }],
    ["of a map of lines", 'timeout","f1@60":"an', { lines: { "f1@0": "a timeout", "f1@60": "an order" } }],
    ["of lines, by an ellipsis", "first line … third line", LINES],
    ["of rows", '"checkout",12],["payments"', ROWS],
    ["of rows, by an ellipsis", "checkout … payments", ROWS],
    ["of elements", '"id":7},{"id":8', [{ id: 7 }, { id: 8 }]],
    [
      "of elements of a list in a line",
      'is full"},{"m":"disk',
      '{"all":[{"m":"disk is full"},{"m":"disk is fine"}]}\n{}',
    ],
    ["of hunks, by an ellipsis", "old value … other new", DIFF],
    ["of hunks", "+new value here @@ -9,2", DIFF],
    ["of lines of a text in JSON, by an ellipsis", "first line … third line", { log: LINES }],
    ["of lines of JSON, by an ellipsis", '"n":1 … "n":2', '{"level":"info","n":1}\n{"level":"error","n":2}'],
  ])("%s", (_, quote, result) => {
    expect(find(quote, result)).toBe("crosses");
  });
});

const words = fc.array(fc.constantFrom("pool", "exhausted", "order", "17", "1.5", "a,b", "x: y", "[z]", "é", "“q”"), {
  minLength: 4,
  maxLength: 8,
});
const line = words.map((all) => all.join(" "));
const record = fc.record({ id: fc.nat(), message: line, more: fc.option(fc.array(line, { maxLength: 3 })) });
const result = fc.oneof(
  fc.array(line, { minLength: 2, maxLength: 6 }).map((lines) => lines.join("\n")),
  fc.array(record, { minLength: 2, maxLength: 6 }),
  fc.record({ total: fc.nat(), items: fc.array(record, { minLength: 2, maxLength: 6 }), note: line }),
  fc.array(record, { minLength: 2, maxLength: 6 }).map((all) => all.map((each) => JSON.stringify(each)).join("\n")),
);
const way = fc.constantFrom<(quote: string) => string>(
  (quote) => quote,
  (quote) => `\`${quote}\``,
  (quote) => `${quote}.`,
  (quote) => `  ${quote}  `,
  (quote) => quote.replaceAll(" ", "  "),
  (quote) => quote.replaceAll(",", " , ").replaceAll(":", " : "),
);

test("no true quote of a record is refused, in any notation", () => {
  fc.assert(
    fc.property(result, fc.nat(), way, (value, pick, write) => {
      const texts =
        typeof value === "string"
          ? value.split("\n")
          : (Array.isArray(value) ? value : value.items).map(({ message }) => message);
      const messages = texts.map((text) =>
        text.startsWith("{") ? (JSON.parse(text) as { message: string }).message : text,
      );
      const quote = messages[pick % messages.length] ?? "";
      fc.pre(quote.replace(/\s/g, "").length >= 10);
      expect(find(write(quote), value)).toBeInstanceOf(Array);
    }),
    { numRuns: 500 },
  );
});

test("no quote that joins two records holds, unless one record has all of it", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(record, { minLength: 2, maxLength: 6, selector: ({ message }) => message }),
      fc.nat(),
      (items, pick) => {
        const first = items[pick % (items.length - 1)];
        const second = items[(pick % (items.length - 1)) + 1];
        const quote = `${first?.message} … ${second?.message}`;
        const found = find(quote, items);
        if (Array.isArray(found))
          for (const text of found) expect(text).toContain(JSON.stringify(second?.message).slice(1, -1));
        else expect(found).toBe("crosses");
      },
    ),
    { numRuns: 300 },
  );
});

test("the nearest text is the record that was most likely meant", () => {
  const quote = readQuote("second line of that");
  expect(nearestTo([LINES], quote)).toBe("second line of it");
  expect(nearestTo([LINES], readQuote("something else entirely, 4711"))).toBeUndefined();
});

test("of a long record, the nearest text is the part that was most likely meant", () => {
  const filler = (from: number) => Array.from({ length: 5000 }, (_, n) => `word${from + n}`).join(" ");
  const long = `${filler(0)} the pool of checkout was exhausted after 1500 ms ${filler(5000)}`;
  const near = nearestTo([long], readQuote("the pool for checkout was exhausted after 1500 ms")) ?? "";
  expect(near).toContain("the pool of checkout was exhausted after 1500 ms");
  expect(near.length).toBeLessThan(350);
});

test("deeply nested JSON is treated as text", () => {
  const deep = `${"[".repeat(100_000)}"the pool ran dry"${"]".repeat(100_000)}`;
  expect(find("the pool ran dry", deep)).toHaveLength(1);
  expect(find("503", `{"a":${deep},"status":503}`)).toBe("not found");
  expect(find("the pool ran dry", { log: deep, lines: [deep] })).toHaveLength(1);
});

test("fields that repeat the input are left out, records are not", () => {
  const output = { search: "pool", why: "asked", rows: [{ service: "pool" }] };
  expect(withoutEchoes(output, { q: ["pool"] }, undefined)).toEqual({ why: "asked", rows: [{ service: "pool" }] });
  expect(withoutEchoes(output, { q: ["pool"] }, ["why"])).toEqual({ search: "pool", rows: [{ service: "pool" }] });
  expect(withoutEchoes("pool", { q: "pool" }, undefined)).toBe("");
  expect(withoutEchoes("pool", { q: "pool" }, [])).toBe("pool");
  const lists = { paths: ["src/a.ts", "src/b.ts"], more: ["src/a.ts", "src/c.ts"] };
  expect(withoutEchoes(lists, { paths: ["src/a.ts", "src/b.ts"] }, undefined)).toEqual({ more: lists.more });
  const table = { columns: ["no disk", "count"], rows: [[null, 1]] };
  expect(withoutEchoes(table, { by: "no disk" }, ["columns"])).toEqual({ ...table, columns: ["", "count"] });
  const empty = { columns: ["no disk"], rows: [] };
  expect(withoutEchoes(empty, { by: ["no disk"] }, ["columns"])).toEqual({ columns: [""], rows: [] });
  expect(withoutEchoes(table, { by: "disk" }, ["columns"])).toBe(table);
  const filled = { columns: ["no disk", "count"], rows: [["yes", 1]] };
  expect(withoutEchoes(filled, { by: "no disk" }, ["columns"])).toBe(filled);
});
