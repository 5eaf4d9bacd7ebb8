import type { Sandbox } from "../../src/core/skill/sandbox.ts";
import { firstThatWorks } from "../../src/sandbox/choose.ts";
import { bubblewrapSandbox } from "../../src/sandbox/isolation/bubblewrap.ts";
import { unshareSandbox } from "../../src/sandbox/isolation/unshare.ts";
import { sandboxHost } from "./host.ts";

/** The sandboxes that isolate, each with whether this machine has what it needs. */
export const isolatingSandboxes: readonly (readonly [name: string, sandbox: Sandbox, works: boolean])[] =
  await Promise.all(
    [bubblewrapSandbox(sandboxHost, "/usr/bin/bwrap"), unshareSandbox(sandboxHost)].map(
      async (sandbox) => [sandbox.name, sandbox, (await firstThatWorks([sandbox])) === sandbox] as const,
    ),
  );
