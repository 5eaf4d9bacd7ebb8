import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ownPath } from "../../files/own-files.ts";
import { projectRoot } from "../../loaders/documents/project-config.ts";
import type { Host } from "../host.ts";
import { FOLDERS } from "./levels.ts";

/** Lists the folder names in the standard skill folders and in `named`, without opening any skill. */
export function knownSkills({ cwd, env }: Host, named: readonly string[]): readonly string[] {
  const places = [cwd, projectRoot(cwd), ...(env.HOME ? [env.HOME] : [])];
  const dotted = places.flatMap((place) => FOLDERS.sweny.map((folder) => join(place, folder, "skills")));
  const names = [ownPath("skills", "skills"), ...named, ...dotted].flatMap(foldersIn);
  return [...new Set(names)].sort();
}

function foldersIn(directory: string): string[] {
  if (!existsSync(directory)) return [];
  const entries = readdirSync(directory, { withFileTypes: true });
  return entries.flatMap((entry) => (entry.isDirectory() && !entry.name.startsWith(".") ? [entry.name] : []));
}
