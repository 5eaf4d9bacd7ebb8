import { describe, expect, it } from "vitest";
import { editYaml } from "../../../src/loaders/text/edit-yaml.ts";
import { parseYaml } from "../../../src/loaders/text/yaml-text.ts";

const TEXT = `# head
cases:
  - name: a   # its name
    expect:
      status: succeeded # as ever
      path: [a, b] # the way
      data: { a.n: 1, "b.t": "x" }
      called:
        - one # first
        - two

  - name: b
    expect: { verdict: "no" }
`;
const at = (...keys: (string | number)[]) => ["cases", 0, "expect", ...keys];

describe("an edited document", () => {
  it("is unchanged except for the value", () => {
    expect(editYaml(TEXT, [{ path: at("status"), value: "failed" }])).toBe(
      TEXT.replace("status: succeeded", "status: failed"),
    );
    expect(editYaml(TEXT, [{ path: at("path"), value: ["a", "b", "c"] }])).toBe(TEXT.replace("[a, b]", "[a, b, c]"));
    expect(editYaml(TEXT, [{ path: at("data", "a.n"), value: { x: [1] } }])).toBe(
      TEXT.replace("a.n: 1", "a.n: {x: [1]}"),
    );
    expect(editYaml(TEXT, [])).toBe(TEXT);
  });

  it("keeps the comments next to entries that remain, and next to removed ones", () => {
    expect(editYaml(TEXT, [{ path: at("called"), value: ["one", "three"] }])).toBe(TEXT.replace("- two", "- three"));
    const shorter = editYaml(TEXT, [{ path: at("called"), value: ["two"] }]);
    expect(shorter).toContain("# first");
    expect(parseYaml(shorter).value).toMatchObject({ cases: [{ expect: { called: ["two"] } }, { name: "b" }] });
  });

  it("gets a member that was not there", () => {
    const edited = editYaml(TEXT, [
      { path: at("verdict"), value: "yes" },
      { path: ["cases", 1, "expect", "status"], value: "failed" },
    ]);
    expect(parseYaml(edited).value).toMatchObject({
      cases: [{ expect: { verdict: "yes", status: "succeeded" } }, { expect: { status: "failed", verdict: "no" } }],
    });
  });

  it.each([["a: b"], ["@file"], ["- x"], ["two\nlines"], ["#"], [" "], ["yes"], ["'\""], ["* &x"]])(
    "quotes the text %j correctly",
    (value) => {
      const edited = editYaml(TEXT, [
        { path: at("status"), value },
        { path: at("path"), value: [value] },
        { path: at("called"), value: [value, value, value] },
        { path: at("data", "b.t"), value },
      ]);
      expect(parseYaml(edited).value).toMatchObject({
        cases: [
          { expect: { status: value, path: [value], called: [value, value, value], data: { "b.t": value } } },
          { name: "b" },
        ],
      });
    },
  );
});
