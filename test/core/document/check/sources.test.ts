import { expect, test } from "vitest";
import { fieldPath } from "../../../../src/core/base/diagnostic.ts";
import { parseSource, sourceFields } from "../../../../src/core/document/check/sources.ts";
import type { Workflow } from "../../../../src/core/document/workflow/workflow.ts";

test.each([
  ["Look at the logs.", { kind: "inline", text: "Look at the logs." }],
  ["  spaced \n", { kind: "inline", text: "  spaced \n" }],
  [".hidden", { kind: "inline", text: ".hidden" }],
  ["prompts/collect.md", { kind: "inline", text: "prompts/collect.md" }],
  ["HTTPS://example.test", { kind: "inline", text: "HTTPS://example.test" }],
  ["ftp://example.test", { kind: "inline", text: "ftp://example.test" }],
  [" ./x", { kind: "inline", text: " ./x" }],
  ["./x.md", { kind: "file", path: "./x.md" }],
  ["../x.md", { kind: "file", path: "../x.md" }],
  ["/x.md", { kind: "file", path: "/x.md" }],
  [".../x", { kind: "inline", text: ".../x" }],
  ["http://example.test/x", { kind: "url", url: "http://example.test/x" }],
  ["https://example.test/x", { kind: "url", url: "https://example.test/x" }],
  [{ inline: "./x" }, { kind: "inline", text: "./x" }],
  [{ file: "x.md" }, { kind: "file", path: "x.md" }],
  [{ file: "https://example.test" }, { kind: "file", path: "https://example.test" }],
  [{ url: "https://example.test" }, { kind: "url", url: "https://example.test" }],
  [
    { url: "https://example.test", type: "fetch" },
    { kind: "url", url: "https://example.test" },
  ],
])("%j is classified by its form", (source, form) => {
  expect(parseSource(source)).toEqual(form);
});

test.each([
  ["", "SOURCE_INVALID_SHAPE"],
  [7, "SOURCE_INVALID_SHAPE"],
  [true, "SOURCE_INVALID_SHAPE"],
  [null, "SOURCE_INVALID_SHAPE"],
  [undefined, "SOURCE_INVALID_SHAPE"],
  [["./x"], "SOURCE_INVALID_SHAPE"],
  [{}, "SOURCE_INVALID_SHAPE"],
  [{ text: "x" }, "SOURCE_INVALID_SHAPE"],
  [{ inline: "" }, "SOURCE_INVALID_SHAPE"],
  [{ inline: 7 }, "SOURCE_INVALID_SHAPE"],
  [{ inline: "x", file: "y" }, "SOURCE_INVALID_SHAPE"],
  [{ inline: "x", note: "y" }, "SOURCE_INVALID_SHAPE"],
  [{ inline: "x", type: "fetch" }, "SOURCE_INVALID_SHAPE"],
  [{ file: "x", type: "fetch" }, "SOURCE_INVALID_SHAPE"],
  [{ type: "fetch" }, "SOURCE_INVALID_SHAPE"],
  [{ url: "https://example.test", type: "git" }, "SOURCE_INVALID_TYPE"],
  [{ url: "https://example.test", type: null }, "SOURCE_INVALID_TYPE"],
  [JSON.parse('{"__proto__": {"inline": "x"}}'), "SOURCE_INVALID_SHAPE"],
])("%j is no Source: %s", (source, code) => {
  expect(parseSource(source)).toMatchObject({ code });
});

test("the fields of a run are ordered runtime, workflow, nodes, and are named with brackets", () => {
  const workflow: Workflow = {
    id: "triage",
    name: "Triage",
    entry: "collect",
    rules: ["r0", "r1"],
    context: ["c0"],
    nodes: {
      collect: { name: "Collect", instruction: "i0", rules: ["n0"], context: { only: true, sources: ["n1", "n2"] } },
      assess: { name: "Assess", instruction: "i1" },
    },
    edges: [],
  };
  const fields = sourceFields(workflow, { rules: "alone", context: [{ inline: "a" }, 7], other: "ignored" });
  expect(fields.map(({ path, value }) => [fieldPath(path), value])).toEqual([
    ["input.rules[0]", "alone"],
    ["input.context[0]", { inline: "a" }],
    ["input.context[1]", 7],
    ["rules[0]", "r0"],
    ["rules[1]", "r1"],
    ["context[0]", "c0"],
    ["nodes.collect.instruction", "i0"],
    ["nodes.collect.rules[0]", "n0"],
    ["nodes.collect.context[0]", "n1"],
    ["nodes.collect.context[1]", "n2"],
    ["nodes.assess.instruction", "i1"],
  ]);
});

test("an input without rules and context, or with null or inherited ones, has no fields", () => {
  const workflow: Workflow = { id: "w", name: "W", entry: "a", nodes: {}, edges: [] };
  const inputs = [{}, { rules: null, context: [] }, Object.create({ rules: "x" })];
  expect(inputs.map((input) => sourceFields(workflow, input))).toEqual([[], [], []]);
});
