import type { SandboxHost } from "../../src/sandbox/host.ts";
import { livingProcess } from "../../src/sandbox/processes.ts";

/** This process as the sandboxes see their host. */
export const sandboxHost: SandboxHost = {
  env: process.env,
  execPath: process.execPath,
  self: { pid: process.pid, host: "here", started: livingProcess(process.pid)?.started ?? "" },
  uid: process.geteuid?.(),
  kill: (pid, signal) => {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  },
};
