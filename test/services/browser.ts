import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocket } from "undici";

/** A headless Chromium, controlled through its DevTools protocol. */

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);

/** Reason why there is none. Undefined if there is one. */
export const noBrowser = CHROMIUM === undefined ? "no Chromium is installed (/usr/bin/chromium)" : undefined;

export interface Tab {
  open(url: string): Promise<void>;
  /** The value of an expression in the page. Promises are awaited. */
  evaluate<Value>(expression: string): Promise<Value>;
  /** Resolves once the expression is true in the page, which checks it after each change. */
  until(expression: string): Promise<void>;
  screenshot(width: number, height: number, scheme?: "light" | "dark"): Promise<Buffer>;
  /** Errors of the page: of scripts, and of what its policy blocked. */
  readonly complaints: readonly string[];
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, never>>;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

export async function openBrowser(): Promise<{ readonly tab: Tab; close(): Promise<void> }> {
  const profile = mkdtempSync(join(tmpdir(), "browser-"));
  const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", "--hide-scrollbars"];
  const child = spawn(CHROMIUM ?? "", [...flags, `--user-data-dir=${profile}`, "about:blank"]);
  const exited = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const address = await new Promise<string>((resolve, reject) => {
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      const [, found] = /DevTools listening on (\S+)/.exec(said) ?? [];
      if (found) resolve(found);
    });
    void exited.then(() => reject(new Error(`Chromium ended: ${said.slice(-500)}`)));
  });
  const socket = new WebSocket(address);
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve);
    socket.addEventListener("error", reject);
  });
  const waiting = new Map<number, (message: Message) => void>();
  const heard: ((message: Message) => void)[] = [];
  socket.addEventListener("message", ({ data }) => {
    const message = JSON.parse(String(data)) as Message;
    if (message.id !== undefined) waiting.get(message.id)?.(message);
    else for (const hear of heard) hear(message);
  });
  let last = 0;
  let sessionId: string | undefined;
  const ask = <Value>(method: string, params: object = {}): Promise<Value> =>
    new Promise((resolve, reject) => {
      const id = ++last;
      waiting.set(id, ({ result, error }) => (error ? reject(new Error(error.message)) : resolve(result as Value)));
      socket.send(JSON.stringify({ id, method, params, ...(sessionId === undefined ? {} : { sessionId }) }));
    });
  const { targetId } = await ask<{ targetId: string }>("Target.createTarget", { url: "about:blank" });
  ({ sessionId } = await ask<{ sessionId: string }>("Target.attachToTarget", { targetId, flatten: true }));
  const complaints: string[] = [];
  heard.push(({ method, params }) => {
    const told = params as Readonly<Record<string, { readonly text?: string; readonly level?: string }>> | undefined;
    if (method === "Runtime.exceptionThrown") complaints.push(JSON.stringify(told?.exceptionDetails));
    if (method === "Log.entryAdded" && told?.entry?.level === "error") complaints.push(told.entry.text ?? "");
  });
  await Promise.all(["Page.enable", "Runtime.enable", "Log.enable"].map((method) => ask(method)));
  const tab: Tab = {
    complaints,
    async open(url) {
      const loaded = new Promise<void>((resolve) => {
        heard.push(({ method }) => (method === "Page.loadEventFired" ? resolve() : undefined));
      });
      await ask("Page.navigate", { url });
      await loaded;
    },
    async evaluate<Value>(expression: string) {
      const { result, exceptionDetails } = await ask<{ result: { value: Value }; exceptionDetails?: { text: string } }>(
        "Runtime.evaluate",
        { expression, awaitPromise: true, returnByValue: true },
      );
      if (exceptionDetails) throw new Error(`${exceptionDetails.text}: ${JSON.stringify(result)}`);
      return result.value;
    },
    async until(expression) {
      await tab.evaluate(`new Promise((resolve) => {
        const look = () => { if (${expression}) { watch.disconnect(); resolve(true); } };
        const watch = new MutationObserver(look);
        watch.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
        look();
      })`);
    },
    async screenshot(width, height, scheme = "light") {
      const features = [{ name: "prefers-color-scheme", value: scheme }];
      await ask("Emulation.setEmulatedMedia", { features });
      await ask("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 600 });
      const { data } = await ask<{ data: string }>("Page.captureScreenshot", { format: "png" });
      return Buffer.from(data, "base64");
    },
  };
  return {
    tab,
    async close() {
      socket.close();
      child.kill();
      await exited;
      rmSync(profile, { recursive: true, force: true });
    },
  };
}
