import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Installed, installPacked } from "../../harness/packed-package.ts";

/**
 * The packed package in an empty project: the documented examples of the library compile there, run, and exit by
 * themselves.
 */

const ROOT = join(import.meta.dirname, "..", "..", "..");
const execute = promisify(execFile);

function examplesOf(page: string): string[] {
  const text = readFileSync(join(ROOT, page), "utf8");
  const blocks = [...text.matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(([, code = ""]) => code);
  return blocks.filter((code) => !code.includes("export default"));
}

/** The output of each example of docs/library.md, in order. */
const PRINTED = [
  /workflow:end\nsucceeded 0 \{ summary: 'The checkout is down.' \} 1\n$/,
  /^succeeded \[ 'shop: please look \(with a token\)' \]\n$/,
  /SAY HELLO/,
  /^interrupted 130 interrupted \(not needed any more\)\n$/,
  /^error MISSING_ENTRY entry /,
  /^script\.exhausted\nsucceeded\nsucceeded\n(?:---|flowchart|graph)/,
  /^waiting SHOP-14\nsucceeded\nSHOP-14\. r1\nnot_held\napplied \[ 'The checkout is down\.' \]\nrecheck succeeded\nask succeeded\nrun succeeded\n$/,
  /^1 0 1\n$/,
  /logs available null null\n[\s\S]*0 PAGER_TOKEN is not set \[ 'PAGER_TOKEN' \]\n$/,
  /^workflow\.invalid 2 absent\.yml cannot be run there is no file absent\.yml\n$/,
  /^$/,
  /^succeeded \[ 'w' \] workflow:end\n$/,
  /^$/,
  /^$/,
];

const pages = { "docs/library.md": examplesOf("docs/library.md"), "README.md": examplesOf("README.md") };
const named = Object.entries(pages).flatMap(([page, examples]) => {
  return examples.map((code, index) => ({ name: `${page.replace(/\W/g, "-")}-${index}`, code }));
});
let installed: Installed;
let examples = "";

beforeAll(async () => {
  installed = await installPacked();
  examples = join(installed.project, "examples");
  mkdirSync(examples);
  for (const { name, code } of named) writeFileSync(join(examples, `${name}.ts`), code);
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    module: "NodeNext",
    target: "ES2023",
    lib: ["ES2023"],
    types: ["node"],
    typeRoots: [join(ROOT, "node_modules", "@types")],
  };
  writeFileSync(join(examples, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(examples, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
  // tsc prints findings to stdout, which explain more than its exit code.
  const tsc = join(ROOT, "node_modules", ".bin", "tsc");
  const found = await execute(tsc, ["--singleThreaded"], { cwd: examples }).catch((error) => error);
  expect(found.stdout).toBe("");
}, 120_000);

afterAll(() => installed.remove());

describe("the examples", () => {
  it("are as many as the expected outputs", () => {
    expect(pages["docs/library.md"]).toHaveLength(PRINTED.length);
    expect(pages["README.md"].length).toBeGreaterThan(0);
  });

  it.each(named.map(({ name }, index) => [name, PRINTED[index] ?? /./] as const))(
    "of %s run as written, and exit by themselves",
    async (name, printed) => {
      const env = { PATH: process.env.PATH, HOME: examples };
      const { stdout, stderr } = await execute(process.execPath, [`${name}.js`], { cwd: examples, env });
      expect(stdout).toMatch(printed);
      expect(stderr).toBe("");
    },
  );
});
