import { type ChildProcess, spawn } from "node:child_process";
import { SECRET } from "../protocol/webhooks/listening.ts";
import { programCommand } from "./program.ts";

/** The program as a listening process. */

const children: ChildProcess[] = [];
export function killListening(): void {
  for (const child of children.splice(0)) child.kill("SIGKILL");
}

export interface Process {
  readonly child: ChildProcess;
  readonly url: string;
  readonly said: () => string;
  readonly ended: Promise<number | null>;
  /** Resolves once `isSo` returns true. Checked whenever the process prints something. */
  until(isSo: () => boolean): Promise<void>;
}

/** Resolves once it listens. */
export function start(
  cwd: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Process> {
  const program = programCommand(["listen", "--port", "0", ...args]);
  const child = spawn(program.command, program.args, { cwd, env: { ...program.env, HOOK: SECRET, ...env } });
  children.push(child);
  let [out, err] = ["", ""];
  const looks = new Set<() => void>();
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    err += text;
    for (const look of looks) look();
  });
  const until = (isSo: () => boolean) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (!isSo()) return;
        looks.delete(look);
        resolve();
      };
      looks.add(look);
      look();
    });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  return new Promise((resolve, reject) => {
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      out += text;
      const url = /^listening on (http:\S+)$/m.exec(out)?.[1];
      if (url !== undefined) resolve({ child, url, said: () => err, ended, until });
    });
    void ended.then((code) => reject(new Error(`it ended with ${code}: ${err}`)));
  });
}
