import { createHmac } from "node:crypto";
import { request as httpRequest } from "node:http";
import { hostname } from "node:os";
import { openMetrics } from "../../../src/app/adapters/metrics.ts";
import type { Host } from "../../../src/app/host.ts";
import { type Link, type ListenerOptions, openListener } from "../../../src/app/listen/listener.ts";
import { readSetting } from "../../../src/app/listen/setting.ts";
import type { Watch } from "../../../src/app/runs/drive.ts";
import { openWorkspace } from "../../../src/app/workspace.ts";
import type { Model } from "../../../src/core/engine/ports.ts";
import type { RunChoices } from "../../../src/core/engine/settings/settings.ts";
import type { Skill } from "../../../src/core/skill/skill.ts";
import { openWebhooks, type WebhookTold } from "../../../src/protocol/webhooks/server.ts";
import { approvalPage, toldPage } from "../../../src/reports/site/approval.ts";
import { sandboxHost } from "../../sandbox/host.ts";

/** A listener in this process, with its output. */

export const SECRET = "hook-secret-0123456789";
const CHOICES: RunChoices = { offline: false, requireSkills: false };
const quiet = () => undefined;
const WATCH: Watch = {
  observers: [],
  signal: new AbortController().signal,
  onPromptChanged: quiet,
  loggerFor: () => ({ debug: quiet, info: quiet, warn: quiet }),
};

export interface Listening {
  readonly url: string;
  readonly told: readonly WebhookTold[];
  readonly ended: readonly string[];
  readonly links: readonly Link[];
  readonly faults: readonly unknown[];
  /** Resolves once `isSo` returns true. Checked whenever a run ends or a link is made. */
  until(isSo: () => boolean): Promise<void>;
  drain(): void;
  /** Resolves once it has ended. */
  stop(): Promise<void>;
}

export function workspaceAt(cwd: string, { env = { HOOK: SECRET }, models, given = [] }: Surroundings = {}) {
  const self = { pid: process.pid, host: hostname(), started: "" };
  const host: Host = { ...sandboxHost, env, cwd, self, isAlive: () => true };
  const options = { overrides: new Map(), skillDirs: [], discover: false, given, store: undefined };
  return openWorkspace(host, { ...options, ...(models ? { models } : {}) });
}

interface Surroundings {
  readonly env?: Host["env"];
  readonly models?: ReadonlyMap<string, Model>;
  readonly ask?: ListenerOptions["ask"];
  readonly given?: readonly Skill[];
}

export async function startListening(
  cwd: string,
  choices: Partial<RunChoices> = {},
  around: Surroundings = {},
): Promise<Listening> {
  const told: WebhookTold[] = [];
  const ended: string[] = [];
  const links: Link[] = [];
  const faults: unknown[] = [];
  const looks = new Set<() => void>();
  const look = () => {
    for (const one of looks) one();
  };
  const setting = readSetting(workspaceAt(cwd, around), "listen.yml", { ...CHOICES, ...choices });
  const { workspace, file } = setting;
  const queued = async () => (await workspace.intake?.waiting()) ?? 0;
  const metrics = await openMetrics(workspace, { ...CHOICES, ...choices }, queued);
  const listener = openListener(setting, {
    choices: { ...CHOICES, ...choices },
    watch: (prepared) => ({ ...WATCH, observers: [metrics.start(prepared)] }),
    onEnd: (finished) => {
      const { record, result } = finished;
      metrics.end(record.run, finished);
      ended.push(`${record.run} ${result.status}`);
      look();
    },
    onLink: (link) => {
      links.push(link);
      look();
    },
    onGivenUp: (_, error) => faults.push(error),
    loggerFor: WATCH.loggerFor,
    onSlackFault: (error) => faults.push(error),
    ...(around.ask ? { ask: around.ask } : {}),
  });
  const server = await openWebhooks(setting, listener, {
    host: "127.0.0.1",
    port: 0,
    pages: { ask: ({ link, stored }) => approvalPage({ ...link, stored }), tell: toldPage },
    metrics: {
      ...metrics,
      host: file.host ?? "127.0.0.1",
      token: file.metrics && workspace.host.env[file.metrics.token],
    },
    onEvent: (event) => told.push(event),
    onFault: (error) => faults.push(error),
  });
  const stopping = new AbortController();
  const over = listener.work(stopping.signal, quiet);
  return {
    url: server.url,
    told,
    ended,
    links,
    faults,
    until: (isSo) =>
      new Promise((resolve) => {
        const one = () => {
          if (!isSo()) return;
          looks.delete(one);
          resolve();
        };
        looks.add(one);
        one();
      }),
    drain: server.drain,
    async stop() {
      stopping.abort();
      await over;
      await server.close(0);
    },
  };
}

export interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  // Results that a test inspects.
  readonly json: Readonly<Record<string, unknown>>;
}

export function send(
  url: string,
  { method = "POST", path = "/hook", headers = {}, body = "" }: Sent,
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(url + path, { method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        const json = text.startsWith("{") ? JSON.parse(text) : {};
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json });
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

let deliveries = 0;

/** Signs as the generic kind does. Each call is a separate delivery, unless it is named. */
export function signed(body: unknown, { delivery, path, at = Date.now(), secret = SECRET }: Signing = {}): Sent {
  const text = typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const timestamp = String(Math.floor(at / 1000));
  const mac = createHmac("sha256", secret).update(`${timestamp}.`).update(text).digest("hex");
  return {
    ...(path === undefined ? {} : { path }),
    body: text,
    headers: {
      "x-skillflow-timestamp": timestamp,
      "x-skillflow-delivery": delivery ?? `d-${++deliveries}`,
      "x-skillflow-signature": `sha256=${mac}`,
    },
  };
}

interface Signing {
  readonly delivery?: string;
  readonly path?: string;
  /** Milliseconds. */
  readonly at?: number;
  readonly secret?: string;
}
