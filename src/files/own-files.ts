import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const IS_BUILT = !import.meta.url.endsWith(".ts");
/** The package's folder: a checkout's, or where it is installed; what is built lies in its `dist`. */
const PACKAGE = IS_BUILT ? dirname(HERE) : dirname(dirname(HERE));

/** What comes with the program beside its code: what is `built`, or the `source` that it is made from. */
export const ownPath = (built: string, source: string): string =>
  IS_BUILT ? join(HERE, __PARTS__, built) : packagePath(source);

export const packagePath = (path: string): string => join(PACKAGE, path);

declare const __VERSION__: string | undefined;
export const VERSION = typeof __VERSION__ === "string" ? __VERSION__ : "0.0.0";

/** From the bundle to what lies beside it. */
declare const __PARTS__: string;
