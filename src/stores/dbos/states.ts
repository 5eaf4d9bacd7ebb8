import type { StateEntry } from "../../core/engine/event/record.ts";
import type { StateStore, States } from "../../core/engine/ports.ts";
import { stateStore } from "../state/table.ts";
import type { Database } from "./database.ts";

/** Creates a state store in the database. Writers on all machines take turns. */
export function databaseState(database: Database, now?: () => Date): StateStore {
  return stateStore(
    {
      async names() {
        const rows = await database.rows<Pick<Row, "name">>("select name from skillflow.states");
        return rows.map(({ name }) => name);
      },
      read: async (names) => statesOf(names, await database.rows<Row>(READ, names)),
      change: ({ names, decide }) =>
        database.transaction(async (session) => {
          await session.query("select pg_advisory_xact_lock(hashtextextended('skillflow states', 0))");
          const { rows } = await session.query(READ, [names]);
          const changed = decide(statesOf(names, rows)) ?? [];
          for (const [name, entries] of changed) await session.query(WRITE, [name, JSON.stringify(entries)]);
        }),
    },
    now,
  );
}

interface Row {
  readonly name: string;
  readonly entries: string;
}

const READ = "select name, entries from skillflow.states where name = any($1)";
const WRITE = `
  insert into skillflow.states (name, entries) values ($1, $2)
  on conflict (name) do update set entries = excluded.entries`;

function statesOf(names: readonly string[], rows: readonly Row[]): States {
  const found = new Map(rows.map(({ name, entries }) => [name, JSON.parse(entries) as readonly StateEntry[]]));
  return new Map(names.map((name) => [name, found.get(name) ?? []]));
}
