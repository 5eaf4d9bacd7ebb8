import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { Store, StoredRun } from "../core/ports.ts";
import { fileStore, readRecording } from "../stores/file.ts";
import type { Workspace } from "./host.ts";

export function openStore(project: Workspace): Store {
  const { host, storeDirectory, storeRoot } = project;
  return fileStore({ directory: storeDirectory, root: storeRoot, self: host.self, isAlive: host.isAlive });
}

/** A recording, and the path that names it to the replay model. */
export interface Recording {
  readonly stored: StoredRun;
  readonly path: string;
}

/** A recorded run outside of any store; undefined where there is no such file. */
export function openRecording({ host }: Workspace, path: string): Recording | undefined {
  const file = resolve(host.cwd, path);
  return existsSync(file) ? { stored: readRecording(file), path } : undefined;
}

/** A recorded run of the project's store. */
export async function openStoredRecording(
  { host, storeDirectory }: Workspace,
  store: Store,
  run: string,
): Promise<Recording> {
  return { stored: await store.read(run), path: relative(host.cwd, join(storeDirectory, `${run}.jsonl`)) };
}
