import { each, pick } from "skillflow/internal";
import { describe, expect, expectTypeOf, it } from "vitest";

describe("members named in one string", () => {
  it("get the same value, in the order of their names", () => {
    const shape = { id: "number", ...each("text", "title state"), url: "any" };
    expect(JSON.stringify(shape)).toBe('{"id":"number","title":"text","state":"text","url":"any"}');
    expect(each(7, "one")).toEqual({ one: 7 });
    expectTypeOf(each("text", "title state")).toEqualTypeOf<Record<"title" | "state", "text">>();
  });

  it("are taken from an object, in the order of their names", () => {
    const issue = { url: "u", title: "Slow", state: "open", body: "long" };
    expect(JSON.stringify(pick(issue, "state title"))).toBe('{"state":"open","title":"Slow"}');
    expectTypeOf(pick(issue, "state title")).toEqualTypeOf<Pick<typeof issue, "state" | "title">>();
    // @ts-expect-error The object has no member of this name.
    expect(pick(issue, "state owner")).toEqual({ state: "open", owner: undefined });
  });
});
