import { createRequire } from "node:module";
import { startPostgres, whyNoPostgres } from "./postgres.ts";

/** A Postgres for the engine `dbos`. */
export interface EngineDatabase {
  readonly url: string;
  stop(): Promise<void>;
}

/** Why the engine cannot work on this machine; undefined where it can. */
export function whyNoEngine(): string | undefined {
  try {
    createRequire(import.meta.url).resolve("@dbos-inc/dbos-sdk");
    return whyNoPostgres();
  } catch {
    return "@dbos-inc/dbos-sdk is not installed";
  }
}

export async function startEngineDatabase(): Promise<EngineDatabase> {
  const { url, stop } = await startPostgres({ listens: true });
  return { url: url ?? "", stop };
}
