import type { SandboxHost } from "../../src/sandbox/host.ts";

/** This process as the sandboxes see theirs. */
export const sandboxHost: SandboxHost = {
  env: process.env,
  execPath: process.execPath,
  uid: process.geteuid?.(),
  kill: (pid, signal) => {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  },
};
