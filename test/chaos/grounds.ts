import { rmSync } from "node:fs";
import { join } from "node:path";
import { makeInstallation } from "../harness/installed-program.ts";
import { makeQuickFolder } from "../harness/quick-folder.ts";
import { buildDriver, type Place } from "./life.ts";

/** The place of the runs: an installation of the built program, and a folder. */
export interface Grounds extends Place {
  readonly home: string;
  folderOf(seed: number): string;
  clear(seed: number): void;
  close(): void;
}

export async function openGrounds(): Promise<Grounds> {
  const installation = makeInstallation(join(import.meta.dirname, "ledger"));
  // In memory, where the machine has such a folder: a process that is killed loses nothing of what it has written there.
  const cwd = makeQuickFolder("chaos-");
  const folderOf = (seed: number) => join(cwd, `group-${seed}`);
  return {
    cwd,
    folderOf,
    home: join(installation, "home"),
    program: join(installation, "dist", "load.js"),
    driver: await buildDriver(cwd),
    clear: (seed) => rmSync(folderOf(seed), { recursive: true, force: true }),
    close() {
      for (const folder of [installation, cwd]) rmSync(folder, { recursive: true, force: true });
    },
  };
}
