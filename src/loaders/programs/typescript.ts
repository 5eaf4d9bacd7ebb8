import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ownPath } from "../../files/own-files.ts";

/** Loads the TypeScript loader. Sandboxes use the same one, and see only its folder. */
export async function loadTypescript(): Promise<typeof import("jiti")> {
  return import(pathToFileURL(join(typescriptFolder(), TYPESCRIPT)).href);
}

export const typescriptFolder = (): string => ownPath("vendor/jiti", "node_modules/jiti");

/** Module to load, relative to the folder. */
export const TYPESCRIPT = join("lib", "jiti.mjs");
