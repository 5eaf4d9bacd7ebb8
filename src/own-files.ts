import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
/** The package's folder: a checkout's, or where it is installed. */
const PACKAGE = folderWith("package.json", HERE);

/** What comes with the program beside its code: `built` in `dist`, or the `source` that it is made from. */
export const ownPath = (built: string, source: string): string =>
  HERE === join(PACKAGE, "src") ? packagePath(source) : join(PACKAGE, "dist", built);

export const packagePath = (path: string): string => join(PACKAGE, path);

function folderWith(name: string, folder: string): string {
  const above = dirname(folder);
  return existsSync(join(folder, name)) || above === folder ? folder : folderWith(name, above);
}
