import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { loadSources, whyUnbuilt } from "../harness/installed-program.ts";

const made: string[] = [];
afterEach(() => {
  for (const root of made.splice(0)) rmSync(root, { recursive: true });
});

/** A checkout of a few sources. */
function makeCheckout(): string {
  const root = mkdtempSync(join(tmpdir(), "checkout-"));
  made.push(root);
  for (const folder of ["dist", "scripts", "skills/a", "src"]) mkdirSync(join(root, folder), { recursive: true });
  for (const name of ["package-lock.json", "scripts/build.mjs", "skills/a/skill.ts", "src/index.ts"]) {
    writeFileSync(join(root, name), name);
  }
  return root;
}

/** Writes the last file that `scripts/build.mjs` writes. */
async function stamp(root: string): Promise<void> {
  const { digestOfSources, STAMP } = await loadSources();
  writeFileSync(join(root, STAMP), digestOfSources(root));
}

describe("the build that tests drive", () => {
  it("must exist", async () => {
    expect(await whyUnbuilt(makeCheckout())).toBe("The program is not built. Run `npm run build`.");
  });

  it("is the build of these sources, whatever the times of their files", async () => {
    const root = makeCheckout();
    await stamp(root);
    writeFileSync(join(root, "src/index.ts"), "src/index.ts");
    expect(await whyUnbuilt(root)).toBeUndefined();
  });

  it.each([
    ["a changed source", "src/index.ts"],
    ["a new skill", "skills/b.ts"],
    ["a changed build script", "scripts/build.mjs"],
    ["other packages", "package-lock.json"],
  ])("is refused after %s", async (_, name) => {
    const root = makeCheckout();
    await stamp(root);
    writeFileSync(join(root, name), "changed");
    expect(await whyUnbuilt(root)).toBe("`dist/` was built from other sources. Run `npm run build`.");
  });
});
