import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { messageOf } from "../../core/base/errors.ts";
import { isObject, parseJson } from "../../core/base/values.ts";
import { temporaryName } from "../../files/temporary-name.ts";
import type { Processes } from "./server-types.ts";

interface ServerCommand {
  /** Program, looked up on the PATH of `env`. */
  readonly command: string;
  readonly args: readonly string[];
  /** All variables of the server, except TMPDIR, which is set to a separate folder. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly processes: Processes;
}

/** MCP server that runs as a process. When `close` resolves, it and all processes that it started are gone. */
interface ServerProcess extends Transport {
  /** Describes how the server failed and what it printed. Empty if there is nothing to report. */
  describe(): string;
}

/** Longest message. The server is ended if it sends a longer one. */
export const MOST_MESSAGE = 16 * 1024 * 1024;
/** Error for a message that was not sent because the server is gone. The SDK uses the same code. */
export class NotConnected extends Error {
  readonly code = "NOT_CONNECTED";
}
/** Maximum output before the first message that is not JSON-RPC. A server that prints more speaks another protocol. */
const MOST_NOISE = 64 * 1024;
/** Characters of output to keep. Messages show far less, after redaction. */
const KEPT_WORDS = 64 * 1024;
const GRACE_MS = 1000;

/** Creates a transport that starts a process and exchanges lines of JSON-RPC over its standard streams. */
export function createServerProcess(server: ServerCommand): ServerProcess {
  const words = keepTail();
  const noise = keepTail();
  let starting: Promise<Started> | undefined;
  let input: Writable | undefined;
  let fault = "";
  let closing: Promise<void> | undefined;

  const close = () => {
    closing ??= end();
    return closing;
  };
  const end = async () => {
    const started = await starting?.catch(() => undefined);
    if (started) await endAll(started, server.processes);
    transport.onclose?.();
  };
  const failWith = (what: string) => {
    fault ||= what;
    return close();
  };
  const lines = readLines(MOST_MESSAGE, {
    onLine(line) {
      const message = parseJson(line);
      // The SDK validates the rest.
      if (isObject(message) && message.jsonrpc === "2.0") {
        noise.limit = Number.POSITIVE_INFINITY;
        transport.onmessage?.(message as object as JSONRPCMessage);
      } else if (line.trim() !== "") {
        noise.add(`${line}\n`);
      }
    },
    onOverflow: () => void failWith("it sent a message that is too large"),
  });

  const transport: ServerProcess = {
    async start() {
      starting = startProcess(server);
      const { child, exited } = await starting;
      input = child.stdin;
      child.stderr.setEncoding("utf8").on("data", words.add);
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        lines(text);
        if (noise.count > noise.limit) void failWith("it does not speak JSON-RPC on its standard output");
      });
      child.stdin.on("error", (error) => transport.onerror?.(error));
      void exited.then((how) => failWith(how));
    },
    async send(message) {
      if (!input || closing) throw new NotConnected("the server is not running");
      input.write(`${JSON.stringify(message)}\n`);
    },
    close,
    describe() {
      const [last, other] = [words.text(), noise.text()];
      const said = [fault, last && `its last output: ${last}`, other && `on its standard output it printed: ${other}`];
      return said.filter((part) => part !== "").join("; ");
    },
  };
  return transport;
}

/** Keeps the end of the output, for one line without stack frames. `count` is the total number of characters. */
function keepTail() {
  let kept = "";
  const tail = {
    count: 0,
    limit: MOST_NOISE,
    add(text: string) {
      tail.count += text.length;
      kept = (kept + text).slice(-KEPT_WORDS);
    },
    text() {
      const lines = kept.trim().split(/(?<!\s)\s*\n\s*/);
      // If output was dropped, the first line may be incomplete.
      return lines
        .slice(tail.count > KEPT_WORDS ? 1 : 0)
        .filter((line) => !line.startsWith("at "))
        .join(" | ");
    },
  };
  return tail;
}

function readLines(
  most: number,
  on: { readonly onLine: (line: string) => void; readonly onOverflow: () => void },
): (text: string) => void {
  let pending = "";
  return (text) => {
    const [first = "", ...rest] = text.split("\n");
    pending += first;
    for (const part of rest) {
      on.onLine(pending);
      pending = part;
    }
    if (pending.length <= most) return;
    pending = "";
    on.onOverflow();
  };
}

type Started = Awaited<ReturnType<typeof startProcess>>;

async function startProcess({ command, args, env, cwd, processes }: ServerCommand) {
  const temporary = mkdtempSync(join(env.TMPDIR || tmpdir(), temporaryName("mcp", processes.self)));
  try {
    // Wrappers such as npx leave children behind, so the server gets its own process group.
    const child = spawn(command, [...args], { cwd, env: { ...env, TMPDIR: temporary }, detached: true });
    /** Resolves with the way it ended, after it has exited and its output was read. */
    const exited = new Promise<string>((resolve) => {
      child.once("exit", (code, signal) => {
        const how = signal ? `it was ended by ${signal}` : `it ended with exit code ${code}`;
        // Descendants may keep the pipes open. The extra turn lets output arrive that is ready when the timer fires.
        const timer = setTimeout(() => setImmediate(() => resolve(how)), GRACE_MS);
        child.once("close", () => {
          clearTimeout(timer);
          resolve(how);
        });
      });
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", reject);
    });
    const pid = child.pid ?? 0;
    return { child, pid, exited, temporary, living: processes.follow(pid, `TMPDIR=${temporary}`) };
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true });
    const missing = (error as NodeJS.ErrnoException).code === "ENOENT";
    throw new Error(missing ? `${command} was not found on the PATH` : `${command}: ${messageOf(error)}`);
  }
}

/** Ends a server and all its descendants: closes its input, then sends SIGTERM, then SIGKILL. */
async function endAll({ child, pid, exited, temporary, living }: Started, { kill, isAlive }: Processes): Promise<void> {
  // After the process exits, its children can no longer be identified by their parent.
  living();
  child.stdin.end();
  const quiet = new AbortController();
  await Promise.race([exited, delay(GRACE_MS, undefined, { signal: quiet.signal }).catch(() => undefined)]);
  quiet.abort();
  const isLeft = () => isAlive(-pid) || living().length > 0;
  const tell = (signal: "SIGTERM" | "SIGKILL") => {
    for (const member of [-pid, ...living()]) kill(member, signal);
  };
  if (isLeft()) {
    tell("SIGTERM");
    for (let waited = 0; waited < GRACE_MS && isLeft(); waited += 20) await delay(20);
    for (let waited = 0; waited < GRACE_MS && isLeft(); waited += 20) {
      tell("SIGKILL");
      await delay(20);
    }
    await exited;
  }
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
  rmSync(temporary, { recursive: true, force: true, maxRetries: 3 });
}
