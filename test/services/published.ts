import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = join(import.meta.dirname, "..", "..", "..", "shared", "contracts");

/**
 * Reads a vendor's published contract, which is stored next to the repository. If it is missing, prints that its tests
 * are skipped.
 */
export function readPublished(path: string): string | undefined {
  const file = join(FOLDER, path);
  if (existsSync(file)) return readFileSync(file, "utf8");
  process.stderr.write(`Skipping the tests that need ${path}: there is no such file in ../shared/contracts.\n`);
  return undefined;
}
