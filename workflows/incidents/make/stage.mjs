// The environment of an incident: its processes, their logs, its repository and deploys, and the stored evidence.
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { homedir, hostname, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { buildHistory, bundle, checkOut } from "./history.mjs";
import { freePort, Processes, waitUntilReady } from "./processes.mjs";

const HERE = import.meta.dirname;
const DRAIN_MS = 3000;
const SHARED = ["access-log-proxy", "crashing-pod", "load"];

export class Stage {
  #ports = new Map();
  #checkouts = new Map();
  #deployed = new Map();
  processes = new Processes();

  static async open({ folder, out, pace }) {
    const work = await mkdtemp(join(tmpdir(), "incident-"));
    await mkdir(join(work, "logs"));
    await rm(join(out, "logs"), { recursive: true, force: true });
    await mkdir(join(out, "logs"), { recursive: true });
    for (const name of await readdir(out)) {
      if (/\.(?:jsonl|csv|prom|bundle)$|^alert\.json$/.test(name)) await rm(join(out, name));
    }
    return new Stage(folder, out, work, pace);
  }

  constructor(folder, out, work, pace) {
    Object.assign(this, { folder, out, work, pace, name: basename(folder) });
  }

  /** Seconds of the incident; a pace below 1 makes them shorter. */
  wait(seconds) {
    return sleep(seconds * 1000 * this.pace);
  }

  /** The repository that history/ makes. Its bundle is stored as NAME.bundle. */
  async repository(name) {
    this.service = name;
    await buildHistory(join(this.work, name), { patches: join(this.folder, "history"), name });
  }

  /** A checkout of a tag or commit, made once. */
  async checkOut(revision) {
    if (!this.#checkouts.has(revision)) {
      const folder = join(this.work, `${this.service}-${this.#checkouts.size + 1}`);
      this.#checkouts.set(revision, await checkOut(join(this.work, this.service), revision, folder));
    }
    return this.#checkouts.get(revision);
  }

  async port(name) {
    if (!this.#ports.has(name)) this.#ports.set(name, await freePort());
    return this.#ports.get(name);
  }

  async url(name) {
    return `http://127.0.0.1:${await this.port(name)}`;
  }

  logOf(name) {
    return join(this.work, "logs", name);
  }

  /** Starts a script, or one of the shared ones by its name, with its standard output as a log. */
  async start(name, script, { env = {}, log = `${name}.log`, ready = true, prefix } = {}) {
    const path = SHARED.includes(script) ? join(HERE, `${script}.mjs`) : script;
    const own = { PORT: String(await this.port(name)), INSTANCE: name, PATH: process.env.PATH, ...env };
    const pid = this.processes.start(name, path, { env: own, log: log && this.logOf(log), prefix });
    if (ready) await waitUntilReady(await this.url(name));
    return pid;
  }

  stop(name) {
    return this.processes.stop(name);
  }

  /** Puts a release of the repository on instances, one after another, and notes the deploy. A `host` starts it itself. */
  async deploy(version, instances, { author, reason, host, env = {}, ...rest }) {
    const { folder, commit } = await this.checkOut(version);
    const time = new Date().toISOString();
    const ready = [];
    for (const instance of instances) {
      await this.stop(instance);
      const script = join(folder, "src", "main.js");
      const own = { VERSION: version.replace(/^v/, ""), WORKER: script, ...env };
      await this.start(instance, host ?? script, { env: own, ...rest });
      ready.push({ instance, ready: new Date().toISOString() });
    }
    const previous = this.#deployed.get(this.service) ?? null;
    this.#deployed.set(this.service, version);
    await this.note({
      time,
      service: this.service,
      version,
      commit,
      previous_version: previous,
      instances: ready,
      author,
      reason,
    });
    this.say(`${this.service} ${version}`);
  }

  /** A line of deploys.jsonl. */
  note(row) {
    return this.append("deploys.jsonl", `${JSON.stringify(row)}\n`);
  }

  append(file, text) {
    return appendFile(join(this.out, file), text);
  }

  /** Requests to instances in turn as `plan` says, until it is stopped. */
  async load(names, plan) {
    const urls = await Promise.all(names.map((name) => this.url(name)));
    const phases = plan.phases.map(({ seconds, rate }) => ({ seconds: seconds * this.pace, rate }));
    const env = { TARGETS: urls.join(), PLAN: JSON.stringify({ ...plan, phases }) };
    return this.start("load", "load", { env, log: null, ready: false });
  }

  async alert(payload) {
    await writeFile(join(this.out, "alert.json"), `${JSON.stringify(payload, null, 2)}\n`);
    this.say("the alert is sent");
  }

  /** Ends every process, once open requests were answered, and stores logs and repository. */
  async collect() {
    await this.stop("load");
    await sleep(DRAIN_MS);
    await this.processes.stopAll();
    if (this.service) await bundle(join(this.work, this.service), join(this.out, `${this.service}.bundle`));
    for (const name of (await readdir(this.logOf(""))).sort()) {
      const text = await readFile(this.logOf(name));
      this.#assertNoTrace(name, text);
      await writeFile(join(this.out, "logs", `${name}.gz`), await promisify(gzip)(text, { level: 9 }));
      this.say(`${name}: ${text.toString("utf8").split("\n").length - 1} lines`);
    }
  }

  async close() {
    await this.processes.stopAll();
    await rm(this.work, { recursive: true, force: true });
  }

  say(text) {
    console.log(`${new Date().toISOString()} ${text}`);
  }

  #assertNoTrace(name, text) {
    for (const trace of [this.work, HERE, homedir(), hostname()]) {
      if (trace.length > 3 && text.includes(trace)) throw new Error(`${name} names this machine: ${trace}`);
    }
  }
}
