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

  it("are taken under other names, and from members that may be absent", () => {
    const issue = { url: "u", team: { name: "Shop" }, user: null as { readonly login: string } | null };
    expect(JSON.stringify(pick(issue, "link:url team:team.name"))).toBe('{"link":"u","team":"Shop"}');
    expect(pick(issue, "author:user?.login")).toEqual({ author: undefined });
    expectTypeOf(pick(issue, "link:url author:user?.login")).toEqualTypeOf<{
      link: string;
      author: string | undefined;
    }>();
    // @ts-expect-error The user may be absent.
    expect(() => pick(issue, "author:user.login")).toThrow(TypeError);
    // @ts-expect-error The user has no such member.
    expect(pick(issue, "author:user?.name")).toEqual({ author: undefined });
  });
});
