import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const IS_BUILT = !import.meta.url.endsWith(".ts");
/** Folder of the package: a checkout or an installation. Built files are in its `dist`. */
const PACKAGE = IS_BUILT ? dirname(HERE) : dirname(dirname(HERE));

/** Returns the path of a file shipped with the program: `built`, or the `source` that it is built from. */
export const ownPath = (built: string, source: string): string =>
  IS_BUILT ? join(HERE, __PARTS__, built) : packagePath(source);

export const packagePath = (path: string): string => join(PACKAGE, path);

declare const __VERSION__: string | undefined;
export const VERSION = typeof __VERSION__ === "string" ? __VERSION__ : "0.0.0";

/** Path from the bundle to the files next to it. */
declare const __PARTS__: string;
