import { readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { nearest } from "../../core/base/values.ts";

/** Suggests an existing file for a missing `path`, as a hint. `given` is the path as the user wrote it. */
export function nearFile(path: string, given: string): string | undefined {
  for (const beside of [".", "workflows"]) {
    const near = nearest(basename(path), filesIn(join(dirname(path), beside)));
    if (near !== undefined) return `did you mean ${join(dirname(given), beside, near)}?`;
  }
  return undefined;
}

function filesIn(folder: string): readonly string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
  } catch (error) {
    if (error instanceof Error && "code" in error) return []; // a missing or unreadable folder gives no hint
    throw error;
  }
}
