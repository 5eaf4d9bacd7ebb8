import { existsSync, mkdtempSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MEMORY = "/dev/shm";
/** Space that all tests together need there. Containers often have only 64 MB. */
const LEAST_BYTES = 1024 ** 3;

/** Makes a folder for data, in memory if the machine has space there: syncing a file takes no time there. */
export function makeQuickFolder(name: string): string {
  return mkdtempSync(join(hasMemory() ? MEMORY : tmpdir(), name));
}

function hasMemory(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize > LEAST_BYTES;
}
