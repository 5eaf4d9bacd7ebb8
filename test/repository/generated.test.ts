import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { generatedFiles } from "../../scripts/generate.ts";

const root = join(import.meta.dirname, "..", "..");

describe("generated files", async () => {
  const files = await generatedFiles();

  it.each([...files.keys()])("%s is up to date (npm run generate)", (path) => {
    expect(readFileSync(join(root, path), "utf8")).toBe(files.get(path));
  });

  it.each([...files.keys()].filter((path) => path.startsWith("schemas/")))("%s is a JSON Schema", (path) => {
    const ajv = new Ajv2020({ strict: false, logger: false });
    expect(() => ajv.compile(JSON.parse(files.get(path) ?? ""))).not.toThrow();
  });

  it("docs/fields.md describes every field", () => {
    const rows = (files.get("docs/fields.md") ?? "").split("\n").filter((line) => line.startsWith("| `"));
    expect(rows.length).toBeGreaterThan(150);
    expect(rows.filter((row) => /\|\s*\|$/.test(row))).toEqual([]);
  });
});
