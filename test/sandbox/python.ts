import { openSandbox } from "../../src/sandbox/choose.ts";
import { sandboxHost } from "./host.ts";

/** The sandbox of this machine, if it has one. */
export const sandbox = await openSandbox(sandboxHost);

/** Tests that run Python in a sandbox are skipped if a machine lacks one or the other. */
export const runsPython = await hasPythonInside();

async function hasPythonInside(): Promise<boolean> {
  if (sandbox.name === "missing") return false;
  const command = {
    argv: ["python3", "--version"] as [string, string],
    stdin: "",
    env: {},
    mounts: [],
    cwd: "/",
    network: false,
    limits: { wallMs: 20_000, outputBytes: 1000 },
    signal: new AbortController().signal,
  };
  return sandbox.run(command).then(
    ({ code }) => code === 0,
    () => false,
  );
}
