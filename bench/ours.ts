import { join } from "node:path";
import { fileStore } from "../src/stores/file/store.ts";
import { memoryStore } from "../src/stores/memory.ts";
import { done, driveChain } from "./chain.ts";

/** Our side of the contest: what `peers/contest.mjs` runs. */

export { done };

export async function memory(nodes: number, folder: string): Promise<void> {
  await driveChain(memoryStore(), folder, nodes);
}

export async function files(nodes: number, folder: string): Promise<void> {
  await driveChain(storeIn(join(folder, `runs-${performance.now()}`)), folder, nodes);
}

export function storeIn(directory: string) {
  return fileStore({ directory, self: { pid: process.pid, host: "bench", started: "" }, isAlive: () => true });
}
