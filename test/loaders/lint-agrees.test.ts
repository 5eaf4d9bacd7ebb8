import { chmodSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { discoverSkills } from "../../src/loaders/registry/discover.ts";
import { foldersAt, lintSkills } from "../../src/loaders/registry/lint.ts";
import { FORMATS } from "../../src/loaders/registry/open.ts";
import { foreignHost, makeFolder } from "./foreign.ts";

/** What the loader refuses of a generated skill, the lint calls an error; what it takes whole, the lint does not. */

const lint = (directory: string) =>
  lintSkills(foldersAt(directory), { formats: FORMATS, host: foreignHost, known: new Set() })
    .flatMap(({ problems }) => problems)
    .filter(({ severity }) => severity === "error");
const load = (directory: string) =>
  discoverSkills({ kind: "extra", path: join(directory, "made"), trusted: true }, FORMATS, foreignHost).found[0]
    ?.loaded;
const runs = Number(process.env.SKILLFLOW_LONG ? 2000 : 150);

const DOCUMENT = "---\nname: made\ndescription: Made up\n---\nUse it.\n";
const parameter = fc.record(
  {
    type: fc.constantFrom("string", "number", "integer", "word", 7),
    description: fc.constantFrom("d", "", 7),
    enum: fc.constantFrom(["a"], [], "a"),
    optional: fc.constantFrom(true, false, "yes"),
  },
  { requiredKeys: ["type"] },
);
const tool = fc.record(
  {
    name: fc.constantFrom("find", "act", "go_on", "Go", "read_skill", 7),
    description: fc.constantFrom("d", "d", "d", " ", 7),
    script: fc.constantFrom("scripts/a.js", "scripts/a.py", "scripts/a", "scripts/plain", "../a.js", 7),
    parameters: fc.oneof(
      fc.dictionary(fc.constantFrom("a", "b", "__workDir", "a b"), parameter, { maxKeys: 2 }),
      fc.constantFrom<unknown>({ type: "object" }, [], null),
    ),
    extra: fc.constant(1),
  },
  { requiredKeys: ["name", "description"] },
);

test("lint and loader agree over the tools of Skill Tools", () => {
  fc.assert(
    fc.property(fc.array(tool, { maxLength: 3 }), (tools) => {
      const directory = makeFolder({
        "made/SKILL.md": DOCUMENT,
        "made/tools.json": JSON.stringify(tools),
        "made/scripts/a.js": "export default () => 1;",
        "made/scripts/a.py": "def handler(args):\n    return 1\n",
        "made/scripts/a": "#!/bin/sh\n",
        "made/scripts/plain": "text",
      });
      chmodSync(join(directory, "made/scripts/a"), 0o755);
      const isWhole = load(directory)?.skill.tools.length === tools.length;
      // It loads, and every call of it fails.
      const isIdle = tools.some(({ script }) => script === "scripts/plain");
      const errors = lint(directory);
      if (isWhole && !isIdle) expect(errors).toEqual([]);
      else expect(errors).not.toEqual([]);
    }),
    { numRuns: runs },
  );
});

test("lint and loader agree over the id and the files of a contract", () => {
  const contract = fc.record({
    id: fc.constantFrom<unknown>("a.b", "A_b", "a b", "-a", 7, "x".repeat(129)),
    version: fc.constantFrom<unknown>("1.0.0", "1", 1),
    description: fc.constantFrom("d", ""),
    input: fc.constantFrom<unknown>({ type: "object" }, { type: "strin" }, {}, 7),
    output: fc.constantFrom<unknown>({}, { type: "object" }, 7),
  });
  fc.assert(
    fc.property(contract, (made) => {
      const binding = { function: "./f.mjs#f" };
      const files = {
        "made/contract.json": made,
        "made/binding.json": binding,
        "made/f.mjs": "export const f = () => ({});",
      };
      const directory = makeFolder(files);
      const loaded = load(directory);
      if (loaded && loaded.unavailable === undefined) expect(lint(directory)).toEqual([]);
      else expect(lint(directory)).not.toEqual([]);
    }),
    { numRuns: runs },
  );
});
