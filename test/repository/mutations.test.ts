import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { MUTATIONS } from "../mutations/list.ts";
import { openScratch, spoil } from "../mutations/scratch.ts";

/** Each security rule is covered by a test: without the rule, at least one test fails (`npm run test:mutations`). */

const ROOT = join(import.meta.dirname, "..", "..");

describe("the mutations of the security rules", () => {
  it("cover each of the fifteen rules, and some of them more than once", () => {
    const counts = Array.from({ length: 15 }, (_, index) => MUTATIONS.filter(({ rule }) => rule === index + 1).length);
    expect(counts.filter((count) => count === 0)).toEqual([]);
    for (const rule of [2, 3, 5, 6, 8]) expect(counts[rule - 1]).toBeGreaterThan(2);
  });

  it.each(MUTATIONS.map((mutation) => [mutation.harm, mutation] as const))(
    "have their text in the file: %s",
    (_, mutation) => {
      const text = readFileSync(join(ROOT, mutation.file), "utf8");
      expect(spoil(text, mutation)).not.toBe(text);
      expect(mutation.tests.filter((test) => !existsSync(join(ROOT, test)))).toEqual([]);
    },
  );

  it("are noticed, as one of them shows", { timeout: 120_000 }, () => {
    const [mutation] = MUTATIONS.filter(({ file }) => file === "src/core/base/address/address.ts");
    if (!mutation) throw new Error("there is none");
    const scratch = openScratch(ROOT);
    try {
      expect(scratch.notices({ ...mutation, after: mutation.before })).toBe(false);
      expect(scratch.notices(mutation)).toBe(true);
    } finally {
      scratch.close();
    }
  });
});
