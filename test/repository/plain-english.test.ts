import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

/** Comments are written in plain technical English: docs/development.md#language. */

const ROOT = join(import.meta.dirname, "..", "..");

const ROOMS = ["skills", "src"];

const RULES: readonly (readonly [name: string, pattern: RegExp])[] = [
  [
    "a doc comment starts with a verb or a noun",
    /^\s*(?:\/\*\*|\/\/)\s+(?:What|Of|Where|As|By|Those|One that|The same|Whether .* is)\b/,
  ],
  ['"is not a", not "is no"', /(?<!\b[Tt]here )\b(?:is|are|was) no (?!longer\b|such\b|more\b|one\b)[a-z]/],
  ["show, report or return, not tell", /\b(?:told|tells?|telling)\b/],
  [
    "the words of the field",
    /\b(?:nobody|somebody|whoever|anew|dear|beside|in place of|lets? in|at work|brought to|comes? to|bears?|held to)\b/i,
  ],
  ["a reason, not the id of a clause", /\b[DGQTSFEXRL]\d{1,3}\b|\b(?:trust|engines|extensions|fine-print) \d/],
  ["approve or deny, not a word", /\b(?:person's|somebody's) word\b|\bwaits? for (?:a|the) word\b/i],
];

function departures(path: string, text: string): string[] {
  return text.split("\n").flatMap((line, index) => {
    const comment = /^\s*(?:\/\*\*?|\*|\/\/)\s.*$/.exec(line)?.[0] ?? /\s\/\/ .*$/.exec(line)?.[0].trimStart();
    if (comment === undefined) return [];
    const broken = RULES.filter(([, pattern]) => pattern.test(comment));
    return broken.map(([name]) => `${path}:${index + 1} ${name}: ${comment.trim()}`);
  });
}

it("the language check accepts all comments", () => {
  const files = ROOMS.flatMap((room) =>
    readdirSync(join(ROOT, room), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => join(room, name)),
  );
  expect(files.length).toBeGreaterThan(800);
  expect(files.flatMap((path) => departures(path, readFileSync(join(ROOT, path), "utf8")))).toEqual([]);
});

it.each([
  "/** What a caller may ask for. */",
  "/** Whether a name is free. */ // is no name",
  "  // The server tells its version.",
  "const a = 1; // nobody reads it",
  "/** Redacts a value (D66). */",
  "/** Waits for a word. */",
])("the language check rejects %s", (line) => {
  expect(departures("a.ts", line)).not.toEqual([]);
});

it("the language check ignores code", () => {
  expect(departures("a.ts", 'const told = "nobody";')).toEqual([]);
});
