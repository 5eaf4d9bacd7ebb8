import { commandLine } from "../command-line.ts";
import { endProcess } from "../process-host.ts";
import { runAction } from "./run.ts";

/** Where the action begins: what it takes of its process. */
export async function startAction(): Promise<void> {
  const say = (text: string) => new Promise<void>((resolve) => process.stderr.write(text, () => resolve()));
  // What a tool left running must not keep us.
  endProcess(await runAction({ env: process.env, cwd: process.cwd(), fetch, say, commandLine }));
}
