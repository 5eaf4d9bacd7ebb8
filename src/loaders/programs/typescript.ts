import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ownPath } from "../../files/own-files.ts";

/** What runs TypeScript here and in sandboxes, which see its folder and no other. */
export async function loadTypescript(): Promise<typeof import("jiti")> {
  return import(pathToFileURL(join(typescriptFolder(), TYPESCRIPT)).href);
}

export const typescriptFolder = (): string => ownPath("vendor/jiti", "node_modules/jiti");

/** The module to load, seen from the folder. */
export const TYPESCRIPT = join("lib", "jiti.mjs");
