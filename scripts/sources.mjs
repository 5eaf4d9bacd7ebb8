import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

/** File in `dist/` with the digest of the sources that were built. It is not published. */
export const STAMP = join("dist", "sources.sha256");

/** Returns the digest of all files that a build of the package reads. Contents count, because a checkout renews all times. */
export function digestOfSources(root = ".") {
  const digest = createHash("sha256");
  for (const path of sourceFiles(root)) {
    digest
      .update(`${path}\0`)
      .update(readFileSync(join(root, path)))
      .update("\0");
  }
  return digest.digest("hex");
}

/** Paths of all files that a build of the package reads, relative to `root`. */
export function sourceFiles(root = ".") {
  return ["package-lock.json", "scripts", "skills", "src"].flatMap((name) => filesAt(root, name)).sort();
}

function filesAt(root, name) {
  if (name.includes(".")) return [name];
  const entries = readdirSync(join(root, name), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(root, join(entry.parentPath, entry.name)));
}
