import { realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { isWithin } from "../../files/files.ts";

/** Where a workflow is that another one names, by its real path; a string says why it is not looked at (trust 8). */
export function locateInner(written: string, baseDir: string, root: string): { readonly real: string } | string {
  try {
    const real = realpathSync(join(baseDir, written));
    if (!isWithin(realpathSync(root), real)) return `${written} lies outside the project`;
    return statSync(real).isFile() ? { real } : `${written} is no file`;
  } catch {
    return `there is no file ${written}`;
  }
}
