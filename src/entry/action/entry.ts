import { commandLine } from "../command-line.ts";
import { endProcess } from "../process-host.ts";
import { runAction } from "./run.ts";

export async function startAction(): Promise<void> {
  const say = (text: string) => new Promise<void>((resolve) => process.stderr.write(text, () => resolve()));
  // Do not wait for handles that a tool left open.
  endProcess(await runAction({ env: process.env, cwd: process.cwd(), fetch, say, commandLine }));
}
