import { realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { attempt } from "../core/base/errors.ts";

/** Optional packages of vendors, as installed next to our own, never in a checkout. */

const near = createRequire(import.meta.url);

export function hasPackage(name: string): boolean {
  return attempt(() => near.resolve(name)) !== undefined;
}

/** Loads a package, and what that package depends on. */
export function loadPackage<Exports>(name: string): { readonly exports: Exports; readonly require: NodeJS.Require } {
  return { exports: near(name) as Exports, require: createRequire(realpathSync(near.resolve(name))) };
}
