import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chownSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { hasCode, messageOf, SkillflowError } from "../../core/base/errors.ts";
import type { ProcessMark } from "../../core/engine/ports.ts";
import { makeFolder } from "../../files/files.ts";
import { lock } from "../lock.ts";
import { findPostgres, loadPostgres, type PostgresPrograms } from "./packages.ts";

export interface EmbeddedPlace {
  readonly folder: string;
  readonly self: ProcessMark;
  readonly isAlive: (mark: ProcessMark) => boolean;
  /** User id of this process. Postgres refuses to run as root, so for root it runs as an unprivileged user. */
  readonly uid: number | undefined;
  readonly execPath: string;
  readonly note: (line: string) => void;
}

/**
 * Starts the server, or connects to the running one. Each process that uses it holds a named pipe open for writing. A
 * keeper process reads the pipe and stops the server once all writers are gone, even after a crash. `leave` releases the
 * server, as does the end of our process.
 */
export async function openEmbedded(place: EmbeddedPlace) {
  const programs = findPostgres();
  makeFolder(place.folder);
  for (const begun = Date.now(); Date.now() - begun < PATIENCE_MS; await pause(POLL_MS)) {
    const pipe = enter(place) ?? (await startAlone(place, programs));
    const url = pipe === undefined ? undefined : await answering(place);
    if (pipe !== undefined && url !== undefined) return { url, leave: () => closeSync(pipe) };
    if (pipe !== undefined) closeSync(pipe);
  }
  throw failed(place, "it does not answer");
}

const PATIENCE_MS = 60_000;
const POLL_MS = 50;
const PIPE = "users";

/** Opens the pipe, which marks this process as a user. Returns undefined if no keeper reads it. */
function enter({ folder }: EmbeddedPlace): number | undefined {
  try {
    return openSync(join(folder, PIPE), constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch (error) {
    if (hasCode(error, "ENXIO", "ENOENT")) return undefined;
    throw failed({ folder }, messageOf(error));
  }
}

async function answering({ folder }: Pick<EmbeddedPlace, "folder">): Promise<string | undefined> {
  const running = runningIn(folder);
  if (!running?.isReady) return undefined;
  const password = readFileSync(join(folder, "password"), "utf8");
  const url = `postgres://skillflow:${password}@127.0.0.1:${running.port}/postgres`;
  const client = new (loadPostgres().Client)({ connectionString: url, connectionTimeoutMillis: 5000 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query("select current_setting('data_directory') as data");
    await client.end();
    // The port may belong to another server by now.
    return (rows as readonly { readonly data: string }[])[0]?.data === join(folder, "data") ? url : undefined;
  } catch {
    return undefined;
  }
}

function runningIn(folder: string) {
  try {
    const lines = readFileSync(join(folder, "data", "postmaster.pid"), "utf8").split("\n");
    return { pid: Number(lines[0]), port: Number(lines[3]), isReady: lines[7]?.trim() === "ready" };
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** Starts the server in one process at a time and returns the pipe. Other processes retry. */
async function startAlone(place: EmbeddedPlace, programs: PostgresPrograms): Promise<number | undefined> {
  let release: () => void;
  try {
    release = lock(join(place.folder, "lock"), "the database is being started", place);
  } catch (error) {
    if (error instanceof SkillflowError && error.code === "store.locked") return undefined;
    throw error;
  }
  try {
    if (!existsSync(join(place.folder, "data"))) await setUp(place, programs);
    return await startServer(place, programs);
  } finally {
    release();
  }
}

async function setUp(place: EmbeddedPlace, programs: PostgresPrograms): Promise<void> {
  const { folder, note } = place;
  note(`setting up a Postgres in ${folder}, once`);
  const [draft, secret] = [join(folder, "data.new"), join(folder, "password")];
  rmSync(draft, { recursive: true, force: true });
  writeFileSync(secret, randomBytes(24).toString("hex"), { mode: 0o600 });
  mkdirSync(draft, { mode: 0o700 });
  if (place.uid === 0) for (const path of [draft, secret]) chownSync(path, NOBODY, NOBODY);
  const args = ["-D", draft, "-U", "skillflow", "-A", "scram-sha-256", `--pwfile=${secret}`, "-E", "UTF8"];
  const [command = "", ...rest] = commandOf(place, programs.initdb, [...args, "--no-locale"]);
  const child = spawn(command, rest, { env: environmentOf(place, programs), cwd: "/", stdio: logged(folder) });
  const code = await ended(child);
  if (code !== 0) throw failed(place, `initdb: ${lastSaid(folder)}`);
  renameSync(draft, join(folder, "data"));
}

/**
 * Starts the keeper. The pipe already has a reader and we write to it: if we die during start-up, the keeper sees the
 * end of the pipe. If only the keeper was killed, the running server gets a new one.
 */
async function startServer(place: EmbeddedPlace, programs: PostgresPrograms): Promise<number | undefined> {
  const { folder } = place;
  const [pipe, pidfile] = [join(folder, PIPE), join(folder, "data", "postmaster.pid")];
  if (!lstatSync(pipe, { throwIfNoEntry: false })) await ended(spawn("mkfifo", ["-m", "600", pipe]));
  const isThere = (await answering(place)) !== undefined;
  if (!isThere && (await isEnding(folder))) return undefined;
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = constants;
  const reader = openSync(pipe, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  const writer = enter(place);
  const server = isThere ? [] : commandOf(place, programs.postgres, await settingsOf(folder));
  const keeper = spawn(place.execPath, ["-e", KEEPER, "--", pipe, pidfile, ...server], {
    env: environmentOf(place, programs),
    cwd: "/",
    stdio: logged(folder),
    detached: true,
  });
  keeper.unref();
  let isOver = false;
  keeper.once("close", () => {
    isOver = true;
  });
  const begun = Date.now();
  while (!isOver && Date.now() - begun < PATIENCE_MS && (await answering(place)) === undefined) await pause(POLL_MS);
  closeSync(reader);
  if (writer === undefined || isOver) throw failed(place, lastSaid(folder));
  return writer;
}

/**
 * Program of the keeper. Arguments: the pipe, the server's pid file, and the command that starts the server. Opening
 * the pipe read-write first lets the keeper open it without waiting for a writer.
 */
const KEEPER = `
  const { closeSync, createReadStream, openSync, readFileSync } = require("node:fs");
  const { spawn } = require("node:child_process");
  const [pipe, pidfile, command, ...args] = process.argv.slice(1);
  const server = command && spawn(command, args, { stdio: "inherit", cwd: "/" });
  if (server) server.on("error", (error) => process.exit(console.error("FATAL: " + error.message) ?? 1));
  if (server) server.on("exit", () => process.exit());
  const writer = openSync(pipe, "r+");
  const users = createReadStream("", { fd: openSync(pipe, "r") });
  closeSync(writer);
  users.on("end", () => process.kill(server ? server.pid : Number.parseInt(readFileSync(pidfile)), "SIGINT")).resume();`;

/** Checks for a server that is shutting down. Removes the pid file of a server that is gone. */
async function isEnding(folder: string): Promise<boolean> {
  const running = runningIn(folder);
  if (!running) return false;
  const command = join("/proc", String(running.pid), "cmdline");
  const isOurs = !existsSync("/proc/self") || (existsSync(command) && readFileSync(command, "utf8").includes(folder));
  if (!isOurs) rmSync(join(folder, "data", "postmaster.pid"), { force: true });
  return isOurs;
}

async function settingsOf(folder: string): Promise<string[]> {
  const settings = [
    "listen_addresses=127.0.0.1",
    `port=${await freePort()}`,
    "unix_socket_directories=",
    "max_connections=200",
  ];
  return ["-D", join(folder, "data"), ...settings.flatMap((setting) => ["-c", setting])];
}

async function freePort(): Promise<number> {
  const { createServer } = await import("node:net");
  const probe = createServer();
  return new Promise((resolve, reject) => {
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

const NOBODY = 65_534;

/** Drops root privileges except file access, because projects and packages are often readable only by root. */
function commandOf(place: EmbeddedPlace, program: string, args: readonly string[]): string[] {
  if (place.uid !== 0) return [program, ...args];
  const rights = ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"];
  return ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", ...rights, "--", program, ...args];
}

/** Creates the library links that the package omits. Its install script makes them, but may not run. */
function environmentOf({ folder }: EmbeddedPlace, { libraries }: PostgresPrograms): Readonly<Record<string, string>> {
  const linked = join(folder, "lib");
  const list: readonly Record<"source" | "target", string>[] = JSON.parse(
    readFileSync(join(libraries, "..", "pg-symlinks.json"), "utf8"),
  );
  rmSync(linked, { recursive: true, force: true });
  mkdirSync(linked, { mode: 0o755 });
  for (const { source, target } of list) symlinkSync(join(libraries, basename(source)), join(linked, basename(target)));
  return { PATH: USUAL_PATH, LC_ALL: "C", TZ: "UTC", LD_LIBRARY_PATH: `${linked}:${libraries}` };
}

const USUAL_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

function logged(folder: string): ["ignore", number, number] {
  const file = openSync(join(folder, "log"), "w", 0o600);
  return ["ignore", file, file];
}

function lastSaid(folder: string): string {
  const lines = readFileSync(join(folder, "log"), "utf8").trimEnd().split("\n");
  return lines.findLast((line) => /FATAL|error|setpriv/.test(line)) ?? lines.at(-1) ?? "";
}

function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
}

function failed({ folder }: Pick<EmbeddedPlace, "folder">, why: string): SkillflowError {
  return new SkillflowError("store.failed", `the embedded Postgres in ${folder}: ${why}`, {
    hint: `see ${join(folder, "log")}`,
  });
}
