import { readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { attempt } from "../../core/base/errors.ts";
import { nearest } from "../../core/base/values.ts";

/** Suggests an existing file for a missing `path`, as a hint. `given` is the path as the user wrote it. */
export function nearFile(path: string, given: string): string | undefined {
  for (const beside of [".", "workflows"]) {
    const entries = attempt(() => readdirSync(join(dirname(path), beside), { withFileTypes: true })) ?? [];
    const files = entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
    const near = nearest(basename(path), files);
    if (near !== undefined) return `did you mean ${join(dirname(given), beside, near)}?`;
  }
  return undefined;
}
