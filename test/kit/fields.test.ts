import { lenient, textLike } from "skillflow/internal";
import { expect, it } from "vitest";
import * as z from "zod";

it("textLike accepts text that matches and is not too long", () => {
  const field = textLike(/^[a-z]+$/, 3);
  expect(["abc", "abcd", "A", 7].map((value) => field.safeParse(value).success)).toEqual([true, false, false, false]);
  expect(z.toJSONSchema(field)).toMatchObject({ type: "string", maxLength: 3, pattern: "^[a-z]+$" });
});

it("lenient treats a field of an unexpected type as absent", () => {
  const answer = z.object({ count: lenient(z.number()) });
  expect([{ count: 7 }, { count: null }, {}, { count: "7" }].map((value) => answer.parse(value).count)).toEqual([
    7,
    null,
    undefined,
    undefined,
  ]);
});
