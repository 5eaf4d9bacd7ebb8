// Child processes by name: started with their log as standard output, stopped one by one or all at once.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const READY_MS = 60_000;
const STOP_MS = 8000;

export class Processes {
  #running = new Map();
  #fail;

  constructor() {
    this.failed = new Promise((_, reject) => {
      this.#fail = reject;
    });
    this.failed.catch(() => undefined);
    process.once("exit", () => this.#kill());
  }

  /** `prefix` is what starts node, such as `nsenter` with its arguments. */
  start(name, script, { env, log, prefix = [] }) {
    const output = log ? openSync(log, "a") : "ignore";
    const [program, ...args] = [...prefix, process.execPath, script];
    const child = spawn(program, args, { env, stdio: ["ignore", output, "inherit"] });
    if (log) closeSync(output);
    this.#running.set(name, child);
    child.once("exit", (code) => {
      if (this.#running.get(name) === child) this.#fail(new Error(`${name} ended by itself with code ${code}`));
    });
    return child.pid;
  }

  signal(name, signal) {
    this.#running.get(name).kill(signal);
  }

  async stop(name) {
    const child = this.#running.get(name);
    this.#running.delete(name);
    if (!child || child.exitCode !== null) return;
    const ended = once(child, "exit");
    const killer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    child.kill("SIGTERM");
    await ended;
    clearTimeout(killer);
  }

  async stopAll() {
    for (const name of [...this.#running.keys()].reverse()) await this.stop(name);
  }

  #kill() {
    for (const child of this.#running.values()) child.kill("SIGKILL");
  }
}

export async function waitUntilReady(url) {
  const deadline = Date.now() + READY_MS;
  while (Date.now() < deadline) {
    const response = await fetch(`${url}/healthz`).catch(() => undefined);
    if (response?.ok) return;
    await sleep(50);
  }
  throw new Error(`nothing answers at ${url}`);
}

export async function freePort() {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address();
  probe.close();
  await once(probe, "close");
  return port;
}
