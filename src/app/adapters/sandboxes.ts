import { lazy } from "../../core/base/values.ts";
import type { Sandbox } from "../../core/skill/sandbox.ts";
import type { LoaderHost } from "../../loaders/folder/host.ts";
import type { Host, Workspace } from "../host.ts";

/** Returns runners that open their sandboxes on first use. */
export function openRunners(host: Host): Pick<LoaderHost, "runProgram" | "runForeign" | "runJavaScript"> {
  const lazily = (open: () => Promise<Sandbox>): Sandbox["run"] => {
    const opened = lazy(open);
    return async (command, turn) => (await opened()).run(command, turn);
  };
  return {
    runProgram: lazily(async () => (await import("../../sandbox/process.ts")).processSandbox(host)),
    runForeign: lazily(() => foreignSandbox(host)),
    runJavaScript: async (call) => (await import("../../sandbox/quickjs.ts")).runJavaScript(call),
  };
}

async function foreignSandbox(host: Host): Promise<Sandbox> {
  return (await import("../../sandbox/choose.ts")).openSandbox(host);
}

/** Returns the name of this machine's sandbox for skill code, or `missing` if there is none. */
export async function sandboxName({ host }: Workspace): Promise<string> {
  return (await foreignSandbox(host)).name;
}
