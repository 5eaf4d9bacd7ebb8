import { Socket } from "node:net";
import type { Client, ClientConfig } from "pg";
import { SkillflowError, type ToolContext } from "skillflow";

/** Database from POSTGRES_URL. No other variables are used. */
export interface Place {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password: string;
  readonly tls: (typeof MODES)[number];
}

const MODES = ["disable", "prefer", "require", "verify-ca", "verify-full"] as const;

export function placeOf(config: ToolContext["config"]): Place {
  const text = config["POSTGRES_URL"]?.trim();
  if (!text) throw new Error("POSTGRES_URL is not set, so Postgres cannot be used in this run.");
  if (!URL.canParse(text) || !/^postgres(ql)?:$/.test(new URL(text).protocol))
    throw new Error("POSTGRES_URL must be a postgres:// address.");
  const { hostname, port, pathname, username, password, searchParams } = new URL(text);
  const tls = MODES.find((mode) => mode === (searchParams.get("sslmode") ?? "prefer"));
  if (!tls) throw new Error(`The sslmode of POSTGRES_URL must be one of ${MODES.join(", ")}.`);
  if (!hostname || !username) throw new Error("POSTGRES_URL lacks a host or a user.");
  return {
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port || 5432),
    database: decoded(pathname.slice(1)) || decoded(username),
    user: decoded(username),
    password: decoded(password),
    tls,
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new Error("POSTGRES_URL is not encoded correctly. Write % in a password as %25.");
  }
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|::1)$/;
const CONNECT_MS = 10_000;
export const STATEMENT_SECONDS = 15;
/** Maximum number of bytes to receive in one call. */
const MOST_BYTES = 10_000_000;

/** Connects until the call ends or has received too many bytes. */
export async function connect(context: ToolContext): Promise<{ client: Client; close: () => void }> {
  const place = placeOf(context.config);
  if (context.offline && !LOOPBACK.test(place.host))
    throw new SkillflowError("offline.refused", `${place.host} was not contacted: the run is offline`);
  context.signal.throwIfAborted();
  if (place.tls !== "prefer") return open(place, tlsOf(place), context);
  try {
    return await open(place, tlsOf(place), context);
  } catch (error) {
    if (!(error instanceof Error && /does not support SSL/.test(error.message))) throw error;
    return open(place, false, context);
  }
}

function tlsOf({ tls }: Place): ClientConfig["ssl"] {
  if (tls === "disable") return false;
  if (tls === "verify-full") return { rejectUnauthorized: true };
  if (tls === "verify-ca") return { rejectUnauthorized: true, checkServerIdentity: () => undefined };
  return { rejectUnauthorized: false };
}

async function open({ host, port, database, user, password }: Place, ssl: ClientConfig["ssl"], context: ToolContext) {
  const { Client } = await import("pg");
  const socket = new Socket();
  const client = new Client({
    ...{ host, port, database, user, ssl },
    // A function, so that the client does not look elsewhere if the password is empty.
    password: () => password,
    application_name: "skillflow",
    connectionTimeoutMillis: CONNECT_MS,
    stream: () => socket,
    types: { getTypeParser: () => (value: unknown) => value },
  } as ClientConfig);
  const onAbort = () => socket.destroy(new Error("the call was aborted"));
  context.signal.addEventListener("abort", onAbort, { once: true });
  const close = () => {
    context.signal.removeEventListener("abort", onAbort);
    socket.destroy();
  };
  client.on("error", (error) => context.logger.debug(`the connection ended: ${error.name}`));
  try {
    await client.connect();
    limitAnswers(client, socket);
    return { client, close };
  } catch (error) {
    close();
    throw error;
  }
}

/** Limits the bytes received, counted after TLS decryption. */
function limitAnswers(client: Client, socket: Socket): void {
  let bytes = 0;
  client.connection.stream.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) socket.destroy(new TooMuch());
  });
}

class TooMuch extends Error {
  constructor() {
    super(`The result is larger than ${MOST_BYTES / 1e6} MB and was not read. Select fewer or shorter columns.`);
  }
}
