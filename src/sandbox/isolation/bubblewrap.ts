import type { Sandbox } from "../../core/skill/sandbox.ts";
import type { SandboxHost } from "../host.ts";
import { type EncloseParts, type Enclosure, isolatingSandbox } from "./isolating.ts";
import { seccompFilter } from "./seccomp.ts";
import { INNER_ID, innerEnvironment, SHM_BYTES } from "./view.ts";

/** Creates a sandbox with bubblewrap (`bwrap`), which starts in a few milliseconds. */
export function bubblewrapSandbox(host: SandboxHost, bwrap: string): Sandbox {
  return isolatingSandbox(host, "bubblewrap", (parts) => enclose(host, bwrap, parts));
}

function enclose(host: SandboxHost, bwrap: string, { command, view }: EncloseParts): Enclosure {
  let status = "";
  const filter = seccompFilter();
  const flags = [
    ...["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"],
    ...["--cap-drop", "ALL", "--uid", `${INNER_ID}`, "--gid", `${INNER_ID}`, "--hostname", "sandbox"],
    ...(command.network === true ? ["--share-net"] : []),
    ...(filter ? ["--seccomp", "6"] : []),
    ...["--proc", "/proc", "--dev", "/dev", "--size", `${SHM_BYTES}`, "--tmpfs", "/dev/shm", "--remount-ro", "/dev"],
    ...view.flat(),
    ...["--remount-ro", "/", "--chdir", command.cwd],
    ...Object.entries(innerEnvironment(host, command)).flatMap(([name, value]) => ["--setenv", name, value]),
  ];
  return {
    // Pass the flags by file descriptor, because every user can read command lines.
    // Remove PWD, which bwrap adds.
    argv: [bwrap, "--json-status-fd", "3", "--args", "4", "--block-fd", "5", "--", "/usr/bin/env", "-u", "PWD", "--"],
    // A program inside could read it at /proc/1/environ.
    env: {},
    channels: [
      {
        onText: (text, launched) => {
          const first = /"child-pid": (\d+)/.exec(text)?.[1];
          // bwrap waits for our answer, so that we know its first process, which can briefly outlive bwrap.
          if (first && status === "") launched.adopt(Number(first));
          if (first && status === "") launched.answer(2, "go");
          if (first) status = text;
        },
      },
      { text: flags.map((flag) => `${flag}\0`).join("") },
      {},
      ...(filter ? [{ text: filter }] : []),
    ],
    // Reported only if set-up succeeded and the program was started.
    hasBegun: () => status.includes('"exit-code"'),
  };
}
