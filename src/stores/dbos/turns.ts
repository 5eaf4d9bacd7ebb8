import { randomUUID } from "node:crypto";
import type { Stopped, Turns } from "../../core/engine/ports.ts";
import type { Database } from "./database.ts";
import type { Locks } from "./locks.ts";

/**
 * Creates turns shared by all processes of a database. A waiting process has a row in a table and asks again later,
 * without holding a connection. If a process dies, its lock ends and its rows are removed.
 */
export function databaseTurns(database: Database, holder: string, locks: Locks): Turns {
  let alive: Promise<unknown> | undefined;
  return {
    async take({ name, most, perMs }, signal, onWait) {
      if (signal.aborted) throw signal.reason;
      alive ??= database.rows("select 1").then(() => locks.take(`${HOLDER}${holder}`));
      await alive.catch((error: unknown) => {
        alive = undefined;
        throw error;
      });
      const ticket = randomUUID();
      // If this fails, the turn is freed when the process ends.
      const giveBack = () => void database.rows(LEAVE, ticket).catch(nothing);
      for (let tries = 0; ; tries++) {
        // A broken connection must not cost a run its turn.
        const asked = database.rows<{ readonly wait: number }>(TAKE, name, most, perMs, holder, ticket);
        const [found] = await (tries < MOST_BROKEN ? asked.catch(() => [{ wait: BROKEN_MS }]) : asked);
        const wait = found?.wait ?? 0;
        if (wait === 0 && !signal.aborted) return perMs === undefined ? giveBack : nothing;
        if (tries === 0 && wait > 0) onWait();
        await pause(wait, signal).catch((reason: unknown) => {
          giveBack();
          throw reason;
        });
      }
    },
  };
}

const nothing = () => undefined;

/** Prefix of the lock that shows that the process behind a turn is alive. The function `take_turn` looks for it. */
const HOLDER = "skillflow turns of ";

const MOST_BROKEN = 30;
const BROKEN_MS = 1000;
const TAKE = "select skillflow.take_turn($1, $2::int, $3::bigint, $4, $5) as wait";
const LEAVE = "delete from skillflow.turns where ticket = $1";

function pause(ms: number, signal: Stopped): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    return signal.addEventListener("abort", stop, { once: true });
  });
}
