import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { type Loopback, sendJson, startLoopback } from "../../../src/testing.ts";
import { type Ended, makeProject, runProgram } from "../../cli/program.ts";

/** Places around a hostile tree, and what shows that something of the tree had an effect. */

const canary = (name: string) => createHash("sha256").update(name).digest("hex").slice(0, 40);
export const KEY = canary("a private key");
export const AWS = canary("a variable that nobody named");
export const REMEMBERED = canary("a token in git's configuration");

export interface Target {
  readonly cwd: string;
  readonly home: string;
  /** A folder that stays empty unless something of the tree was run. */
  readonly witness: string;
  /** A service that must never be asked. */
  readonly server: Loopback;
}

const services: Loopback[] = [];

export async function closeServices(): Promise<void> {
  await Promise.all(services.splice(0).map((service) => service.close()));
}

export async function makePlaces(): Promise<Target> {
  const server = await startLoopback((_request, response) => sendJson(response, 200, { ok: true }));
  services.push(server);
  const top = makeProject({
    "home/.ssh/id_rsa": KEY,
    "home/.aws/credentials": `${KEY}: [default]\nkey = ${KEY}: x: {\n`,
    "home/.bashrc": "# mine\n",
    "witness/.keep": "",
    "cwd/.keep": "",
  });
  return { cwd: join(top, "cwd"), home: join(top, "home"), witness: join(top, "witness"), server };
}

export function writeFiles(folder: string, files: Readonly<Record<string, unknown>>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(
      join(folder, name),
      typeof content === "string" || content instanceof Uint8Array ? content : JSON.stringify(content),
    );
  }
}

/** The program as a process that is killed if it is deaf. */
export function runBounded(
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<Ended> {
  return runProgram(args, { cwd, env, through: ["timeout", "--signal=KILL", "90"] });
}

/** Commands that ended abnormally: by a signal, or with a stack trace on the terminal. */
export function brokenOnes(ended: readonly (readonly [string, Ended])[]) {
  return ended.filter(([, { code, stderr }]) => code === null || code > 128 || /\n\s+at .*\(/.test(stderr));
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

/** The content of each file except the program's own cache. Links, pipes and sockets by name alone. */
export function snapshot(folder: string): Record<string, string> {
  const files = filesBelow(folder).filter((path) => !relative(folder, path).startsWith(".cache/"));
  const held = files.map((path) => [
    relative(folder, path),
    lstatSync(path).isFile() ? readFileSync(path, "latin1") : "special",
  ]);
  return Object.fromEntries(held);
}

/** Names of files that changed, without those that the program may write. */
export function writtenOutside(before: Record<string, string>, after: Record<string, string>): string[] {
  const written = Object.keys(after).filter((name) => after[name] !== before[name]);
  return written.filter((name) => !/^(?:\.skillflow\/(?:runs|state)|skillflow-out)\//.test(name));
}

/** Names of commands and files whose text holds a secret. */
export function leaksIn(texts: readonly (readonly [string, string])[], secrets = [KEY, AWS, REMEMBERED]): string[] {
  return texts.filter(([, text]) => secrets.some((secret) => text.includes(secret))).map(([name]) => name);
}
