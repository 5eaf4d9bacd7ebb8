import { createRequire } from "node:module";
import { openDatabase } from "../../src/stores/dbos/database.ts";
import { startPostgres, whyNoPostgres } from "./postgres.ts";

/** A Postgres for the engine `dbos`. */
export interface EngineDatabase {
  readonly url: string;
  /** Drops every connection. */
  cut(): Promise<void>;
  /** Stops it without notice, and starts it again. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

/** Reason why the engine cannot work on this machine. Undefined if it can. */
export function whyNoEngine(): string | undefined {
  try {
    createRequire(import.meta.url).resolve("@dbos-inc/dbos-sdk");
    return whyNoPostgres();
  } catch {
    return "@dbos-inc/dbos-sdk is not installed";
  }
}

export async function startEngineDatabase(): Promise<EngineDatabase> {
  const { url = "", crash, stop } = await startPostgres({ listens: true });
  const cut = async () => {
    const database = openDatabase(url);
    await database.rows("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()");
    await database.close();
  };
  return { url, cut, crash, stop };
}
