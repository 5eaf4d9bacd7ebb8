import type { SandboxHost } from "../../src/sandbox/host.ts";

/** This process as the sandboxes see theirs. */
export const sandboxHost: SandboxHost = {
  env: process.env,
  execPath: process.execPath,
  self: { pid: process.pid, host: "here", started: "1" },
  uid: process.geteuid?.(),
  kill: (pid, signal) => {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  },
};
