import { realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { isWithin } from "../../files/files.ts";

/** Resolves the path of an inner workflow. Returns a message if it is missing or outside the project. */
export function locateInner(written: string, baseDir: string, root: string): { readonly real: string } | string {
  try {
    const real = realpathSync(join(baseDir, written));
    if (!isWithin(realpathSync(root), real)) return `${written} is outside the project`;
    return statSync(real).isFile() ? { real } : `${written} is not a file`;
  } catch {
    return `there is no file ${written}`;
  }
}
