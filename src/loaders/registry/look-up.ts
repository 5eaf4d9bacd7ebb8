import { accessSync, constants, statSync } from "node:fs";
import { resolve } from "node:path";
import type { LookUp } from "../../core/skill/availability/config-form.ts";

/** Returns a function that checks config paths, which are relative to the working directory. */
export function lookUpIn(cwd: string): LookUp {
  return (path) => {
    try {
      const place = resolve(cwd, path);
      const stats = statSync(place);
      accessSync(place, constants.R_OK);
      return stats.isDirectory() ? "directory" : stats.isFile() ? "file" : "unreadable";
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === "EACCES" ? "unreadable" : "none";
    }
  };
}
