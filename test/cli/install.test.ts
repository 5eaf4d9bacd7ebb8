import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { installation, makeProject } from "./program.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The built program, installed below a folder with this name. */
function doctorBelow(folder: string): string {
  const cwd = makeProject({ [`${folder}/ab12/node_modules/skillflow/package.json`]: { type: "module" } });
  const at = join(cwd, folder, "ab12", "node_modules", "skillflow");
  cpSync(join(installation().directory, "dist"), join(at, "dist"), { recursive: true });
  const run = `exec "$0" "$1" doctor 2>&1 >/dev/null`;
  return execFileSync("sh", ["-c", run, process.execPath, join(at, "dist", "bin.js")], {
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd },
    encoding: "utf8",
  });
}

it("doctor reports whether it runs from a temporary install of npx", () => {
  expect(doctorBelow("_npx")).toContain("npx --no-install skillflow");
  expect(doctorBelow("lib")).toBe("");
});

it("no document fetches a package with skillflow's name from a registry", () => {
  const documents = [
    "README.md",
    ...readdirSync(join(ROOT, "docs"))
      .filter((name) => name.endsWith(".md"))
      .map((name) => `docs/${name}`),
  ];
  for (const name of documents) {
    const text = readFileSync(join(ROOT, name), "utf8");
    expect(text, name).not.toMatch(/npx (?!--no-install)\S*skillflow/);
    expect(text, name).not.toMatch(/"npx",\s*"args": \[\s*"skillflow/);
  }
});
