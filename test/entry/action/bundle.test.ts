import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { outputsOf } from "../../../src/cli/ci/github.ts";
import { INPUT_NAMES } from "../../../src/entry/action/inputs.ts";
import { readOutputs } from "./step.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");

describe("action/", () => {
  it("is what npm run build:action makes of the sources, byte for byte", async () => {
    const folder = mkdtempSync(join(tmpdir(), "action-"));
    try {
      await promisify(execFile)(process.execPath, ["build-action.mjs", folder], { cwd: ROOT });
      const [made, kept] = [filesIn(folder), filesIn(join(ROOT, "action"))];
      expect([...kept.keys()]).toEqual([...made.keys()]);
      const differing = [...made].filter(([name, bytes]) => !kept.get(name)?.equals(bytes)).map(([name]) => name);
      expect(differing, "npm run build:action, and commit what it makes").toEqual([]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }, 120_000);

  it("tells the licence of what it bundles, and is no module of ECMAScript", () => {
    expect(readFileSync(join(ROOT, "action/LICENSES.txt"), "utf8")).toContain("@anthropic-ai/sdk");
    expect(JSON.parse(readFileSync(join(ROOT, "action/package.json"), "utf8"))).toEqual({ type: "commonjs" });
  });
});

describe("action.yml", () => {
  const { inputs, outputs, runs } = parse(readFileSync(join(ROOT, "action.yml"), "utf8"));

  it("is a JavaScript action of one file", () => {
    expect(runs).toEqual({ using: "node24", main: "action/index.js" });
  });

  it("names the inputs that the action reads, and none of them is needed by GitHub", () => {
    expect(Object.keys(inputs)).toEqual(INPUT_NAMES);
    for (const { required, description } of Object.values<Record<string, unknown>>(inputs)) {
      expect(required).toBeUndefined();
      expect(description).toMatch(/\.$/);
    }
  });

  it("names the outputs that the program tells", () => {
    const told = readOutputs(outputsOf({ run: "", status: "refused", planCount: 0 }, "END"));
    expect(Object.keys(outputs)).toEqual(Object.keys(told));
  });
});

function filesIn(folder: string): Map<string, Buffer> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  const files = names.filter((name) => statSync(join(folder, name)).isFile());
  return new Map(files.map((name) => [name, readFileSync(join(folder, name))]));
}
