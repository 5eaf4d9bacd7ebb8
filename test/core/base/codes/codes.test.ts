import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { explainCode, explainedCodes, gistOf } from "../../../../src/core/base/codes/explained.ts";
import { exitCodeOf, isErrorCode } from "../../../../src/core/base/errors.ts";

const SOURCE = join(import.meta.dirname, "../../../../src");

describe("the explanations of codes", () => {
  const all = explainedCodes();

  it("have one code each, whatever its case", () => {
    const codes = all.map(({ code }) => code.toLowerCase());
    expect(new Set(codes).size).toBe(codes.length);
    for (const found of all) expect(explainCode(` ${found.code.toLowerCase()} `)).toEqual(found);
    expect(explainCode("SELF-LOOP")).toBeUndefined();
  });

  it("of errors match the errors that exist", () => {
    const errors = all.filter(({ kind }) => kind === "error").map(({ code }) => code);
    expect(errors.filter((code) => !isErrorCode(code))).toEqual([]);
  });

  it("explain no code that the program never returns", () => {
    const names = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
    const text = names.map((name) => readFileSync(join(SOURCE, name), "utf8")).join("\n");
    expect(all.map(({ code }) => code).filter((code) => !text.includes(`"${code}"`))).toEqual([]);
  });

  it("name the exit code of errors", () => {
    for (const found of all) if (found.kind === "error") expect(found.exitCode).toBe(exitCodeOf(found.code));
  });

  it.each(all.map((found) => [found.code, found] as const))(
    "of %s are complete sentences, and short",
    (_code, found) => {
      for (const text of [found.what, found.mend, ...(found.why === undefined ? [] : [found.why])]) {
        expect(text).toMatch(/^[A-Z`"0-9a-z][\s\S]*[.`]$/);
        expect(text.length).toBeLessThan(420);
        expect(text).not.toContain("\n");
        expect((text.match(/`/g) ?? []).length % 2, text).toBe(0);
      }
      expect(gistOf(found).length).toBeLessThan(240);
    },
  );
});
