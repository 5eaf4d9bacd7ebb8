import { readdirSync, statSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { usageError } from "../../core/base/errors.ts";
import { projectRoot } from "../../loaders/documents/project-config.ts";
import { documentsOf, type Host } from "../host.ts";
import { nearFile } from "../workspace.ts";

/** Returns the absolute paths of the given tests, without duplicates. Searches folders in name order. */
export function findTests(host: Host, given: readonly string[]): string[] {
  const from = documentsOf(host);
  const places = given.length === 0 ? ["."] : given;
  const found = places.flatMap((place) => {
    const path = resolve(from, place);
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats?.isDirectory()) return testsBelow(path);
    if (stats) return [path];
    throw usageError(`there is no file or folder ${place}`, nearFile(path, place));
  });
  if (found.length > 0) return [...new Set(found)];
  throw usageError(
    `there are no tests in ${places.join(", ")}`,
    "tests are files that end in .test.yml; skillflow test --from RUN writes one",
  );
}

/** Ignores links, `node_modules` and hidden files. */
function testsBelow(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.name.startsWith(".") || entry.name === "node_modules") return [];
    if (entry.isDirectory()) return testsBelow(path);
    return entry.isFile() && entry.name.endsWith(".test.yml") ? [path] : [];
  });
}

/** Returns the folder that must contain the files of a test: the project, or the test's own project root. */
export function rootOfTest(host: Host, path: string): string {
  const project = projectRoot(documentsOf(host));
  return path.startsWith(`${project}${sep}`) ? project : projectRoot(dirname(path));
}
