import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { describeAbsence, parseSkillReference } from "../../../src/core/skill/skill-reference.ts";

describe("a reference to a skill", () => {
  it.each<[string, string, string | undefined]>([
    ["github", "github", undefined],
    ["fs.search@1.2.0", "fs.search", "1.2.0"],
    ["fs.search@^1.2", "fs.search", "^1.2"],
    ["fs.search@>=1 <3", "fs.search", ">=1 <3"],
    ["fs.search@latest", "fs.search", undefined],
    ["fs.search@*", "fs.search", undefined],
    ["fs.search@", "fs.search", undefined],
    ["@scope/x", "@scope/x", undefined],
    ["@scope/x@2", "@scope/x", "2"],
    ["", "", undefined],
    ["prometheus@eu", "prometheus@eu", undefined],
    ["prometheus@eu-1", "prometheus@eu-1", undefined],
    ["prometheus@1eu", "prometheus", "1eu"],
    ["prometheus@Eu", "prometheus", "Eu"],
  ])("%j refers to the id %j and the range %j", (text, id, range) => {
    expect(parseSkillReference(text)).toEqual({ id, range });
  });

  it("is never longer than what was written", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const { id, range } = parseSkillReference(text);
        expect(text.startsWith(id)).toBe(true);
        expect(id.length + (range?.length ?? 0)).toBeLessThanOrEqual(text.length);
      }),
    );
  });

  it("that does not match anything is reported with its range", () => {
    expect(describeAbsence("a")).toBe("no skill has this id");
    expect(describeAbsence("a@eu")).toBe("the skill a has no instance or version eu");
    expect(describeAbsence("a@^2")).toBe("no version of the skill a matches ^2");
  });
});
