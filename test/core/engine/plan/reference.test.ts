import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileSchema } from "../../../../src/core/base/schema/schema.ts";
import { sha256 } from "../../../../src/core/base/sha256.ts";
import type { Json, JsonSchema } from "../../../../src/core/base/values.ts";
import { canonicalJson, operationDigest, planDigest, summarize } from "../../../../src/core/engine/event/operation.ts";
import {
  admitReferences,
  describeReferences,
  fillReferences,
  referencesIn,
} from "../../../../src/core/engine/plan/reference.ts";

/** References of an operation's input to the results of earlier ones. */

const RESULTS: Readonly<Record<string, Json>> = {
  "op-1": { url: "https://tracker/7", number: 7, labels: ["a", "b"], author: { login: "kim" }, text: "${op-2.url}" },
  "op-2": { url: "https://tracker/8" },
};
const fill = (input: Json) => fillReferences(input, (id) => RESULTS[id]);

describe("a reference", () => {
  test.each<[string, Json, Json]>([
    ["alone in a text keeps the type of what it stands for", "${op-1.number}", 7],
    ["may name the whole of a result", "${op-2}", { url: "https://tracker/8" }],
    ["within text is text", "see ${op-1.url} and #${op-1.number}", "see https://tracker/7 and #7"],
    ["to an object within text is its JSON", "by ${op-1.author}", 'by {"login":"kim"}'],
    ["may name an element of a list", "${op-1.labels[1]}", "b"],
    ["may name an element by a key", "${op-1.labels.0}", "a"],
    ["that is escaped is written out", "$${op-1.url}", "${op-1.url}"],
    ["is left as it is where it names no operation", "${HOME} ${op-x.url} ${op-1", "${HOME} ${op-x.url} ${op-1"],
    ["is filled in wherever a text stands", { a: [{ b: "${op-2.url}" }] }, { a: [{ b: "https://tracker/8" }] }],
    ["does not count as a key", { "${op-1.url}": 1 }, { "${op-1.url}": 1 }],
    ["that was filled in is never read again", "${op-1.text}", "${op-2.url}"],
    ["that was filled into text is never read again", "x ${op-1.text}", "x ${op-2.url}"],
    ["loses its escape within a text", "$${a} ${op-1.number}", "${a} 7"],
  ])("%s", (_, input, filled) => expect(fill(input)).toEqual({ input: filled }));

  test("inserts text as the caller changes it, alone and within a text", () => {
    const filled = fillReferences(
      ["${op-1.url}", "#${op-1.number}"],
      (id) => RESULTS[id],
      (text) => `<${text}>`,
    );
    expect(filled).toEqual({ input: ["<https://tracker/7>", "#<7>"] });
  });

  test.each<[string, Json]>([
    ["a field that is not there", "${op-1.nope}"],
    ["what every object has", "${op-1.constructor}"],
    ["an element behind the end", "${op-1.labels[2]}"],
    ["a field of a text", "${op-1.url.length}"],
    ["an operation without a result", "${op-9.url}"],
  ])("to %s is missing", (_, input) => expect(fill([input, input])).toEqual({ missing: [input] }));

  test("is found in every text, each operation once", () => {
    expect(referencesIn({ a: "${op-2.url} ${op-1.x} ${op-2}", b: ["$${op-3.url}", "${op-12[0].a}"] })).toEqual([
      "op-2",
      "op-1",
      "op-12",
    ]);
  });

  test("never changes a text without references, except for its escapes", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const value = JSON.parse(text) as Json;
        fc.pre(referencesIn(value).length === 0 && !text.includes("$${"));
        expect(fill(value)).toEqual({ input: value });
      }),
    );
  });
});

describe("a reference for readers", () => {
  test.each([
    ["see ${op-1.url}", "see ⟨link after apply: op-1⟩"],
    ["${op-12.html_url}", "⟨link after apply: op-12⟩"],
    ["${op-2.issue.id} and ${op-3}", "⟨issue.id after apply: op-2⟩ and ⟨result after apply: op-3⟩"],
    ["$${op-1.url} ${other}", "$${op-1.url} ${other}"],
  ])("describes its value: %s", (text, shown) => {
    expect(describeReferences(text)).toBe(shown);
  });
});

test("a reference of an operation is shown as its result once that is known, and an escape as it is sent", () => {
  const resultOf = (id: string) => (id === "op-1" ? { url: "https://t/1", n: 3 } : undefined);
  expect(describeReferences("${op-1.url} ${op-1.n} ${op-1.no} ${op-2.url} $${op-1.url}", resultOf)).toBe(
    "https://t/1 3 ⟨no after apply: op-1⟩ ⟨link after apply: op-2⟩ ${op-1.url}",
  );
});

describe("a schema that permits references", () => {
  const URL_TEXT: JsonSchema = { type: "string", pattern: "^https://", maxLength: 12, format: "uri" };
  const of = (property: Json): JsonSchema => ({
    type: "object",
    properties: { at: property },
    required: ["at"],
    additionalProperties: false,
  });
  test.each<[string, Json, Json, boolean]>([
    ["a number", { type: "integer", minimum: 1 }, "${op-1.number}", true],
    ["an object", { type: "object", required: ["x"] }, "${op-1.author}", true],
    ["an enumeration", { enum: ["a"] }, "${op-1.x}", true],
    ["a number, within text", { type: "integer" }, "no ${op-1.number}", false],
    ["text of any shape, alone", URL_TEXT, "${op-1.url}", true],
    ["text of any shape, within text", URL_TEXT, "see the ${op-1.url} of the issue", true],
    ["an enumeration of text, within text", { type: "string", enum: ["a"] }, "a ${op-1.url}", false],
    ["what takes text or numbers, within text", { type: ["string", "number"], maxLength: 2 }, "a ${op-1.url}", true],
    ["one of two that exclude each other", { oneOf: [{ type: "string" }, { type: "number" }] }, "${op-1.url}", true],
    ["a list's elements", { type: "array", items: { type: "number" } }, ["${op-1.number}", 3], true],
    ["a list's elements, and others not", { type: "array", items: { type: "number" } }, ["${op-1.number}", "3"], false],
    ["text, which is bound without one", URL_TEXT, "http://x", false],
    ["text, which is bound where it is escaped", URL_TEXT, "see $${op-1.url} there", false],
  ])("accepts %s", (_, property, value, fits) => {
    expect(compileSchema(admitReferences(of(property)))({ at: value }).length === 0).toBe(fits);
  });

  test("still requires required fields, and refuses unknown ones", () => {
    const check = compileSchema(admitReferences(of(URL_TEXT)));
    expect(check({})).not.toEqual([]);
    expect(check({ at: "${op-1.url}", other: 1 })).not.toEqual([]);
  });

  test("follows definitions", () => {
    const schema = { ...of({ $ref: "#/$defs/n" }), $defs: { n: { type: "integer" } } };
    expect(compileSchema(admitReferences(schema))({ at: "${op-1.number}" })).toEqual([]);
    expect(compileSchema(admitReferences(schema))({ at: "7" })).not.toEqual([]);
  });

  test("accepts all values that the schema itself accepts", () => {
    const plain = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
    const schema: JsonSchema = {
      type: "object",
      properties: {
        a: { type: ["string", "null"], minLength: 1, pattern: "^[a-z]*$" },
        b: { oneOf: [{ type: "integer", minimum: 3 }, { type: "boolean" }] },
        c: { type: "array", items: { anyOf: [{ type: "string", maxLength: 3 }, { type: "integer" }] }, maxItems: 2 },
      },
    };
    const value = fc.record({ a: plain, b: plain, c: fc.array(plain) }, { requiredKeys: [] });
    fc.assert(
      fc.property(value, (given) => {
        const isFit = compileSchema(schema)(given).length === 0;
        expect(compileSchema(admitReferences(schema))(given).length === 0).toBe(isFit);
      }),
    );
  });
});

describe("the canonical form for approvals", () => {
  test("is unique: names in the order of their UTF-16 units, numbers as ECMAScript writes them", () => {
    const value = { "\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\ud83d\ude00": 5, "\u0080": 6, "\u00f6": 7 };
    expect(canonicalJson(value)).toBe('{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\ud83d\ude00":5,"\ufb33":3}');
    expect(canonicalJson([Number("333333333.33333329"), 1e30, 4.5, 2e-3, 1e-27, -0])).toBe(
      "[333333333.3333333,1e+30,4.5,0.002,1e-27,0]",
    );
  });

  test("has one digest for any order of names, and another for any other input", () => {
    const digest = operationDigest({ skill: "s", tool: "t", input: { a: 1, b: "ü" } });
    expect(digest).toBe(sha256('{"input":{"a":1,"b":"ü"},"skill":"s","tool":"t"}'));
    expect(operationDigest({ tool: "t", skill: "s", input: { b: "ü", a: 1 } })).toBe(digest);
    expect(operationDigest({ skill: "s", tool: "t", input: { a: 1, b: "u" } })).not.toBe(digest);
    expect(planDigest([{ digest: "aa" }, { digest: "bb" }])).toBe(sha256("aabb"));
  });

  test.each<[string, Json, string]>([
    [
      "names the place and the words",
      { repository: "o/r", title: "Pool ran dry", body: "x" },
      "s t: repository o/r, “Pool ran dry”",
    ],
    ["is one line whatever was written", { text: "a\u001b[2Jb\n\nc\u202ed" }, "s t: “a [2Jb c d”"],
    ["shows the input without a better summary", { ids: [1] }, 's t: {"ids":[1]}'],
    ["is short", { title: "x".repeat(500) }, `s t: “${"x".repeat(153)}…`],
  ])("is summarized in a line that %s", (_, input, line) => {
    expect(summarize({ skill: "s", tool: "t", input })).toBe(line);
  });
});
