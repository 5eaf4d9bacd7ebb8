import { chmodSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { compileSchema } from "../../src/core/base/schema/schema.ts";
import { isReservedTool } from "../../src/core/engine/tools/own-tools.ts";
import { discoverSkills } from "../../src/loaders/registry/discover.ts";
import { foldersAt, lintSkills } from "../../src/loaders/registry/lint.ts";
import { LONG } from "../harness/long.ts";
import { foreignHost, makeFolder } from "./foreign.ts";

/**
 * If the loader refuses a generated skill, the lint reports an error. If the loader accepts it completely, the lint
 * does not.
 */

const lint = (directory: string) =>
  lintSkills(foldersAt(directory), { host: foreignHost, known: new Set() })
    .flatMap(({ problems }) => problems)
    .filter(({ severity }) => severity === "error");
const load = (directory: string) =>
  discoverSkills({ kind: "extra", path: join(directory, "made"), trusted: true }, foreignHost).found[0]?.loaded;
/** Mostly valid values, so that a fault is usually the only one. */
const mostly = (sound: unknown, ...faulty: readonly unknown[]) =>
  fc.oneof({ weight: 25 * faulty.length, arbitrary: fc.constant(sound) }, ...faulty.map((one) => fc.constant(one)));
const runs = LONG ? 2000 : 30;

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

test("lint and loader agree about the tools of Skill Tools", () => {
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
    {
      numRuns: runs,
      examples: [[[{ name: "find", description: "d", parameters: { __workDir: { type: 7, description: "d" } } }]]],
    },
  );
});

test("lint and loader agree about the id and the files of a contract", () => {
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

test("lint and loader agree about the tools of a descriptor", () => {
  const parameters = mostly(
    { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
    { type: "object" },
    { type: "string" },
    { type: "object", properties: { a: { type: "strin" } } },
    7,
  );
  const described = fc.record(
    {
      name: mostly("find", "go_on", "a b", "", 7),
      description: fc.constant("d"),
      parameters,
    },
    { requiredKeys: ["name", "description", "parameters"] },
  );
  const argument = fc.record(
    {
      param: mostly("a", "b", "", 7),
      kind: mostly("positional", "flag", "flagifboolean", "flagIfBoolean", "stdin", "literal"),
      flag: mostly("all", "--all", "-", 7),
      flagIfTrue: fc.constant("--yes"),
      optional: mostly(true, "yes"),
      denyPattern: mostly("^x", "("),
      denyAlwaysResolve: fc.constant(true),
      resolveCommand: mostly(
        { binary: "echo", subcommand: "x", args: ["$a"] },
        { binary: "echo", subcommand: "other" },
        { script: "find.sh" },
        { script: "gone.sh" },
        { script: "../find.sh" },
        {},
      ),
      extra: fc.constant(1),
    },
    { requiredKeys: ["param"] },
  );
  const execution = fc.record(
    {
      tool: mostly("find", "go_on", "gone"),
      binary: mostly("echo", "cat", "", 7),
      subcommand: mostly("x", "y"),
      args: fc.oneof({ weight: 50, arbitrary: fc.array(argument, { maxLength: 2 }) }, fc.constant<unknown>({})),
      maxOutputLines: mostly(3, -1),
      hintConditions: mostly([{ hint: "h" }], [{}]),
      extra: fc.constant(1),
    },
    { requiredKeys: ["tool", "binary", "subcommand"] },
  );
  const manifest = fc.record({
    tools: fc.array(described, { minLength: 1, maxLength: 2 }),
    allowlist: mostly({ echo: ["x"] }, { echo: "x" }, []),
    execution: fc.array(execution, { minLength: 1, maxLength: 2 }),
  });
  fc.assert(
    fc.property(manifest, (made) => {
      const directory = makeFolder({
        "made/SKILL.md": DOCUMENT,
        "made/tools.json": JSON.stringify(made),
        "made/scripts/find.sh": "echo x\n",
      });
      const loaded = load(directory);
      const refused = loaded?.diagnostics.filter(({ code }) => code !== "MANIFEST_KEY_UNKNOWN") ?? [];
      // It loads, and every call that gives the parameter fails.
      const isIdle = /(?:gone|\.\.\/find)\.sh/.test(JSON.stringify(made));
      const isWhole = !isIdle && loaded?.skill.tools.length === made.tools.length && refused.length === 0;
      const said = JSON.stringify(refused);
      if (isWhole) expect(lint(directory), said).toEqual([]);
      else expect(lint(directory), said).not.toEqual([]);
    }),
    { numRuns: runs },
  );
});

test("lint and loader agree about the definitions of a module", async () => {
  const tool = fc.record(
    {
      name: mostly("find", "act", "read_skill", "", 7),
      description: mostly("d", 7),
      effect: mostly("read", "write", "reads"),
      input_schema: mostly({ type: "object" }, { type: "strin" }, 7),
      output_schema: mostly({ type: "object" }, { type: "strin" }),
      handler: mostly("() => 1", "7"),
    },
    { requiredKeys: ["name", "description", "input_schema", "handler"] },
  );
  const skill = fc.record(
    {
      id: mostly("made", "Made", 7),
      name: mostly("Made", 7),
      description: mostly("d", 7),
      category: mostly("general", "nonsense"),
      config: mostly({ KEY: { description: "d", env: "KEY" } }, { KEY: { required: "yes" } }, []),
      tools: fc.array(tool, { maxLength: 2 }),
    },
    { requiredKeys: ["id", "name", "description", "tools"] },
  );
  await fc.assert(
    fc.asyncProperty(skill, async ({ tools, ...rest }) => {
      const written = tools.map(({ handler, ...said }) => `{ ...${JSON.stringify(said)}, handler: ${handler} }`);
      const literal = JSON.stringify(rest).replace(/\}$/, `, "tools": [${written.join(", ")}] }`);
      const plain = literal.replace(/\{ \.\.\.\{(.*?)\}, handler: /g, "{ $1, handler: ");
      const directory = makeFolder({ "made/skill.mjs": `export default ${plain};\n` });
      const lost = await lostOf(load(directory));
      if (lost.length === 0) expect(lint(directory)).toEqual([]);
      else expect(lint(directory), lost.join()).not.toEqual([]);
    }),
    { numRuns: runs },
  );
});

/** The parts of a module that a run would lack, and why. */
async function lostOf(loaded: ReturnType<typeof load>): Promise<readonly string[]> {
  if (!loaded?.importCode) return ["it is no skill"];
  try {
    const { tools } = await loaded.importCode();
    const schemas = tools.flatMap(({ input_schema, output_schema }) => [input_schema, output_schema ?? {}]);
    for (const schema of schemas) compileSchema(schema);
    return tools.filter(({ name }) => isReservedTool("made", name)).map(({ name }) => name);
  } catch (error) {
    return [String(error)];
  }
}
