import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { publishedSchemas } from "../../src/core/outward/published.ts";
import { loadScript, loadTestFile } from "../../src/loaders/documents/test-file.ts";
import { runsOf } from "../harness/long.ts";

/** The published schemas of tests and scripts agree with the loader on every rule about a single field. */

const folder = mkdtempSync(join(tmpdir(), "skillflow-test-"));
afterAll(() => rmSync(folder, { recursive: true }));
const compiled = (name: string) => new Ajv2020({ strict: false }).compile(publishedSchemas().get(name) as object);
const isTest = compiled("test");
const isScript = compiled("script");
const file = join(folder, "x.test.yml");

function findingsInTest(value: unknown) {
  writeFileSync(file, JSON.stringify(value));
  return loadTestFile(file, "x.test.yml", folder).diagnostics;
}

function findingsInScript(value: unknown) {
  writeFileSync(file, JSON.stringify(value));
  const read = loadScript(file, "x", folder);
  return "script" in read ? [] : read.diagnostics;
}

const TEST = () => ({
  workflow: "./a.yml",
  model: "script:./a.script.yml",
  writes: "plan",
  fixtures: "live",
  tools: { a_b: [{ when: { x: "*" }, output: { y: [1] } }, { error: "gone" }] },
  cases: [
    {
      name: "one",
      input: { alert: "x" },
      writes: "allow",
      fixtures: "live",
      expect: {
        status: "succeeded",
        verdict: { in: ["incident"] },
        path: ["a", "b"],
        data: { "a.b": 1, "any:a.list[*].x": { at_least: 1 } },
        called: ["a_b"],
        not_called: ["a_c"],
        planned: [{ tool: "a_b", node: "a", input: { x: { matches: "y" } } }],
        evidence: { claims: 1, dropped: { at_most: 0 } },
        cost_usd: { at_most: 0.5 },
        tokens: { at_most: 10 },
        prompts: "unchanged",
      },
    },
  ],
});
const SCRIPT = () => ({
  replies: [
    { node: "a", text: "x", calls: [{ tool: "t", input: { q: 1 } }] },
    { data: { x: 1 } },
    { choice: "b", reasoning: "r" },
    { verdict: "yes" },
    { reflection: "why" },
  ],
});

type Path = readonly (string | number)[];

function pathsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, item]) => pathsIn(item, [...path, key]))];
}

/** A copy with another value at a place. With undefined, the place is removed. */
function changed(value: unknown, [key, ...rest]: Path, put: unknown): unknown {
  if (key === undefined) return put;
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string | number, unknown>;
  if (rest.length === 0 && put === undefined && !Array.isArray(copy)) delete copy[key];
  else copy[key] = changed(copy[key], rest, put);
  return copy;
}

const VALUES = [
  undefined,
  null,
  "",
  "x",
  0,
  -1,
  1.5,
  true,
  [],
  ["x"],
  [[]],
  {},
  { x: 1 },
  { at_leest: 1 },
  { equals: 1 },
];

describe.each([
  ["test", TEST, isTest, findingsInTest],
  ["script", SCRIPT, isScript, findingsInScript],
] as const)("the schema of a %s and the loader", (_name, rich, isValid, findings) => {
  test("accept the same document", () => {
    expect([isValid(rich()), findings(rich())]).toEqual([true, []]);
  });

  test("refuse the same changes of one field", () => {
    fc.assert(
      fc.property(fc.constantFrom(...pathsIn(rich())), fc.constantFrom(...VALUES), (path, put) => {
        if (path.length === 0 && put === undefined) return;
        const value = JSON.parse(JSON.stringify(changed(rich(), path, put)));
        const found = findings(value);
        const told = JSON.stringify([path, put, found.map(({ message }) => message), isValid.errors?.[0]]);
        if (!isValid(value)) expect(found.length, told).toBeGreaterThan(0);
        if (found.some(({ code }) => code === "SCHEMA")) expect(isValid(value), told).toBe(false);
        for (const { message, line } of found) expect([message.length > 5, line]).toEqual([true, 1]);
      }),
      { numRuns: runsOf(1200) },
    );
  });

  test("refuse an unknown key, except where names are free", () => {
    const places = pathsIn(rich()).filter(
      (path) => !["when", "output", "input", "data", "tools", "verdict"].some((free) => path.includes(free)),
    );
    for (const path of places) {
      const value = changed(rich(), [...path, "nobodys"], 1);
      const isMap =
        path.length === 0 || !Array.isArray(path.reduce((at: unknown, key) => (at as never)?.[key], rich()));
      if (isMap && typeof path.reduce((at: unknown, key) => (at as never)?.[key], rich()) === "object") {
        expect([path, isValid(value), findings(value).length > 0]).toEqual([path, false, true]);
      }
    }
  });
});
