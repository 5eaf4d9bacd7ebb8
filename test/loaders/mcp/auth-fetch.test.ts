import { expect, test } from "vitest";
import { challengeError } from "../../../src/loaders/mcp/login/auth-fetch.ts";

test.each<[string | null, string | undefined]>([
  [null, undefined],
  ["Bearer", undefined],
  ['Bearer realm="a", error="insufficient_scope", scope="x"', "insufficient_scope"],
  ["Bearer error=insufficient_scope", "insufficient_scope"],
  ['Bearer ERROR = "insufficient_scope"', "insufficient_scope"],
  ['Basic realm="x", DPoP algs="ES256", Bearer error="invalid_token"', "invalid_token"],
  ['Bearer error="insufficient_scope_x"', "insufficient_scope_x"],
  ['Bearer error_description="say error=insufficient_scope"', undefined],
  ['Bearer error_description="say \\"error=insufficient_scope", error="invalid_token"', "invalid_token"],
  ['Bearer x-error="insufficient_scope"', undefined],
])("%j has the error %j", (header, error) => {
  expect(challengeError(header)).toBe(error);
});

test("takes no longer than its length", () => {
  for (const unit of ["a", "a=", ' a="', '\\"', "=", " ", ","]) challengeError(unit.repeat(500_000));
});
