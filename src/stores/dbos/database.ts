import { setTimeout as pause } from "node:timers/promises";
import { messageOf, SkillflowError } from "../../core/base/errors.ts";
import type { Hint } from "../../core/base/options.ts";
import type { EmbeddedPlace } from "./embedded.ts";
import { type Watching, watchOutage } from "./outage.ts";
import { type Client, loadDbos, loadPostgres, type Pool, type Session } from "./packages.ts";

/** Database with our tables and the engine's tables, each in a separate schema. */
export type Database = ReturnType<typeof openDatabase>;

export const ENGINE_SCHEMA = "skillflow_dbos";

/** Creates a database handle that connects on first use. Throws `store.failed` if the database does not answer. */
export function openDatabase(address: string | EmbeddedPlace, watching: Watching = {}) {
  const place = typeof address === "string" ? placeOf(address) : `embedded (${address.folder})`;
  let opening: Promise<Open> | undefined;
  let opened: Open | undefined;
  const ready = () => {
    opening ??= open(address).then((made) => {
      opened = made;
      return made;
    });
    return opening;
  };
  const now = () => {
    if (opened) return opened;
    throw new SkillflowError("internal.fault", "the database is not open yet");
  };
  return {
    /** Address without its credentials, for messages. */
    place,
    outage: watchOutage(place, watching),
    get url() {
      return now().url;
    },
    get pool() {
      return now().pool;
    },
    async rows<Row>(text: string, ...values: readonly unknown[]): Promise<readonly Row[]> {
      const { url, pool } = await ready();
      const { rows } = await asked(url, pool.query(text, [...values]));
      return rows as readonly Row[];
    },
    async transaction<Value>(work: (session: Session) => Promise<Value>): Promise<Value> {
      const { url, pool } = await ready();
      const session = await asked(url, pool.connect());
      try {
        await session.query("begin");
        const value = await work(session);
        await session.query("commit");
        session.release();
        return value;
      } catch (error) {
        await session.query("rollback").catch(() => undefined);
        session.release(true);
        throw databaseError(url, error);
      }
    },
    /** Opens a separate connection, for session locks. */
    async connect(name: string): Promise<Client> {
      const { url } = await ready();
      const client = new (loadPostgres().Client)({ ...connection(url), application_name: name });
      client.on("error", () => undefined); // "end" follows
      await asked(url, client.connect());
      return client;
    },
    async close(): Promise<void> {
      await opened?.pool.end();
      opened?.leave();
    },
  };
}

type Open = Awaited<ReturnType<typeof open>>;

async function open(address: string | EmbeddedPlace) {
  const { url, leave } =
    typeof address === "string"
      ? { url: address, leave: () => undefined }
      : await (await import("./embedded.ts")).openEmbedded(address);
  const pool = new (loadPostgres().Pool)({ ...connection(url), max: MOST_CONNECTIONS, application_name: "skillflow" });
  try {
    await prepare(url, pool);
    return { url, pool, leave };
  } catch (error) {
    await pool.end();
    leave();
    throw error;
  }
}

const MOST_CONNECTIONS = 10;

function connection(url: string): Readonly<Record<string, unknown>> {
  return {
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
}

/** Creates missing tables, one process at a time. */
async function prepare(url: string, pool: Pool): Promise<void> {
  pool.on("error", () => undefined); // the pool replaces idle connections that break
  const session = await asked(url, pool.connect());
  try {
    const { rows } = await session.query(
      `select to_regclass('skillflow.turns') is not null
        and to_regclass('${ENGINE_SCHEMA}.operation_outputs') is not null as made`,
    );
    if ((rows as readonly { readonly made: boolean }[])[0]?.made) return;
    await takeTurn(url, session);
    try {
      const told = { info: () => undefined, debug: () => undefined, warn: () => undefined, error: () => undefined };
      await loadDbos().makeTables(url, told, pool, ENGINE_SCHEMA, false);
      const { default: tables } = await import("./tables.sql?raw", { with: { type: "text" } });
      await session.query(tables);
    } finally {
      await session.query("select pg_advisory_unlock($1)", [MAKING]);
    }
  } catch (error) {
    throw databaseError(url, error);
  } finally {
    session.release();
  }
}

/**
 * Waits until no other process creates tables. A statement that waited for the lock would have a snapshot, for which the
 * other process waits when it creates an index concurrently.
 */
async function takeTurn(url: string, session: Session): Promise<void> {
  for (const since = Date.now(); Date.now() - since < LONGEST_MAKING_MS; await pause(100)) {
    const { rows } = await session.query("select pg_try_advisory_lock($1) as taken", [MAKING]);
    if ((rows as readonly { readonly taken: boolean }[])[0]?.taken) return;
  }
  throw new SkillflowError(
    "store.failed",
    `the database ${placeOf(url)}: another process is still creating its tables`,
    {
      hint: "try again later, or end the process that holds an advisory lock there",
    },
  );
}

const LONGEST_MAKING_MS = 120_000;

/** Key of the advisory lock: an arbitrary number that is unique to us. */
const MAKING = 7_311_202_611;

async function asked<Value>(url: string, work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    throw databaseError(url, error);
  }
}

function databaseError(url: string, error: unknown): SkillflowError {
  if (error instanceof SkillflowError) return error;
  const { code = "", errors } = error as { readonly code?: string; readonly errors?: readonly unknown[] };
  const why = messageOf(errors?.[0] ?? error) || code;
  const message = `the database ${placeOf(url)}: ${why}`;
  if (code === DISK_FULL) return new SkillflowError("store.full", message, { cause: error });
  // A five-character SQLSTATE outside of classes 28 and 3D means that Postgres itself answered.
  const answers = /^[0-9A-Z]{5}$/.test(code) && !/^(28|3D)/.test(code);
  const hint: Hint = [
    "check the address (",
    { option: "database-url" },
    ", SKILLFLOW_DATABASE_URL), and that Postgres answers there",
  ];
  return new SkillflowError("store.failed", message, { ...(answers ? {} : { hint }), cause: error });
}

const DISK_FULL = "53100";

/** Returns the host and database name of an address, without credentials. */
export function placeOf(url: string): string {
  if (!URL.canParse(url)) return "(its address cannot be read)";
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}
