import type { Sandbox } from "../../core/skill/sandbox.ts";
import type { SandboxHost } from "../host.ts";
import { type EncloseParts, type Enclosure, isolatingSandbox } from "./isolating.ts";
import { seccompFilter } from "./seccomp.ts";
import { INNER_ID, innerEnvironment, SHM_BYTES } from "./view.ts";
import type { ViewStep } from "./view-step.ts";

/** Through bubblewrap, whose program is `bwrap`. Its start costs a few milliseconds. */
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
    ...view.flatMap(flagsOf),
    ...["--remount-ro", "/", "--chdir", command.cwd],
    ...Object.entries(innerEnvironment(host, command)).flatMap(([name, value]) => ["--setenv", name, value]),
  ];
  return {
    // The flags travel beside the command line, which every user of the machine can read.
    // A variable that it adds is taken away again.
    argv: [bwrap, "--json-status-fd", "3", "--args", "4", "--block-fd", "5", "--", "/usr/bin/env", "-u", "PWD", "--"],
    // Its own environment would be readable inside, at /proc/1/environ.
    env: {},
    channels: [
      {
        onText: (text, launched) => {
          const first = /"child-pid": (\d+)/.exec(text)?.[1];
          // It waits until we know its first process inside, which may live on for a moment when bwrap has ended.
          if (first && status === "") launched.adopt(Number(first));
          if (first && status === "") launched.answer(2, "go");
          if (first) status = text;
        },
      },
      { text: flags.map((flag) => `${flag}\0`).join("") },
      {},
      ...(filter ? [{ text: filter }] : []),
    ],
    // Told only when everything stood before the program's start.
    hasBegun: () => status.includes('"exit-code"'),
  };
}

function flagsOf(step: ViewStep): string[] {
  switch (step.kind) {
    case "show":
      return [step.mount.writable ? "--bind" : "--ro-bind", step.mount.source, step.mount.target];
    case "link":
      return ["--symlink", step.to, step.path];
    case "folder":
      return ["--dir", step.path];
    case "scratch":
      return ["--size", `${step.bytes}`, "--tmpfs", step.path];
  }
}
