import { setTimeout as pause } from "node:timers/promises";
import type { Database } from "./database.ts";
import type { Client } from "./packages.ts";

/**
 * Advisory locks of one Postgres session, which end with the process. A lock prevents two processes from driving the
 * same run. If a process only seemed dead, the engine's tokens prevent it from writing more.
 */
export type Locks = ReturnType<typeof openLocks>;

/** Opens the lock session with the first lock. If the session breaks, reopens it and takes all held locks again. */
export function openLocks(database: Database, owner: string) {
  const held = new Set<string>();
  const asking = new Set<string>();
  const session = openSession(database, owner, held);
  /** Retries, because Postgres keeps the locks of a dead process until it notices the disconnect. */
  const tryAgain = async (name: string, tries: number) => {
    for (let tried = 0; tried < tries; tried++) {
      if (tried > 0) await pause(RETRY_MS);
      const { rows } = await (await session.client()).query(TAKE, [name]);
      if ((rows as readonly { readonly taken: boolean }[])[0]?.taken === true) return true;
    }
    return false;
  };
  return {
    /** Takes the lock. Returns false if this process already holds it. */
    async take(name: string, tries = TRIES): Promise<boolean> {
      // Postgres would grant the lock to the same session a second time.
      if (held.has(name) || asking.has(name)) return false;
      asking.add(name);
      try {
        if (await tryAgain(name, tries)) held.add(name);
        return held.has(name);
      } finally {
        asking.delete(name);
      }
    },
    async free(name: string): Promise<void> {
      held.delete(name);
      if (session.isClosed()) return;
      await (await session.client()).query("select pg_advisory_unlock(hashtextextended($1, 0))", [name]);
    },
    /** Returns the name of the process that holds the lock. */
    async ownerOf(name: string): Promise<string | undefined> {
      const [row] = await database.rows<{ readonly owner: string }>(OWNER, name);
      return row?.owner.replace(LOCKING, "");
    },
    close: session.close,
  };
}

/** Connects on first use, and again with all held locks if the connection breaks. */
function openSession(database: Database, owner: string, held: ReadonlySet<string>) {
  let session: Promise<Client> | undefined;
  let isClosed = false;
  const open = async (): Promise<Client> => {
    const client = await database.connect(`${LOCKING}${owner}`);
    client.on("end", () => {
      session = undefined;
      if (!isClosed && held.size > 0) database.outage.during(reopen()).catch(nothing);
    });
    await client.query(DROPPED_SOON);
    return client;
  };
  const client = () => {
    session ??= open().catch((error: unknown) => {
      session = undefined;
      throw error;
    });
    return session;
  };
  const reopen = async (): Promise<void> => {
    while (!isClosed && held.size > 0) {
      try {
        const again = await client();
        for (const name of held) await again.query(TAKE, [name]);
        return;
      } catch {
        await pause(REOPEN_MS);
      }
    }
  };
  const close = async () => {
    isClosed = true;
    await (await session)?.end();
  };
  return { client, close, isClosed: () => isClosed };
}

const nothing = () => undefined;

const TAKE = "select pg_try_advisory_lock(hashtextextended($1, 0)) as taken";

/** Prefix of `application_name` for sessions that hold locks. */
export const LOCKING = "skillflow ";
const TRIES = 5;
const RETRY_MS = 40;
const REOPEN_MS = 1000;

/** Keepalive settings: a machine that is gone never closes its connection, so Postgres has to probe it. */
const DROPPED_SOON = "set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3";

const OWNER = `
  select a.application_name as owner from pg_locks l join pg_stat_activity a using (pid)
  where l.locktype = 'advisory' and l.granted and l.objsubid = 1
    and (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended($1, 0) limit 1`;
