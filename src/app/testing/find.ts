import { readdirSync, statSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { SkillflowError } from "../../core/base/errors.ts";
import { projectRoot } from "../../loaders/documents/project-config.ts";
import { documentsOf, type Host } from "../host.ts";
import { nearFile } from "../workspace.ts";

/** Absolute paths of the tests that are meant: each file once, folders searched in the order of their names. */
export function findTests(host: Host, given: readonly string[]): string[] {
  const from = documentsOf(host);
  const places = given.length === 0 ? ["."] : given;
  const found = places.flatMap((place) => {
    const path = resolve(from, place);
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats?.isDirectory()) return testsBelow(path);
    if (stats) return [path];
    throw new SkillflowError("usage.invalid", `there is no file or folder ${place}`, { hint: nearFile(path, place) });
  });
  if (found.length > 0) return [...new Set(found)];
  throw new SkillflowError("usage.invalid", `there are no tests in ${places.join(", ")}`, {
    hint: "tests are files that end in .test.yml; skillflow test --from RUN writes one",
  });
}

/** No link is followed, no dependency looked into, and nothing hidden. */
function testsBelow(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.name.startsWith(".") || entry.name === "node_modules") return [];
    if (entry.isDirectory()) return testsBelow(path);
    return entry.isFile() && entry.name.endsWith(".test.yml") ? [path] : [];
  });
}

/** A path as people name it: from where documents are looked for, unless it lies elsewhere. */
export function shownPath(host: Host, path: string): string {
  const shown = relative(documentsOf(host), path);
  return shown === "" || shown.startsWith(`..${sep}`) ? path : shown;
}

/** What the files that a test names have to lie in: the project, or what the test itself belongs to. */
export function rootOfTest(host: Host, path: string): string {
  const project = projectRoot(documentsOf(host));
  return path.startsWith(`${project}${sep}`) ? project : projectRoot(dirname(path));
}
